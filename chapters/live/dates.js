// The model of chapter 17 translates a date, letter by letter: its Transformer, forward only, and
// the desk. S tokens of the date, T of its translation, D = width,
// V tokens, H heads.

const [BEGIN, END] = [1, 2]; // ids: 0 is padding, the characters follow
const MOST = 40; // characters that are read, and tokens that are written
const BEST = 6; // tokens that the table shows at most
const SHOWN = 0.005; // and how probable they are at least: less would read 0.00
const PACE = 300; // milliseconds for a letter
const NARROW = 340; // a picture is not narrower: then it shrinks
// The dates that it has learnt: "Sunday, April 18, 1920".
const DAYS = "(Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day";
const MONTHS =
  "(January|February|March|April|May|June|July|August|September|October|November|December)";
const LEARNT = new RegExp(`^${DAYS}, ${MONTHS} ([1-9]|[12]\\d|3[01]), ((?:19|20)\\d\\d)$`);

const FULL = { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };

// Its translation; nothing where the calendar has no such day, on this day of the week.
function german([text, , month, day, year]) {
  const date = new Date(Date.UTC(year, MONTHS.slice(1, -1).split("|").indexOf(month), day));
  const isOfMonth = date.getUTCDate() === Number(day);
  const isDay = isOfMonth && date.toUTCString().startsWith(text.slice(0, 3));
  return isDay ? date.toLocaleDateString("de", FULL) : "";
}

const changed = (x, change) => new Matrix(x.rows, x.columns, x.data.map(change));
const plus = (x, y) => changed(x, (one, i) => one + y.data[i]);

// Arrays of numbers under the names that state_dict() gives them; those of one part, without it.
function under(state, part) {
  const own = Object.keys(state).filter((name) => name.startsWith(`${part}.`));
  return Object.fromEntries(own.map((name) => [name.slice(part.length + 1), state[name]]));
}

// DecoderBlock; an EncoderBlock is the same without crossAttend.
class Block {
  constructor(state, numHeads) {
    const width = state["mha_norm.weight"].length;
    const layer = (name) => new MultiHeadAttention(width, numHeads, under(state, name));
    Object.assign(this, { state, mha: layer("mha"), crossMha: layer("cross_mha") });
  }
  norm(part, x) {
    return layerNorm(x, this.state[`${part}_norm.weight`], this.state[`${part}_norm.bias`]);
  }
  project(name, x) {
    const [weight, bias] = ["weight", "bias"].map((kind) => this.state[`ff.${name}_proj.${kind}`]);
    return linear(x, new Matrix(bias.length, x.columns, weight), bias);
  }
  selfAttend(x, isCausal) {
    const y = this.norm("mha", x);
    return plus(x, this.mha.forward(y, y, y, { isCausal }).output);
  }
  crossAttend(x, memory) {
    const y = this.norm("cross", x);
    const { output, weights } = this.crossMha.forward(y, memory, memory);
    return { x: plus(x, output), weights };
  }
  feedForward(x) {
    const hidden = this.project("up", this.norm("ff", x));
    return plus(x, this.project("down", changed(hidden, (one) => Math.max(one, 0))));
  }
}

class Transformer {
  constructor(state, numHeads) {
    const width = state["encoder_norm.weight"].length;
    const embedding = state["embedding.weight"];
    this.state = state;
    this.embedding = new Matrix(embedding.length / width, width, embedding); // (V, D)
    this.positions = new SinusoidalPositionalEncoding(width);
    const blocks = (side) => {
      const found = [];
      while (`${side}.${found.length}.mha_norm.weight` in state)
        found.push(new Block(under(state, `${side}.${found.length}`), numHeads));
      return found;
    };
    [this.encoder, this.decoder] = ["encoder", "decoder"].map(blocks);
  }
  norm(side, x) {
    return layerNorm(x, this.state[`${side}_norm.weight`], this.state[`${side}_norm.bias`]);
  }
  // ids (T,) -> (T, D)
  embed(ids) {
    const x = this.positions.table(ids.length);
    ids.forEach((id, t) => addTo(x.row(t), this.embedding.row(id), Math.sqrt(x.columns)));
    return x;
  }
  // ids (S,) -> (S, D)
  encode(source) {
    let x = this.embed(source);
    for (const block of this.encoder) x = block.feedForward(block.selfAttend(x, false));
    return this.norm("encoder", x);
  }
  // ids (T,) and (S, D) -> the logits after each token, (T, V), and the weights of the last
  // block's cross-attention, H times (T, S).
  decode(target, memory) {
    let [x, weights] = [this.embed(target), []];
    for (const block of this.decoder) {
      ({ x, weights } = block.crossAttend(block.selfAttend(x, true), memory));
      x = block.feedForward(x);
    }
    return { logits: linear(this.norm("decoder", x), this.embedding), weights };
  }
}

function dates(stage, { text, letters, head, characters, numHeads, state }) {
  const numbers = Object.entries(state).map(([name, base64]) => [name, halves(base64)]);
  const model = new Transformer(Object.fromEntries(numbers), numHeads);
  const idOf = new Map([...characters].map((one, n) => [one, n + END + 1]));
  const quoted = (all) => all.map((one) => `“${one}”`).join(", ");
  const letterOf = (id) => characters[id - END - 1] ?? "";
  const signOf = (id) => ["", "‹", "›"][id] ?? letterOf(id).replace(" ", "·");
  const wordOf = (id) => ["padding", "the begin", "the end"][id] ?? quoted([letterOf(id)]);

  const input = make("input", { type: "text", value: text, oninput: change, spellcheck: false });
  set(input, { autocomplete: "off", autocapitalize: "off" });
  input.addEventListener("keydown", (event) => event.key === "Enter" && write());
  const field = make("label", { className: "field" });
  field.append(make("span", { textContent: "Your date, in English" }), input);
  const buttons = make("div", { className: "buttons" });
  const button = (textContent, onclick) => {
    const made = make("button", { type: "button", textContent, onclick });
    buttons.append(made);
    return made;
  };
  const start = button("Write", write);
  const onward = button("One letter", () => move(1));
  const back = button("One back", () => move(-1));
  const which = make("select", { onchange: show });
  const nameOf = (_, h) => `head ${h}${h === head ? ", which aligns the digits" : ""}`;
  const views = ["mean of the heads", ...Array.from({ length: numHeads }, nameOf)];
  which.append(...views.map((textContent) => make("option", { textContent })));
  which.selectedIndex = head + 1;
  buttons.append(make("label", {}, make("span", { textContent: "Lines by" }), which));
  const pane = make("div", {}, field, buttons);
  stage.append(pane);
  const picture = draw(stage, "svg", { role: "img", class: "lines" });
  set(picture, { "aria-label": "Lines from the next letter to the characters that it looks at." });
  const { whole, body } = table("The next letter", ["letter", "probability"]);
  const rows = Array.from({ length: BEST }, () => {
    const name = set(make("th"), { scope: "row" });
    const cell = make("td", { className: "bar" });
    const row = make("tr", {}, name, cell);
    body.append(row);
    return { name, cell, row };
  });
  const told = set(make("p"), { role: "status" });
  pane.append(told);
  stage.append(make("div", {}, whole));
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  let source = []; // ids, none if there is nothing to read
  let memory = null;
  let note = ""; // of what was typed
  let right = ""; // what it should write
  let steps = []; // for each place: the best token, all probabilities, the weights of each head
  let count = 0; // tokens that are written
  let timer = 0; // while it writes by itself
  let pointed = null; // the place of a letter that is pointed at
  let wide = NARROW; // of the picture

  const isDone = () => count > 0 && (steps[count - 1].best === END || count === MOST);
  // What comes at the first place that has not been looked at.
  function look() {
    const { logits, weights } = model.decode([BEGIN, ...steps.map(({ best }) => best)], memory);
    const last = new Matrix(1, logits.columns, logits.row(steps.length));
    const best = last.data.indexOf(last.data.reduce((a, b) => Math.max(a, b)));
    const heads = weights.map((head) => head.row(steps.length)); // H times (S,)
    steps.push({ best, chances: maskedSoftmax(last).data, heads });
  }
  function forward() {
    if (steps.length === count) look();
    count++;
    if (!isDone() && steps.length === count) look();
  }

  function change() {
    stop();
    const typed = [...input.value.slice(0, 10 * MOST).replace(/\s/g, " ")];
    const read = typed.slice(0, MOST);
    const lost = [...new Set(read.filter((one) => !idOf.has(one)))];
    const date = LEARNT.exec(typed.join(""));
    const known = read.filter((one) => idOf.has(one));
    const isEmpty = known.every((one) => one === " ");
    source = isEmpty ? [] : [BEGIN, ...known.map((one) => idOf.get(one)), END];
    right = date ? german(date) : "";
    [steps, count, note] = [[], 0, ""];
    if (isEmpty)
      note = lost.length
        ? "It has learnt none of these characters: type a date like “Sunday, April 18, 1920”."
        : "There is nothing to read: type a date like “Sunday, April 18, 1920”.";
    else if (typed.length > MOST) note = `This is long: only its first ${MOST} characters are read.`;
    else if (lost.length)
      note = `It has never seen ${quoted(lost.slice(0, 5))}, and reads what is left.`;
    else if (!date) note = "It has never seen a date in this form, and does with it what it can.";
    else if (!right) note = "The calendar has no such day; it does with it what it can.";
    if (!isEmpty) {
      memory = model.encode(source);
      look();
    }
    show();
  }
  function move(by) {
    stop();
    if (by > 0 && source.length && !isDone()) forward();
    if (by < 0 && count) count--;
    show();
  }
  function write() {
    if (timer) return move(0);
    if (!source.length) return;
    pointed = null;
    if (isDone()) count = 0;
    if (still.matches) {
      while (!isDone()) forward();
    } else {
      start.textContent = "Stop";
      timer = setInterval(() => {
        forward();
        if (isDone()) stop();
        show();
      }, PACE);
    }
    show();
  }
  function stop() {
    clearInterval(timer);
    [timer, pointed] = [0, null];
    start.textContent = "Write";
  }

  function show() {
    const at = pointed ?? (isDone() ? count - 1 : count);
    const step = steps[at];
    const order = step ? [...step.chances.keys()] : [];
    order.sort((a, b) => step.chances[b] - step.chances[a]);
    rows.forEach(({ name, cell, row }, n) => {
      const chance = step ? step.chances[order[n]] : 0;
      row.style.visibility = n && chance < SHOWN ? "hidden" : ""; // its room stays: nothing jumps
      name.textContent = step ? signOf(order[n]) || "padding" : "–";
      cell.textContent = step ? two(chance) : "–";
      cell.style.setProperty("--share", chance);
    });
    const chosen = which.selectedIndex ? [step?.heads[which.selectedIndex - 1]] : step?.heads;
    const weights = source.map((_, s) => chosen.reduce((sum, a) => sum + a[s], 0) / chosen.length);
    lines(at, weights);
    const isMoved = input.value !== text || at !== letters || which.selectedIndex !== head + 1;
    stage.classList.toggle("moved", isMoved);
    const now = timer ? "Writing …" : say(step, weights);
    told.textContent = [note, now].filter(Boolean).join(" ");
    set(start, { "aria-disabled": !source.length });
    set(onward, { "aria-disabled": !source.length || isDone() });
    set(back, { "aria-disabled": !count });
  }
  function point(at) {
    if (at === pointed) return;
    pointed = at;
    show();
  }
  picture.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && point(null));
  // The date above; below what is written and, in a box, the letter that comes or is pointed at.
  function lines(at, weights) {
    set(picture, { viewBox: `0 0 ${wide} 190` }).replaceChildren();
    const shown = steps.slice(0, isDone() ? count : count + 1).map(({ best }) => best);
    const most = Math.max(source.length + 3, shown.length);
    const gap = Math.min(24, (wide - 4) / most);
    const x = (i) => wide / 2 + gap * (i + 0.5 - most / 2);
    weights.forEach((weight, s) => {
      if (weight < 0.01) return;
      const d = `M${x(at)} 160C${x(at)} 100 ${x(s)} 90 ${x(s)} 30`;
      const look = { "stroke-width": 1 + 6 * weight, "stroke-opacity": 0.5 + 0.5 * weight };
      draw(picture, "path", { d, class: "look", ...look });
    });
    if (shown.length)
      draw(picture, "rect", { x: x(at) - 7, y: 161, width: 14, height: 22, rx: 3, class: "look" });
    source.forEach((id, s) => draw(picture, "text", { x: x(s), y: 20 }, signOf(id)));
    shown.forEach((id, t) => {
      draw(picture, "text", { x: x(t), y: 177 }, signOf(id));
      const place = { x: x(t) - gap / 2, y: 155, width: gap, height: 34, fill: "transparent" };
      draw(picture, "rect", place).addEventListener("pointerenter", () => point(t));
    });
  }
  function say(step, weights) {
    if (!step) return "";
    const written = steps.slice(0, count).map(({ best }) => letterOf(best)).join("");
    const next = `${wordOf(step.best)}, ${two(step.chances[step.best])}`;
    const s = weights.indexOf(Math.max(...weights));
    const look = `Most weight: ${wordOf(source[s])}, ${two(weights[s])}.`;
    if (pointed !== null) return `Letter ${pointed + 1}: ${next}. ${look}`;
    const verdict = right && (written === right ? ", which is right" : `; right is “${right}”`);
    if (isDone() && step.best === END) return `Written: “${written}”${verdict}.`;
    if (isDone()) return `It finds no end: stopped after ${MOST} letters, “${written}”.`;
    const before = count ? `Written: “${written}”.` : "Nothing is written yet.";
    return `${before} Next: ${next}. ${look}`;
  }
  change();
  while (count < letters && !isDone()) forward();
  show();
  new ResizeObserver(() => {
    const now = Math.max(NARROW, Math.round(stage.clientWidth));
    if (now === wide) return;
    wide = now;
    show();
  }).observe(stage);
}
