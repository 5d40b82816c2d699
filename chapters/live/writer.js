// The model of chapter 18 writes: the model with its cache, how a token is drawn, and the desk. It is
// chapters.ch18_model.LanguageModel for one text, a token at a time: D = width, V tokens, H heads of which
// each group shares keys and values.

const BEST = 8; // tokens that the table shows
const TRAINED = "Your prompt; the model has read nothing but docstrings of Python";
const READ = 4000; // letters of a prompt that are looked at: its end has room in the cache

// What is quick: no object is made in these loops, and four sums do not wait for each other.
// As torch.nn.Linear without a bias: weight (rows, columns), x (columns,) -> y (rows,).
function times(weight, x, y) {
  const columns = x.length;
  for (let i = 0, w = 0; i < y.length; i++) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let j = 0; j < columns; j += 4, w += 4) {
      a += weight[w] * x[j];
      b += weight[w + 1] * x[j + 1];
      c += weight[w + 2] * x[j + 2];
      d += weight[w + 3] * x[j + 3];
    }
    y[i] = a + b + c + d;
  }
}

function rmsNorm(x, weight, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * x[i];
  const scale = 1 / Math.sqrt(sum / x.length + 1e-6);
  for (let i = 0; i < x.length; i++) y[i] = x[i] * scale * weight[i];
}

function addRow(x, y) {
  for (let i = 0; i < x.length; i++) x[i] += y[i];
}

class LanguageModel {
  // state: Float32Arrays under the names of state_dict(). length: places in the cache.
  constructor(state, numHeads, length) {
    const room = (size) => new Float32Array(size);
    const width = state["norm.weight"].length;
    const headDim = width / numHeads;
    const kvWidth = state["blocks.0.mha.k_proj.weight"].length / width; // H_kv * headDim
    const hidden = state["blocks.0.ff.gate_proj.weight"].length / width;
    if ([width, headDim, hidden].some((size) => size % 4))
      throw new RangeError(`all sizes must be multiples of 4: ${[width, headDim, hidden]}.`);
    Object.assign(this, { state, numHeads, length, width, headDim, kvWidth });
    this.group = width / kvWidth; // heads that share keys and values
    this.blocks = [];
    for (let n = 0; `blocks.${n}.mha_norm.weight` in state; n++) {
      const of = (name) => state[`blocks.${n}.${name}.weight`];
      this.blocks.push({ of, keys: room(length * kvWidth), values: room(length * kvWidth) });
    }
    const angles = positionAngles(length, headDim).data; // (length, headDim / 2)
    [this.cos, this.sin] = [angles.map(Math.cos), angles.map(Math.sin)];
    [this.x, this.y, this.q, this.mixed] = [width, width, width, width].map(room);
    [this.k, this.v, this.gate, this.up] = [kvWidth, kvWidth, hidden, hidden].map(room);
    this.weights = room(length);
    this.scores = room(state["embedding.weight"].length / width);
    this.ids = []; // what the cache holds
  }
  // From the script with the weights; in slices, so that the page stays awake.
  static async load({ state, numHeads, length }) {
    const numbers = {};
    for (const [name, base64] of Object.entries(state)) {
      numbers[name] = halves(base64);
      await pause();
    }
    return new LanguageModel(numbers, numHeads, length);
  }
  // Forget what does not stand at the beginning of these ids, and the last of them in any case.
  rewind(ids) {
    let same = 0;
    while (same < ids.length - 1 && this.ids[same] === ids[same]) same++;
    this.ids.length = Math.min(this.ids.length, same);
  }
  // Read one token; the cache has those before.
  step(id) {
    const { x, y, q, k, v, mixed, gate, up, width } = this;
    const t = this.ids.length;
    if (t >= this.length) throw new RangeError(`the cache has room for ${this.length} tokens.`);
    x.set(this.state["embedding.weight"].subarray(id * width, (id + 1) * width));
    for (const { of, keys, values } of this.blocks) {
      rmsNorm(x, of("mha_norm"), y);
      times(of("mha.q_proj"), y, q);
      times(of("mha.k_proj"), y, k);
      times(of("mha.v_proj"), y, v);
      this.turn(q, t);
      this.turn(k, t);
      keys.set(k, t * k.length);
      values.set(v, t * v.length);
      for (let h = 0; h < this.numHeads; h++) this.attend(h, t, keys, values);
      times(of("mha.out_proj"), mixed, y);
      addRow(x, y);
      rmsNorm(x, of("ff_norm"), y);
      times(of("ff.gate_proj"), y, gate);
      times(of("ff.up_proj"), y, up);
      for (let i = 0; i < gate.length; i++) gate[i] *= up[i] / (1 + Math.exp(-gate[i])); // SwiGLU
      times(of("ff.down_proj"), gate, y);
      addRow(x, y);
    }
    this.ids.push(id);
  }
  // As RotaryPositionalEncoding, in place, for all heads of one row.
  turn(row, t) {
    const [half, start] = [this.headDim / 2, (t * this.headDim) / 2];
    for (let head = 0; head < row.length; head += this.headDim)
      for (let i = 0; i < half; i++) {
        const [cos, sin] = [this.cos[start + i], this.sin[start + i]];
        const [first, second] = [row[head + i], row[head + i + half]];
        row[head + i] = first * cos - second * sin;
        row[head + i + half] = second * cos + first * sin;
      }
  }
  // What head h of the newest query, at place t, gets from the keys and values 0 … t.
  attend(h, t, keys, values) {
    const { q, mixed, weights, headDim, kvWidth } = this;
    const [start, shared] = [h * headDim, Math.floor(h / this.group) * headDim];
    const scale = headDim ** -0.5;
    let [highest, total] = [-Infinity, 0];
    for (let s = 0; s <= t; s++) {
      let sum = 0;
      for (let i = 0, j = s * kvWidth + shared; i < headDim; i++) sum += q[start + i] * keys[j + i];
      weights[s] = sum * scale;
      if (weights[s] > highest) highest = weights[s];
    }
    for (let s = 0; s <= t; s++) total += weights[s] = Math.exp(weights[s] - highest);
    mixed.fill(0, start, start + headDim);
    for (let s = 0; s <= t; s++) {
      const share = weights[s] / total;
      for (let i = 0, j = s * kvWidth + shared; i < headDim; i++)
        mixed[start + i] += share * values[j + i];
    }
  }
  // Of the token after the newest one, (V,); the next call writes over them.
  logits() {
    rmsNorm(this.x, this.state["norm.weight"], this.y);
    times(this.state["embedding.weight"], this.y, this.scores);
    return this.scores;
  }
}

// The best tokens first, and the probabilities from which one is drawn, (V,). Temperature 0: the
// best token. Else those are cut before which there is topP already; `before` has them all.
function nextTokens(logits, temperature, topP) {
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
  const chances = new Float64Array(logits.length);
  if (!temperature) {
    chances[order[0]] = 1;
    return { order, chances, before: chances };
  }
  const highest = logits[order[0]];
  logits.forEach((logit, id) => (chances[id] = Math.exp((logit - highest) / temperature)));
  const total = chances.reduce((a, b) => a + b, 0);
  const before = chances.map((chance) => chance / total);
  let [sum, kept] = [0, 0];
  for (const id of order) {
    if (topP < 1 && sum >= topP) chances[id] = 0;
    sum += before[id];
    kept += chances[id];
  }
  return { order, chances: chances.map((chance) => chance / kept), before };
}

function drawToken({ order, chances }) {
  let left = Math.random();
  for (const id of order) if ((left -= chances[id]) < 0) return id;
  return order[0]; // what rounding left
}

const share = (chance) => (chance > 0 && chance < 0.005 ? "<0.01" : two(chance));
const pause = () => new Promise((done) => setTimeout(done));

// The weights come as a script, which a page may have from a plain folder too. In the book it lies
// among the styles; else beside the page.
async function fetchWriter(version) {
  const root = document.documentElement.dataset.content_root;
  for (const folder of root === undefined ? [""] : [`${root}_static/`, ""]) {
    if (globalThis.courseWriter) break;
    const src = `${folder}writer-weights.js?v=${version}`;
    await new Promise((done) => {
      document.head.append(make("script", { src, onload: done, onerror: done }));
    });
  }
  return globalThis.courseWriter;
}

// Until the model is there, the picture stays, with a button below it.
function writer(stage, { text, written, version, megabytes }) {
  const start = make("button", { type: "button" });
  start.textContent = `Write here: fetch the model, ${megabytes} MB`;
  const told = set(make("p"), { role: "status" });
  stage.classList.add("waits");
  stage.append(make("div", { className: "buttons" }, start), told);
  let asked = false;
  start.addEventListener("click", async () => {
    if (asked) return;
    asked = true;
    told.textContent = "Fetching the model …";
    const kept = await fetchWriter(version);
    if (kept) {
      const model = await LanguageModel.load(kept);
      stage.classList.remove("waits");
      stage.replaceChildren();
      const begin = text.replace(/\.$/, "");
      const sample = text.slice(begin.length) + written.replace(/ ?\p{L}+$/u, ""); // a word cut off
      desk(stage, model, new BytePairs(kept.merges), begin, sample);
      return;
    }
    asked = false;
    told.textContent =
      "The model is not beside this page: it writes in the online book, or in a book that you build.";
  });
}

// It opens with the sample of the picture. The prompt is without its full stop, behind which little
// else than a new line can follow.
function desk(stage, model, vocabulary, text, sample) {
  const input = make("textarea", { rows: 3, value: text, spellcheck: false, oninput: change });
  const pane = make("div");
  const field = make("label", { className: "field" });
  field.append(make("span", { textContent: TRAINED }), input);
  pane.append(field);
  const temperature = slider(pane, "temperature", { min: 0, max: 2, step: 0.1, value: 0.8 }, show);
  const topP = slider(pane, "top-p", { min: 0.05, max: 1, step: 0.05, value: 0.95 }, show);
  const buttons = make("div", { className: "buttons" });
  const button = (textContent, onclick) => {
    const made = make("button", { type: "button", textContent, onclick });
    buttons.append(made);
    return made;
  };
  const start = button("Write", () => (writing ? stop() : write(model.length)));
  button("One token", () => write(1));
  button("Begin again", change);
  pane.append(buttons);
  const { whole, body } = table("The next token", ["token", "probability"]);
  const rows = Array.from({ length: BEST }, () => {
    const name = set(make("th"), { scope: "row" });
    const cell = make("td", { className: "bar" });
    body.append(make("tr", {}, name, cell));
    return { name, cell };
  });
  const given = make("span", { className: "prompt" });
  const added = make("span");
  const page = make("div", { className: "text", tabIndex: 0 }, given, added);
  page.addEventListener("pointermove", ({ target, pointerType }) => {
    if (pointerType === "mouse") point(tokens.indexOf(target));
  });
  page.addEventListener("pointerleave", () => point(-1));
  page.addEventListener("click", ({ target }) => point(tokens.indexOf(target)));
  page.addEventListener("blur", () => point(-1));
  page.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const from = pointed < 0 && by < 0 ? tokens.length : pointed;
    point(clamp(from + by, 0, tokens.length - 1));
  });
  set(page, { role: "group", "aria-label": "The text; with arrow keys, its tokens" });
  const told = set(make("p"), { role: "status" });
  stage.append(pane, page, make("div", {}, whole), told);
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  let prompt = []; // ids
  let written = []; // ids, after the prompt
  let turn = 0; // what was asked for last; what was asked for before stops
  let writing = null; // since when, and how many tokens
  let next = null; // the tokens that may come
  let logits = []; // before each token that is written, and after the last one: (V,)
  let tokens = []; // what is written, an element for each
  let pointed = -1; // which of them
  let before = ""; // what was told before one was pointed at

  // Read what has not been read, unless something else is asked for in the meantime.
  async function read(mine) {
    const ids = [...prompt, ...written];
    model.rewind(ids);
    while (model.ids.length < ids.length) {
      model.step(ids[model.ids.length]);
      const n = model.ids.length - prompt.length;
      if (n >= 0) logits[n] = model.logits().slice();
      if (model.ids.length % 4 === 0) await pause();
      if (mine !== turn) return;
    }
  }
  function show() {
    if (model.ids.length !== prompt.length + written.length) return; // still reading
    const isOver = written.at(-1) === END_OF_TEXT; // then the table says how likely this end was
    const at = pointed < 0 ? written.length - isOver : pointed;
    const seen = nextTokens(logits[at], temperature.value, topP.value);
    if (at === written.length) next = seen;
    if (writing && still.matches) return;
    const after = vocabulary.name(at ? written[at - 1] : prompt.at(-1));
    const best = seen.order.slice(0, BEST);
    if (pointed >= 0 && !best.includes(written[at])) best[BEST - 1] = written[at];
    const say = (id) => {
      const isCut = !seen.chances[id] && temperature.value > 0;
      return isCut ? `${share(seen.before[id])}, cut by top-p` : share(seen.chances[id]);
    };
    whole.caption.textContent = `The next token, after “${after}”`;
    rows.forEach(({ name, cell }, n) => {
      const id = best[n];
      name.textContent = vocabulary.name(id);
      name.classList.toggle("came", pointed >= 0 && id === written[at]);
      cell.textContent = say(id);
      cell.style.setProperty("--share", seen.chances[id]);
    });
    if (pointed < 0) return;
    told.textContent = `After “${after}” came “${vocabulary.name(written[at])}”: ${say(written[at])}.`;
  }
  // At a token that is written; -1: at none. Not while it writes or reads.
  function point(n) {
    if (n === pointed || (n >= 0 && (writing || model.ids.length < prompt.length + written.length)))
      return;
    if (pointed < 0) before = told.textContent;
    tokens[pointed]?.classList.remove("came");
    tokens[n]?.classList.add("came");
    pointed = n;
    told.textContent = before;
    show();
  }
  // A letter of several tokens stands with its last one.
  function lay() {
    const all = tokens.map((token) => token.textContent).join("");
    const ids = written.slice(0, tokens.length + 1);
    const now = vocabulary.decode(ids, ids.at(-1) !== END_OF_TEXT);
    tokens.push(make("span", { textContent: now.slice(all.length) }));
    added.append(tokens.at(-1));
    if (tokens.length < written.length) lay();
  }
  function change() {
    return open("");
  }
  // A new prompt: nothing is written yet, unless a sample is.
  async function open(sample) {
    point(-1);
    const mine = ++turn;
    rest();
    const room = model.length / 2; // as much is left to write
    const all = [END_OF_TEXT, ...vocabulary.encode(input.value.slice(-READ))];
    prompt = all.slice(-room);
    written = vocabulary.encode(sample).slice(0, model.length - prompt.length);
    [logits, tokens] = [[], []];
    const cut = all.length > room || input.value.length > READ;
    given.textContent = (cut ? "…" : "") + vocabulary.decode(prompt);
    added.replaceChildren();
    if (written.length) lay();
    await read(mine);
    if (mine !== turn) return;
    show();
    const count = `${all.length - 1} token${all.length === 2 ? "" : "s"}`;
    told.textContent = written.length
      ? `A sample: ${written.length} tokens. Point at one, let the model go on, or type your own text.`
      : cut
      ? `The prompt is long: only its last ${room} tokens are read.`
      : all.length > 1
        ? `The prompt has ${count}. Write, or add one token.`
        : "No prompt: the model begins a text of its own.";
  }
  async function write(most) {
    point(-1);
    const mine = ++turn;
    rest();
    await read(mine);
    if (mine !== turn) return;
    writing = { since: performance.now(), count: 0 };
    start.textContent = "Stop";
    told.textContent = "Writing …";
    show();
    let drawn = null;
    while (writing.count < most && !isDone()) {
      const id = drawToken(next);
      drawn = `${vocabulary.name(id)}, probability ${share(next.chances[id])}`;
      written.push(id);
      writing.count++;
      lay();
      page.scrollTop = page.scrollHeight;
      await read(mine);
      if (mine === turn) show();
      await pause();
      if (mine !== turn) return;
    }
    const { count } = writing;
    const said = count === 1 ? `Drawn: ${drawn}.` : count ? `Wrote ${speed()}.` : "";
    rest();
    show();
    told.textContent = [said, isDone()].filter(Boolean).join(" ");
  }
  function isDone() {
    if (written.at(-1) === END_OF_TEXT) return "The text has come to its end.";
    const full = prompt.length + written.length >= model.length;
    return full ? `All ${model.length} places are taken, as many as it was trained with.` : "";
  }
  const speed = () => {
    const seconds = (performance.now() - writing.since) / 1000;
    return `${writing.count} tokens, ${Math.round(writing.count / seconds)} a second`;
  };
  function stop() {
    turn++;
    told.textContent = `Stopped after ${speed()}.`;
    rest();
    show();
  }
  function rest() {
    writing = null;
    start.textContent = "Write";
  }
  open(sample);
  start.focus();
}
