// One trained layer and a sentence: each token is hidden in turn, and a panel for each head shows
// with lines where it looks for it. The layer is chapters.ch03_gap_filler.GapFiller's, as far as its weights.

const MOST_TOKENS = 24; // more lines cannot be told apart
const LETTERS = 2000; // of what is typed: what follows is not looked at
const LINE = 22; // the height of a row
const [LEFT, RIGHT] = [62, 90]; // room for the tokens that are hidden; for the others with numbers
const FAINT = 0.04; // lines of less weight are not drawn

class GapFiller {
  constructor(state, numHeads) {
    this.state = Object.fromEntries(
      Object.entries(state).map(([name, base64]) => [name, halves(base64)]),
    );
    const [gap, table] = [this.state.gap, this.state["embedding.weight"]];
    this.gap = gap;
    this.embedding = new Matrix(table.length / gap.length, gap.length, table);
    const own = Object.keys(this.state).filter((name) => name.startsWith("mha."));
    const layer = Object.fromEntries(own.map((name) => [name.slice(4), this.state[name]]));
    const positions = new RotaryPositionalEncoding(gap.length / numHeads);
    this.mha = new MultiHeadAttention(gap.length, numHeads, layer, positions);
  }
  // ids (T,) -> of each head the weights, H times (T, T): a row for each gap.
  weights(ids) {
    const x = Matrix.from(ids.map((id) => this.normalize(this.embedding.row(id)))); // (T, D)
    const gaps = Matrix.from(ids.map(() => this.gap)); // they ask the same, (T, D)
    const [q, k] = Object.entries({ q_proj: gaps, k_proj: x }).map(([name, rows]) =>
      this.mha.splitHeads(this.mha.project(name, rows)).map((head) => this.mha.positions.rotate(head)),
    );
    const others = ids.map((_, t) => ids.map((_, s) => s !== t)); // true = may attend
    return q.map((_, h) => scaledDotProductAttention(q[h], k[h], k[h], others).weights);
  }
  // As torch.nn.LayerNorm, one row.
  normalize(row) {
    const mean = row.reduce((a, b) => a + b, 0) / row.length;
    const spread = row.reduce((sum, one) => sum + (one - mean) ** 2, 0) / row.length;
    const scale = 1 / Math.sqrt(spread + 1e-5);
    const [weight, bias] = ["weight", "bias"].map((name) => this.state[`mha_norm.${name}`]);
    return row.map((one, i) => (one - mean) * scale * weight[i] + bias[i]);
  }
}

// As it was trained: without capitals, one blank before each word.
function asRead(text) {
  const words = text.toLowerCase().split(/\p{White_Space}+/u);
  return words.map((word) => word && ` ${word}`).join("");
}

// A token as the panels call it: a word, or a piece that goes on with one.
function called(vocabulary, id) {
  const name = vocabulary.name(id);
  if (name.startsWith("·")) return name.slice(1) || name;
  return /^[\p{L}\p{N}_]/u.test(vocabulary.decode([id])) ? `-${name}` : name;
}

function heads(stage, { text, merges, state, numHeads, looksAt }) {
  const vocabulary = new BytePairs(merges);
  const model = new GapFiller(state, numHeads);
  const input = make("input", { type: "text", value: text, spellcheck: false, oninput: change });
  const field = make("label", { className: "field" });
  field.append(make("span", { textContent: "Your sentence" }), input);
  const picks = set(make("div", { className: "picks" }), { role: "group" });
  set(picks, { "aria-label": "Pick a token to hide it alone" });
  const told = set(make("p"), { role: "status" });
  const panels = looksAt.map(([name, share], h) => {
    const panel = make("div", { className: "panel" });
    panel.style.setProperty("--head", `var(--fig-${h})`);
    const title = make("p", { className: "head", textContent: `head ${h}` });
    const picture = set(draw(panel, "svg"), { role: "img" });
    picture.addEventListener("click", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY);
      const { y } = at.matrixTransform(picture.getScreenCTM().inverse());
      if (ids.length) pick(clamp(Math.floor(y / LINE) - 1, 0, ids.length - 1));
    });
    panel.prepend(title);
    const number = make("b", { textContent: two(share) });
    const where = name[0].toUpperCase() + name.slice(1);
    panel.append(make("p", {}, `${where}: on average `, number, " of its weight"));
    return { panel, picture, title };
  });
  const row = make("div", { className: "panels" });
  row.append(...panels.map(({ panel }) => panel));
  stage.append(field, picks, row, told);

  let ids = [];
  let names = [];
  let weights = []; // of each head, (T, T)
  let cut = false;
  let picked = -1; // the token that is hidden; -1: each in turn
  let wide = 200; // a panel
  let buttons = [];
  function change() {
    const all = vocabulary.encode(asRead(input.value.slice(0, LETTERS)));
    cut = all.length > MOST_TOKENS || input.value.length > LETTERS;
    ids = all.slice(0, MOST_TOKENS);
    names = ids.map((id) => called(vocabulary, id));
    weights = ids.length ? model.weights(ids) : [];
    picked = -1;
    buttons = names.map((textContent, t) => {
      const button = make("button", { type: "button", textContent, tabIndex: t ? -1 : 0 });
      button.addEventListener("click", () => pick(t));
      button.addEventListener("keydown", (event) => step(event, t));
      return button;
    });
    picks.replaceChildren(...buttons);
    update();
  }
  // A second time lets it go.
  function pick(t) {
    picked = picked === t ? -1 : t;
    update();
  }
  function step(event, t) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = buttons[clamp(t + way, 0, buttons.length - 1)];
    buttons.forEach((button) => (button.tabIndex = button === next ? 0 : -1));
    next.focus();
  }
  function update() {
    buttons.forEach((button, t) => set(button, { "aria-pressed": t === picked }));
    row.hidden = !ids.length;
    if (ids.length) panels.forEach(({ picture }, h) => paint(picture, h));
    told.textContent = say();
  }
  const best = (h, t) => {
    const row = [...weights[h].row(t)];
    const s = row.indexOf(Math.max(...row));
    return `${place(s)} ${two(row[s])}`;
  };
  // Names that stand twice are told apart by their place.
  const place = (t) =>
    names.indexOf(names[t]) === names.lastIndexOf(names[t]) ? names[t] : `${names[t]} (${t + 1})`;

  function paint(picture, h) {
    const y = (t) => LINE * (t + 1.5); // below the names of the columns
    const right = wide - RIGHT;
    picture.replaceChildren();
    set(picture, { viewBox: `0 0 ${wide} ${LINE * (ids.length + 1)}` });
    draw(picture, "text", { x: LEFT, y: 15, "text-anchor": "end", class: "column" }, "hidden");
    draw(picture, "text", { x: right, y: 15, class: "column" }, "looks at");
    const rows = ids.length > 1 ? ids.map((_, t) => `${place(t)} to ${best(h, t)}`) : [];
    const shown = picked < 0 ? rows : rows.slice(picked, picked + 1);
    set(picture, { "aria-label": `Largest weights of head ${h}: ${shown.join(", ") || "none"}.` });
    const lines = ids.flatMap((_, t) =>
      picked < 0 || picked === t ? [...weights[h].row(t)].map((weight, s) => [weight, t, s]) : [],
    );
    lines.sort(([a], [b]) => a - b); // the strongest lies on top
    const strong = lines.filter(([weight]) => weight >= FAINT);
    for (const [weight, t, s] of strong)
      draw(picture, "line", {
        ...{ x1: LEFT + 5, x2: right - 5, y1: y(t), y2: y(s), class: "link" },
        ...{ "stroke-width": 0.5 + 5.5 * weight, "stroke-opacity": 0.25 + 0.75 * weight },
      });
    ids.forEach((_, t) => {
      const name = names[t].length > 8 ? `${names[t].slice(0, 7)}…` : names[t];
      const weight = picked < 0 ? 0 : weights[h].row(picked)[t];
      const kind = picked === t ? "picked" : "";
      draw(picture, "text", { x: LEFT, y: y(t) + 5, "text-anchor": "end", class: kind }, name);
      const seen = weight >= 0.1 ? "picked" : "";
      draw(picture, "text", { x: right, y: y(t) + 5, class: seen }, name);
    });
    if (picked >= 0)
      for (const [weight, , s] of strong.filter(([weight]) => weight >= 0.1)) {
        const at = { x: wide - 2, y: y(s) + 5, "text-anchor": "end", class: "number" };
        draw(picture, "text", at, two(weight));
      }
  }
  function say() {
    if (!ids.length) return "There is nothing to read: type a few English words.";
    if (ids.length < 2) return "One token has no others to be found from: type more.";
    const long = cut ? ` Only the first ${MOST_TOKENS} tokens are read.` : "";
    const odd = names.some((name) => name.startsWith("bytes "))
      ? " It was trained on English alone, and reads other letters byte by byte."
      : "";
    const pieces = names.some((name) => /^-./.test(name)) ? " A hyphen: it goes on with a word." : "";
    const many = `${ids.length} tokens, whole words or pieces of words. Pick one to hide it alone.`;
    if (picked < 0) return many + pieces + long + odd;
    const found = panels.map((_, h) => `${best(h, picked)} in head ${h}`);
    return `${place(picked)} is hidden. Most weight: ${found.join(", ")}.${long}${odd}`;
  }
  change();
  if (ids.length > 1) pick(1); // it has neighbours on both sides
  // The pictures are as wide as their panels, so that letters keep their size and lines have room.
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(contentRect.width);
    if (!width || width === wide) return;
    wide = width;
    update();
  }).observe(panels[0].title);
}
