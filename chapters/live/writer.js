// The model of chapter 18 writes: the model with its cache, how a token is drawn, and the desk. It is
// chapters.ch18_model.LanguageModel for one text, a token at a time: D = width, V tokens, H heads of which
// each group shares keys and values.

const BEST = 8; // tokens that the table shows
const TRAINED = "Your prompt; the model has read nothing but docstrings of Python";
const PACE = 140; // milliseconds that a token stays the newest, so that an eye can follow
// Blocks, heads, what a head does, at which tokens it then looks, and what is said if there are none.
const HEADS = [
  [5, 0, "finds the open bracket or quote", lastOpen, "Nothing is open here"],
  [4, 0, "finds the heading to underline", heading, "No heading ends here"],
  [4, 1, "looks back one token, or two", (names) => [...names.keys()].slice(-3, -1), "Nothing comes before"],
];
const CLOSED_BY = { "(": ")", "[": "]", "{": "}", "'": "'", '"': '"', "`": "`" };
const DRAWN = [0.8, 0.95]; // temperature and top-p of the sample; there the sliders begin
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
    Object.assign(this, { state, numHeads, length, width, headDim, kvWidth });
    this.group = width / kvWidth; // heads that share keys and values
    this.blocks = [];
    for (let n = 0; `blocks.${n}.mha_norm.weight` in state; n++) {
      const of = (name) => state[`blocks.${n}.${name}.weight`];
      const [keys, values] = [kvWidth, kvWidth].map((size) => room(length * size));
      this.blocks.push({ of, keys, values, queries: room(length * width) });
    }
    const angles = positionAngles(length, headDim).data; // (length, headDim / 2)
    [this.cos, this.sin] = [angles.map(Math.cos), angles.map(Math.sin)];
    [this.x, this.y, this.mixed] = [width, width, width].map(room);
    [this.k, this.v, this.gate, this.up] = [kvWidth, kvWidth, hidden, hidden].map(room);
    this.weights = room(length);
    this.scores = room(state["embedding.weight"].length / width);
    this.ids = []; // what the cache holds
    this.silent = []; // and which head was silent as each was read
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
  // Read one token at place t; the cache has those before. silent: block and head that give nothing.
  step(id, t = this.ids.length, silent = []) {
    const { x, y, k, v, mixed, gate, up, width, headDim } = this;
    if (t >= this.length) throw new RangeError(`the cache has room for ${this.length} tokens.`);
    x.set(this.state["embedding.weight"].subarray(id * width, (id + 1) * width));
    for (const [n, block] of this.blocks.entries()) {
      const { of, queries, keys, values } = block;
      const q = queries.subarray(t * width, (t + 1) * width);
      rmsNorm(x, of("mha_norm"), y);
      times(of("mha.q_proj"), y, q);
      times(of("mha.k_proj"), y, k);
      times(of("mha.v_proj"), y, v);
      this.turn(q, t);
      this.turn(k, t);
      keys.set(k, t * k.length);
      values.set(v, t * v.length);
      for (let h = 0; h < this.numHeads; h++) this.attend(block, h, t);
      if (n === silent[0]) mixed.fill(0, silent[1] * headDim, (silent[1] + 1) * headDim);
      times(of("mha.out_proj"), mixed, y);
      addRow(x, y);
      rmsNorm(x, of("ff_norm"), y);
      times(of("ff.gate_proj"), y, gate);
      times(of("ff.up_proj"), y, up);
      for (let i = 0; i < gate.length; i++) gate[i] *= up[i] / (1 + Math.exp(-gate[i])); // SwiGLU
      times(of("ff.down_proj"), gate, y);
      addRow(x, y);
    }
    [this.ids[t], this.silent[t]] = [id, silent];
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
  // How much the query of head h at place t weighs the keys 0 … t; the next call writes over it.
  weigh({ queries, keys }, h, t) {
    const { weights, width, headDim, kvWidth } = this;
    const [start, shared] = [t * width + h * headDim, Math.floor(h / this.group) * headDim];
    const scale = headDim ** -0.5;
    let [highest, total] = [-Infinity, 0];
    for (let s = 0; s <= t; s++) {
      let sum = 0;
      for (let i = 0, j = s * kvWidth + shared; i < headDim; i++)
        sum += queries[start + i] * keys[j + i];
      weights[s] = sum * scale;
      if (weights[s] > highest) highest = weights[s];
    }
    for (let s = 0; s <= t; s++) total += weights[s] = Math.exp(weights[s] - highest);
    for (let s = 0; s <= t; s++) weights[s] /= total;
    return weights.subarray(0, t + 1);
  }
  attend(block, h, t) {
    const { mixed, headDim, kvWidth } = this;
    const [start, shared] = [h * headDim, Math.floor(h / this.group) * headDim];
    const weights = this.weigh(block, h, t);
    mixed.fill(0, start, start + headDim);
    for (let s = 0; s <= t; s++)
      for (let i = 0, j = s * kvWidth + shared; i < headDim; i++)
        mixed[start + i] += weights[s] * block.values[j + i];
  }
  // Of the token after the newest one, (V,); the next call writes over them.
  logits() {
    rmsNorm(this.x, this.state["norm.weight"], this.y);
    times(this.state["embedding.weight"], this.y, this.scores);
    return this.scores;
  }
  // As they would be after place t without a head there, or with all; the cache is what it was.
  without(silent, t) {
    const was = this.silent[t];
    this.step(this.ids[t], t, silent);
    const logits = this.logits().slice();
    this.step(this.ids[t], t, was);
    return logits;
  }
}

// The places of the heading whose line ends with the last of these tokens.
function heading(names) {
  const start = names.slice(0, -1).findLastIndex((name, n) => !n || name.includes("⏎")) + 1;
  const line = names.slice(start, -1);
  const ends = names.at(-1) === "⏎" && /^[A-Z][a-zA-Z·]*$/.test(line.join(""));
  return ends ? line.map((_, n) => start + n) : [];
}

// The place of the last open bracket or quote. A quote behind a letter opens nothing, two back quotes
// are one, and an empty line closes all.
function lastOpen(names) {
  let [open, last] = [[], ""];
  names.forEach((name, n) => {
    for (const sign of name) {
      const closed = open.findLastIndex(([closer]) => closer === sign);
      if (sign === last && /[⏎`]/.test(sign)) open = sign === "`" ? open : [];
      else if (closed >= 0) open.length = closed;
      else if (CLOSED_BY[sign] && !(/['"`]/.test(sign) && /\w/.test(last)))
        open.push([CLOSED_BY[sign], n]);
      last = sign;
    }
  });
  return open.slice(-1).map(([, n]) => n);
}

// The best tokens first, and the probabilities from which one is drawn, (V,). Temperature 0: the
// best token. Else those are cut before which there is topP already.
function nextTokens(logits, temperature, topP) {
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
  const chances = new Float64Array(logits.length);
  if (!temperature) {
    chances[order[0]] = 1;
    return { order, chances };
  }
  const highest = logits[order[0]];
  logits.forEach((logit, id) => (chances[id] = Math.exp((logit - highest) / temperature)));
  const total = chances.reduce((a, b) => a + b, 0);
  let kept = 0;
  for (const id of order) {
    if (topP < 1 && kept / total >= topP) chances[id] = 0;
    kept += chances[id];
  }
  return { order, chances: chances.map((chance) => chance / kept) };
}

function drawToken({ order, chances }) {
  let left = Math.random();
  for (const id of order) if ((left -= chances[id]) < 0) return id;
  return order[0]; // what rounding left
}

const share = (chance) => (chance > 0 && chance < 0.005 ? "<0.01" : two(chance));
const pause = (time = 0) => new Promise((done) => setTimeout(done, time));

// The weights come as a script: in the book it lies among the styles, else beside the page.
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
  start.textContent = `Write here, and see where a head looks: fetch the model, ${megabytes} MB`;
  const told = set(make("p"), { role: "status" });
  stage.classList.add("waits");
  stage.append(make("div", { className: "buttons" }, start), told);
  start.onclick = async function fetchAll() {
    start.onclick = null;
    told.textContent = "Fetching the model …";
    const kept = await fetchWriter(version);
    if (!kept) {
      start.onclick = fetchAll;
      told.textContent =
        "The model is not beside this page: it writes in the online book, or in a book that you build.";
      return;
    }
    const model = await LanguageModel.load(kept);
    stage.classList.remove("waits");
    stage.replaceChildren();
    const begin = text.replace(/\.$/, "");
    const sample = text.slice(begin.length) + written.replace(/ ?\p{L}+$/u, ""); // a word cut off
    desk(stage, model, new BytePairs(kept.merges), begin, sample);
  };
}

// It opens with the sample of the picture; the prompt has no full stop, for little follows one.
function desk(stage, model, vocabulary, text, sample) {
  const input = make("textarea", { rows: 2, value: text, spellcheck: false, oninput: () => open("") });
  const field = make("label", { className: "field" }, make("span", {}, TRAINED), input);
  const tune = make("div", { className: "tune" });
  const means = () => tune.appendChild(make("p", { className: "means" }));
  const temperature = slider(tune, "temperature", { min: 0, max: 2, step: 0.1, value: DRAWN[0] }, show);
  const warmth = means();
  const topP = slider(tune, "top-p", { min: 0.05, max: 1, step: 0.05, value: DRAWN[1] }, show);
  const cut = means();
  const buttons = make("div", { className: "buttons" });
  const button = (textContent, onclick) =>
    buttons.appendChild(make("button", { type: "button", textContent, onclick }));
  const start = button("Write", () => (writing ? stop() : write(model.length)));
  button("Fast", () => write(model.length, true));
  button("One token", () => write(1));
  button("Restart", () => open(input.value === text ? sample : ""));
  const told = set(make("p"), { role: "status" });
  const { whole, body } = table("The next token", ["token", "probability", "without this head"]);
  const [given, added] = ["prompt", ""].map((className) => make("span", { className }));
  const page = make("div", { className: "text", tabIndex: 0 }, given, added);
  page.addEventListener("click", ({ target }) => {
    if (target !== page) point(target === tokens[pointed] ? -1 : tokens.indexOf(target));
  });
  page.addEventListener("keydown", (event) => {
    const from = pointed < 0 ? tokens.length : pointed;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 1, End: Infinity }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(clamp(to, 1, tokens.length - 1));
    tokens[pointed]?.scrollIntoView({ block: "nearest" });
  });
  set(page, { role: "group", "aria-label": "The text; with arrow keys, its tokens" });
  const options = HEADS.map(([, , textContent]) => make("option", { textContent }));
  const heads = make("select", { onchange: change }, ...options);
  const shade = make("span", {}, make("mark", {}, "Shaded"), ": the weights of the head that");
  const silence = make("input", { type: "checkbox", onchange: change });
  const looks = set(make("p"), { "aria-live": "polite" });
  const where = make("div", { className: "where" }, make("label", {}, shade, heads));
  where.append(make("label", {}, silence, "without this head"), looks);
  const pane = make("div", {}, field, buttons, told);
  stage.append(pane, tune, page, where, make("div", { className: "next" }, whole));

  let ids = []; // prompt, and what is written
  let begun = 0; // how many of them are prompt
  let turn = 0; // what was asked for last; what was asked for before stops
  let writing = null; // and whether too fast for an eye
  const logits = []; // after each token: (V,)
  let odds = []; // with which each token was drawn; a prompt has none
  let tokens = []; // an element for each
  let pointed = -1; // at which of them

  const none = [];
  const silent = () => (silence.checked ? HEADS[heads.selectedIndex] : none);
  function step(n) {
    model.step(ids[n], n, silent());
    logits[n] = model.logits().slice();
  }
  // What comes next is drawn as the box says; what was read before stays as it was.
  function change() {
    if (model.ids.length === ids.length) step(ids.length - 1);
    show();
  }
  // Read what has not been read, unless something else is asked for in the meantime.
  async function read(mine) {
    model.rewind(ids);
    while (model.ids.length < ids.length) {
      step(model.ids.length);
      if (model.ids.length % 4 === 0) await pause();
      if (mine !== turn) return;
    }
  }
  function show() {
    const [heat, p] = [temperature.value, topP.value];
    const more = heat < 1 ? "the likely gets likelier" : "the unlikely gets likelier";
    warmth.textContent = heat === 1 ? "as the model says" : heat ? more : "always the likeliest token";
    cut.textContent = `keeps the likeliest, ${Math.round(100 * p)} % together, cuts the rest`;
    if (model.ids.length !== ids.length || writing?.fast) return; // still reading
    const at = pointed < 0 ? ids.length - isOver() : pointed; // of an end, how likely it was
    const [block, head, , find, nothing] = HEADS[heads.selectedIndex];
    const isRead = (one) => one === model.silent[at - 1]; // so it was read, and its logits are kept
    const look = (one) =>
      nextTokens(isRead(one) ? logits[at - 1] : model.without(one, at - 1), heat, p);
    const [seen, off] = [look(none), silence.checked && look(silent())];
    const names = ids.slice(0, at + 1).map((id) => vocabulary.name(id));
    const [after, came] = names.splice(at - 1, 2, names[at - 1]);
    whole.caption.textContent = `The next token, after “${after}”`;
    whole.rows[0].cells[2].hidden = !off;
    const likely = ids[at] ?? seen.order[0];
    const rows = [...new Set([likely, (off || seen).order[0], ...seen.order])].slice(0, BEST);
    body.replaceChildren();
    for (const id of seen.order.filter((id) => rows.includes(id))) {
      const name = make("th", { textContent: vocabulary.name(id), scope: "row" });
      const cells = (off ? [seen, off] : [seen]).map(({ chances: { [id]: chance } }) =>
        make("td", { className: "bar", textContent: share(chance), style: `--share: ${chance}` }),
      );
      body.append(make("tr", { className: id === ids[at] ? "came" : "" }, name, ...cells));
    }
    const weights = model.weigh(model.blocks[block], head, at - 1);
    tokens.forEach((token, n) => token.style.setProperty("--share", Math.sqrt(weights[n] ?? 0)));
    const [most, sought] = [weights.indexOf(Math.max(...weights)), find(names)];
    const sum = two(sought.reduce((sum, n) => sum + weights[n], 0));
    const name = sought.map((n) => names[n]).join("");
    const does = sought.includes(most) ? "does" : "does not";
    const found = sought.length ? `Here it ${does}: ${sum} of its weight is on “${name}”` : nothing;
    const other = name === names[most] ? "another " : "";
    const instead = `; its highest weight, ${two(weights[most])}, is on ${other}“${names[most]}”`;
    const gone = model.silent[at - 1][2];
    const how = at in odds ? `drawn with probability ${share(odds[at])}` : "from your prompt";
    const why = gone ? `${how}, without the head that ${gone}` : how;
    const what = came ? `After “${after}” came “${came}”, ${why}.` : `What comes after “${after}”?`;
    set(looks, { "aria-live": writing ? "off" : "polite" }).textContent =
      `${what} ${found}${does === "does" ? "" : instead}.`;
    const [now, then] = [seen, off || seen].map(({ chances }) => share(chances[likely]));
    const changes = now === then ? `still has ${now}: nothing changes` : `has ${then}, not ${now}`;
    if (off) looks.append(` Without this head, “${vocabulary.name(likely)}” ${changes}.`);
  }
  // At a token, from which it then writes; -1: at none.
  function point(n) {
    if (writing) stop();
    if (n === pointed || (n > 0 && model.ids.length < ids.length)) return;
    tokens[pointed]?.classList.remove("came");
    pointed = n || -1; // nothing was predicted before the first
    tokens[pointed]?.classList.add("came");
    rest();
    show();
  }
  // A letter of several tokens stands with its last one.
  function lay() {
    for (let n = tokens.length; n < ids.length; n++) {
      const all = tokens.map((token) => token.textContent).join("");
      const now = vocabulary.decode(ids.slice(0, n + 1), ids[n] !== END_OF_TEXT);
      const textContent = now.slice(all.length);
      const className = !ids[n] ? "end" : textContent.includes("\n") ? "line" : "";
      const token = make("span", { textContent, className });
      (n < begun ? given : added).append(token);
      tokens.push(token);
    }
  }
  async function open(sample) {
    point(-1);
    if (sample) [silence.checked, model.ids.length] = [false, 0]; // all heads wrote it
    const mine = ++turn;
    const room = model.length / 2; // as much is left to write
    const all = [END_OF_TEXT, ...vocabulary.encode(input.value.slice(-READ))];
    const written = vocabulary.encode(sample).slice(0, room);
    const isCut = all.length > room || input.value.length > READ;
    begun = Math.min(all.length, room);
    [ids, tokens, odds] = [[...all.slice(-room), ...written], [], []];
    for (const part of [given, added]) part.replaceChildren();
    rest();
    lay();
    await read(mine);
    if (mine !== turn) return;
    for (let n = begun; n < ids.length; n++)
      odds[n] = nextTokens(logits[n - 1], ...DRAWN).chances[ids[n]];
    show();
    if (sample) point(ids.findLastIndex((id) => vocabulary.name(id) === "'"));
    told.textContent = written.length
      ? `A sample: ${written.length} tokens. Click one, and write from there, or type your own text.`
      : isCut
        ? `The prompt is long: only its last ${room} tokens are read.`
        : `Tokens in the prompt: ${all.length - 1}. Write, or add one token.`;
  }
  // On from the token that is pointed at, which is drawn again; else from the end.
  async function write(most, fast = false) {
    if (pointed > 0) {
      for (const token of tokens.splice(pointed)) token.remove();
      ids.length = odds.length = pointed;
      begun = Math.min(begun, pointed);
    }
    point(-1);
    if (isDone()) open("");
    const mine = ++turn;
    await read(mine);
    if (mine !== turn) return;
    writing = { fast: fast || matchMedia("(prefers-reduced-motion: reduce)").matches };
    start.textContent = "Stop";
    told.textContent = "Writing … Click a token to stop at it.";
    show();
    for (let n = 0; n < most && !isDone(); n++) {
      const next = nextTokens(logits[ids.length - 1], temperature.value, topP.value);
      const id = drawToken(next);
      odds[ids.push(id) - 1] = next.chances[id];
      lay();
      page.scrollTop = page.scrollHeight;
      await read(mine);
      if (mine === turn) show();
      await pause(writing?.fast || most === 1 ? 0 : PACE);
      if (mine !== turn) return;
    }
    stop();
  }
  const isOver = () => ids.length > begun && ids.at(-1) === END_OF_TEXT;
  const isDone = () => isOver() || ids.length >= model.length;
  function stop() {
    turn++;
    rest();
    show();
    const more = isDone() ? " “Write anew” begins again with your prompt." : "";
    told.textContent = `Tokens: ${ids.length - 1}; it reads ${model.length - 1} at most.${more}`;
  }
  function rest() {
    writing = null;
    start.textContent = pointed > 0 ? "Write from here" : isDone() ? "Write anew" : "Write";
  }
  open(sample);
  start.focus();
}
