// Multi-head attention in plain JavaScript, forward only: utils.attention, name by name.
//
// One sequence at a time: T queries, S keys, H heads, D = embedDim = H * headDim. A mask is an
// array of T rows with S entries. In those of the functions true means "may attend"; the layer
// takes its masks as torch.nn.MultiheadAttention does, where true means "blocked". A mask of
// numbers is added to the scores, and means the same in both.

// Rows of numbers, one after the other.
class Matrix {
  constructor(rows, columns, data = new Float32Array(rows * columns)) {
    if (data.length !== rows * columns)
      throw new RangeError(`${data.length} numbers do not make ${rows} rows of ${columns}.`);
    Object.assign(this, { rows, columns, data: Float32Array.from(data) });
  }
  static from(rows) {
    return new Matrix(rows.length, rows[0]?.length ?? 0, rows.flatMap((row) => [...row]));
  }
  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns); // a view, not a copy
  }
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function addTo(sum, row, share) {
  for (let i = 0; i < row.length; i++) sum[i] += share * row[i];
}

// As torch.nn.Linear: x (T, inFeatures), weight (outFeatures, inFeatures) -> (T, outFeatures).
function linear(x, weight, bias = null) {
  if (x.columns !== weight.columns)
    throw new RangeError(`the input is ${x.columns} wide; expected ${weight.columns}.`);
  const y = new Matrix(x.rows, weight.rows);
  for (let t = 0; t < x.rows; t++) {
    const [from, to] = [x.row(t), y.row(t)];
    for (let i = 0; i < weight.rows; i++) to[i] = dot(from, weight.row(i)) + (bias ? bias[i] : 0);
  }
  return y;
}

// As torch.nn.LayerNorm: each row of x (T, D) with mean 0 and variance 1, times weight, plus bias.
function layerNorm(x, weight, bias, eps = 1e-5) {
  const y = new Matrix(x.rows, x.columns);
  for (let t = 0; t < x.rows; t++) {
    const [from, to] = [x.row(t), y.row(t)];
    const mean = from.reduce((sum, one) => sum + one, 0) / from.length;
    const variance = from.reduce((sum, one) => sum + (one - mean) ** 2, 0) / from.length;
    const scale = 1 / Math.sqrt(variance + eps);
    from.forEach((one, i) => (to[i] = (one - mean) * scale * weight[i] + bias[i]));
  }
  return y;
}

const mapMask = (mask, change) => mask.map((row, t) => row.map((one, s) => change(one, t, s)));

// The first keys are allowed; what follows them is padding: (S,).
const validLengthMask = (length, numKeys) => Array.from({ length: numKeys }, (_, s) => s < length);

// Query t may attend to the keys 0 … start + t: (T, S).
const causalMask = (numQueries, numKeys, start = 0) =>
  Array.from({ length: numQueries }, (_, t) => validLengthMask(start + t + 1, numKeys));

const blockedToAllowed = (mask) =>
  mapMask(mask, (one) => (typeof one === "boolean" ? !one : one));

const toAdditive = (one) => (typeof one === "boolean" ? (one ? 0 : -Infinity) : one);

// Allow what both allow; null allows everything.
function combineMasks(first, second) {
  if (!first || !second) return first ?? second;
  return mapMask(first, (one, t, s) => toAdditive(one) + toAdditive(second[t][s]));
}

// Softmax over the keys of each row, (T, S); where nothing is allowed, zeros.
function maskedSoftmax(scores, mask = null) {
  const weights = new Matrix(scores.rows, scores.columns);
  for (let t = 0; t < scores.rows; t++) {
    const row = [...scores.row(t)].map((score, s) => score + (mask ? toAdditive(mask[t][s]) : 0));
    const highest = row.reduce((a, b) => Math.max(a, b), -Infinity);
    if (highest === -Infinity) continue;
    const exponentials = row.map((score) => Math.exp(score - highest)); // none overflows
    const total = exponentials.reduce((a, b) => a + b, 0);
    weights.row(t).set(exponentials.map((one) => one / total));
  }
  return weights;
}

// softmax(Q K^T / sqrt(headDim)) V: query (T, headDim), key (S, headDim), value (S, valueDim).
function scaledDotProductAttention(query, key, value, attnMask = null, options = {}) {
  const { isCausal = false, scale = query.columns ** -0.5 } = options;
  if (key.rows !== value.rows)
    throw new RangeError(`there are ${key.rows} keys and ${value.rows} values.`);
  if (attnMask && (attnMask.length !== query.rows || attnMask[0].length !== key.rows))
    throw new RangeError(`the mask does not fit ${query.rows} queries and ${key.rows} keys.`);
  const mask = combineMasks(attnMask, isCausal ? causalMask(query.rows, key.rows) : null);
  const scores = linear(query, key); // Q K^T, (T, S)
  scores.data.forEach((score, i) => (scores.data[i] = score * scale));
  const weights = maskedSoftmax(scores, mask); // (T, S)
  const output = new Matrix(query.rows, value.columns); // (T, valueDim)
  for (let t = 0; t < query.rows; t++)
    for (let s = 0; s < key.rows; s++)
      addTo(output.row(t), value.row(s), weights.row(t)[s]);
  return { output, weights, scores };
}

// state: arrays of numbers under the names that state_dict() gives them: "q_proj.weight", (D, D),
// "k_proj.weight", (D, kdim), "v_proj.weight", (D, vdim), "out_proj.weight", (D, D), and a bias of
// each, or none. positions: what turns queries and keys, such as RotaryPositionalEncoding.
class MultiHeadAttention {
  constructor(embedDim, numHeads, state, positions = null) {
    if (embedDim % numHeads)
      throw new RangeError(`embedDim (${embedDim}) must be a multiple of numHeads (${numHeads}).`);
    Object.assign(this, { embedDim, numHeads, headDim: embedDim / numHeads, state, positions });
  }
  project(name, x) {
    const weight = this.state[`${name}.weight`];
    const matrix = new Matrix(this.embedDim, weight.length / this.embedDim, weight);
    return linear(x, matrix, this.state[`${name}.bias`]);
  }
  // (T, D) -> H times (T, headDim)
  splitHeads(x) {
    return Array.from({ length: this.numHeads }, (_, h) => {
      const head = new Matrix(x.rows, this.headDim);
      const [start, end] = [h * this.headDim, (h + 1) * this.headDim];
      for (let t = 0; t < x.rows; t++) head.row(t).set(x.row(t).subarray(start, end));
      return head;
    });
  }
  // H times (T, headDim) -> (T, D)
  joinHeads(heads) {
    const joined = new Matrix(heads[0].rows, this.embedDim);
    heads.forEach((head, h) => {
      for (let t = 0; t < head.rows; t++) joined.row(t).set(head.row(t), h * this.headDim);
    });
    return joined;
  }
  // keyPaddingMask (S,), attnMask (T, S) or a list of one for each head. Gives the output, (T, D),
  // and the weights of each head, H times (T, S).
  forward(query, key, value, { keyPaddingMask = null, attnMask = null, isCausal = false } = {}) {
    let [q, k] = [this.project("q_proj", query), this.project("k_proj", key)].map((x) =>
      this.splitHeads(x),
    );
    const v = this.splitHeads(this.project("v_proj", value));
    if (this.positions) [q, k] = [q, k].map((x) => x.map((head) => this.positions.rotate(head)));
    const padding = keyPaddingMask && Array(query.rows).fill(keyPaddingMask); // the same, T times
    const heads = q.map((_, h) => {
      const own = Array.isArray(attnMask?.[0]?.[0]) ? attnMask[h] : attnMask;
      const [first, second] = [padding, own].map((mask) => mask && blockedToAllowed(mask));
      const mask = combineMasks(first, second);
      return scaledDotProductAttention(q[h], k[h], v[h], mask, { isCausal });
    });
    const output = this.project("out_proj", this.joinHeads(heads.map((head) => head.output)));
    return { output, weights: heads.map((head) => head.weights) };
  }
}

// Position times frequency, (length, width / 2): the frequency of pair i is base^(-2i / width).
function positionAngles(length, width, base = 10_000) {
  const angles = new Matrix(length, Math.ceil(width / 2));
  for (let t = 0; t < length; t++)
    for (let i = 0; i < angles.columns; i++) angles.row(t)[i] = t * base ** ((-2 * i) / width);
  return angles;
}

// Added to the tokens: a sine and a cosine for each pair.
class SinusoidalPositionalEncoding {
  constructor(embedDim) {
    this.embedDim = embedDim;
  }
  table(length) {
    const angles = positionAngles(length, this.embedDim);
    const table = new Matrix(length, this.embedDim);
    for (let t = 0; t < length; t++)
      for (let i = 0; i < this.embedDim; i++) {
        const angle = angles.row(t)[i >> 1];
        table.row(t)[i] = i % 2 ? Math.cos(angle) : Math.sin(angle);
      }
    return table;
  }
}

// Turns the pairs i and i + headDim / 2 of each row, by its place times their frequency.
class RotaryPositionalEncoding {
  constructor(headDim, base = 10_000) {
    if (headDim % 2) throw new RangeError(`headDim must be even, for pairs; got ${headDim}.`);
    Object.assign(this, { headDim, base });
  }
  rotate(x, start = 0) {
    const angles = positionAngles(start + x.rows, this.headDim, this.base);
    const [turned, half] = [new Matrix(x.rows, x.columns), this.headDim / 2];
    for (let t = 0; t < x.rows; t++)
      for (let i = 0; i < half; i++) {
        const [first, second] = [x.row(t)[i], x.row(t)[i + half]];
        const [cos, sin] = [Math.cos, Math.sin].map((f) => f(angles.row(start + t)[i]));
        turned.row(t)[i] = first * cos - second * sin;
        turned.row(t)[i + half] = second * cos + first * sin;
      }
    return turned;
  }
}
