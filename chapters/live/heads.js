// The heads of a block of a published model read two sentences in whole words. The weights come as a
// script (benchmarks.named_heads makes it) once the reader asks for them; until then the picture stays.

const MARKS = ["[CLS]", "[SEP]"];
const EPS = 1e-12; // of its layer norm
const ZERO = 79; // the character that means 0

// Rows of numbers in steps, each row with its scale, or of two bytes each.
function rowsOf({ steps, scales, halves: whole }, columns) {
  if (!steps) return halves(whole);
  const sizes = halves(scales);
  return Float32Array.from(
    steps,
    (_, i) => (steps.charCodeAt(i) - ZERO) * sizes[Math.floor(i / columns)],
  );
}

class Reader {
  constructor(given, small) {
    const { width, numHeads } = given;
    this.ids = new Map(given.words.split(" ").map((word, id) => [word, id]));
    this.small = small.split(/\s+/);
    const rows = Object.keys(given).filter((name) => given[name].scales || given[name].halves);
    const read = Object.fromEntries(rows.map((name) => [name, rowsOf(given[name], width)]));
    const matrix = (name) => new Matrix(read[name].length / width, width, read[name]);
    [this.vectors, this.places, this.norm] = ["vectors", "places", "norm"].map(matrix);
    this.vectors.data.forEach((one, i, all) => (all[i] = one * read.columns[i % width]));
    this.longest = this.places.rows - 2;
    [read["q_proj.weight"], read["k_proj.weight"]] = [read.q_proj, read.k_proj];
    this.layer = new MultiHeadAttention(width, numHeads, read);
  }
  isContent(word) {
    return word.length > 1 && !this.small.includes(word);
  }
  // All words as far as there is room, and of these the ones that it knows.
  split(text) {
    const plain = text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/[‘’]/g, "'");
    const all = plain.match(/[\p{L}\p{N}]+|[^\s]/gu) ?? [];
    const [shown, words] = [[], []];
    for (const word of all.slice(0, 3 * this.longest)) {
      if (this.ids.has(word) && words.length === this.longest) break;
      if (this.ids.has(word)) words.push(word);
      shown.push(word.slice(0, 30)); // none that it knows is longer
    }
    return { shown, words, cut: shown.length < all.length };
  }
  // What each head gives, (T, T) each, to words between the two marks.
  weights(words) {
    const x = new Matrix(words.length + 2, this.vectors.columns);
    [MARKS[0], ...words, MARKS[1]].forEach((word, t) => {
      addTo(x.row(t), this.vectors.row(this.ids.get(word)), 1);
      addTo(x.row(t), this.places.row(t), 1);
    });
    const normed = layerNorm(x, this.norm.row(0), this.norm.row(1), EPS);
    const [q, k] = ["q_proj", "k_proj"].map((name) =>
      this.layer.splitHeads(this.layer.project(name, normed)),
    );
    return q.map((own, h) => scaledDotProductAttention(own, k[h], k[h]).weights);
  }
}

// A page may have a script from a plain folder too. In the book it lies among the styles.
async function fetchHeads(version) {
  const root = document.documentElement.dataset.content_root;
  for (const folder of root === undefined ? [""] : [`${root}_static/`, ""]) {
    if (globalThis.courseHeads) break;
    const src = `${folder}heads-weights.js?v=${version}`;
    await new Promise((done) => {
      document.head.append(make("script", { src, onload: done, onerror: done }));
    });
  }
  return globalThis.courseHeads;
}

function heads(stage, given) {
  const start = make("button", { type: "button" });
  start.textContent = `Ask any word, type your own sentences: load the heads, ${given.megabytes} MB`;
  const told = set(make("p"), { role: "status" });
  stage.classList.add("waits");
  stage.append(make("div", { className: "buttons" }, start), told);
  start.addEventListener("click", async () => {
    told.textContent = "Loading the heads …";
    const kept = await fetchHeads(given.version);
    if (kept) {
      stage.classList.remove("waits");
      stage.replaceChildren();
      compare(stage, new Reader(kept, given.small), given);
      return;
    }
    told.textContent =
      "The heads are not beside this page: they are in the online book, and in a book that you build.";
  });
}

// `least`: the weight from which a number is shown; `count`: of heads that are shown large.
function compare(stage, reader, { pairs, before, least, count }) {
  const offers = make("div", { className: "buttons" }, "Two senses of");
  const choices = Object.keys(pairs).map((textContent) =>
    make("button", { type: "button", textContent, onclick: () => open(textContent) }),
  );
  offers.append(...choices);
  let asked = ""; // the word
  let wanted = null; // a head that stays
  const sides = ["first", "second"].map((name) => {
    const oninput = () => (read(side), frame(side));
    const input = make("input", { type: "text", spellcheck: false, autocomplete: "off", oninput });
    set(input, { "aria-label": `Words of the ${name} sentence, to change` });
    const heard = set(make("p", { className: "heard" }), { role: "status" });
    const words = set(make("div", { className: "words" }), { role: "group" });
    set(words, { "aria-label": `The ${name} sentence: arrow keys go from word to word` });
    words.onkeydown = ({ key }) =>
      side.buttons[side.at + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0)]?.focus();
    const pane = make("div", { className: "pane" }, input, heard, words);
    const side = { name, input, heard, words, pane };
    return side;
  });
  // Heads, large, and small that which looks at the word before.
  const blocks = Array.from({ length: count + 1 }, (_, n) => {
    const parts = sides.map(() => {
      const says = set(make("p"), { role: "status" });
      return { says, strip: make("div", { className: "strip" }) };
    });
    const strips = parts.map(({ says, strip }) => make("div", {}, says, n < count ? strip : ""));
    const title = make("b");
    return { title, parts, block: make("div", { className: "head" }, title, ...strips) };
  });
  const others = set(make("div", { className: "buttons others" }, "Show head"), { role: "group" });
  const picks = Array.from({ length: reader.layer.numHeads }, (_, head) => {
    const onclick = () => ((wanted = wanted === head ? null : head), show());
    return set(make("button", { type: "button", textContent: head, onclick }), {
      "aria-label": `Show head ${head}`,
    });
  });
  others.append(...picks);
  stage.append(offers, ...sides.map(({ pane }) => pane));
  stage.append(...blocks.slice(0, count).map(({ block }) => block), others, blocks[count].block);

  function open(word) {
    sides.forEach((side, n) => ((side.input.value = pairs[word][n]), read(side)));
    ask(sides[0], word);
  }
  // Ask the word that both sentences share, or else go on with this one or the first with content.
  function frame(side) {
    const own = side.known.filter((word) => reader.isContent(word));
    const shared = own.filter((word) => sides.every(({ known }) => known.includes(word)));
    const among = shared.length ? shared : own;
    ask(side, among.includes(asked) ? asked : (among[0] ?? side.known[0] ?? asked));
  }
  function ask(side, word, at = side.known.indexOf(word)) {
    asked = word;
    for (const one of sides) one.at = one === side ? at : one.known.indexOf(word);
    show();
  }
  // The words of a sentence, as buttons.
  function read(side) {
    const { shown, words, cut } = reader.split(side.input.value);
    const unknown = new Set(shown.filter((word) => !words.includes(word)));
    Object.assign(side, { known: words, weights: reader.weights(words) });
    const lost = [...unknown].join(", ");
    const missing = `Left out, not among the ${reader.ids.size.toLocaleString("en")} words: ${lost}. `;
    const rest = `There is room for ${reader.longest} words: the rest is not read. `;
    const none = words.length ? "" : "Type a word.";
    side.heard.textContent = (lost && missing) + (cut ? rest : "") + none;
    side.buttons = words.map((textContent, t) => {
      const pick = () => ask(side, textContent, t);
      const button = make("button", { type: "button", textContent, onclick: pick });
      button.addEventListener("focus", pick);
      return button;
    });
    let t = 0; // what is left out stands between them, struck out
    const all = shown.map((textContent) =>
      unknown.has(textContent) ? make("s", { textContent }) : side.buttons[t++],
    );
    side.words.replaceChildren(...all);
  }
  // The word with content, other than the asking one, that gets most: its token and its weight.
  function second({ at, known, weights }, head) {
    if (at < 0) return { token: 0, weight: 0 };
    const row = weights[head].row(at + 1);
    const own = known.map((word, t) => (word !== asked && reader.isContent(word) ? row[t + 1] : 0));
    const weight = Math.max(0, ...own);
    return { token: own.indexOf(weight) + 1, weight };
  }
  function show() {
    const worth = picks.map((_, head) => Math.max(...sides.map((side) => second(side, head).weight)));
    const order = [...worth.keys()].filter((head) => head !== before);
    const large = order.sort((a, b) => worth[b] - worth[a]).slice(0, count);
    if (wanted !== null && !large.includes(wanted)) large[count - 1] = wanted;
    picks.forEach((one, head) => set(one, { "aria-pressed": large.includes(head) }));
    for (const { at, buttons } of sides)
      buttons.forEach((button, t) =>
        set(button, { "aria-pressed": t === at, tabindex: t === Math.max(at, 0) ? 0 : -1 }),
      );
    blocks.forEach(({ title, parts }, b) => {
      const head = large[b] ?? before;
      const mine = head === wanted ? ", your choice," : "";
      title.textContent = `Head ${head}${mine} for “${asked}”${head === before ? ": the word before" : ""}`;
      parts.forEach((part, n) => paint(part, sides[n], head, b));
    });
    for (const one of choices) {
      const same = pairs[one.textContent].every((text, n) => sides[n].input.value === text);
      set(one, { "aria-pressed": same && one.textContent === asked });
    }
  }
  // Where most goes, and a sentence: the stronger a word's colour, the more weight it gets.
  function paint({ says, strip }, side, head, b) {
    const { at, known, weights } = side;
    if (at < 0) {
      says.textContent = b ? "" : `The ${side.name} sentence has no “${asked}”.`;
      strip.replaceChildren();
      return;
    }
    const tokens = [MARKS[0], ...known, MARKS[1]];
    const row = [...weights[head].row(at + 1)];
    const first = row.indexOf(Math.max(...row));
    const { token, weight: more } = second(side, head);
    const also = token !== first && more >= Math.max(least, 1 / tokens.length);
    const name = MARKS.includes(tokens[first]) ? tokens[first] : `“${tokens[first]}”`;
    const most = `most on ${name}${first === at + 1 ? " itself" : ""}, ${two(row[first])}`;
    says.textContent = most + (also ? `; “${tokens[token]}” gets ${two(more)}` : "");
    const marks = tokens.map((textContent, t) => {
      const weight = row[t];
      const share = make("small", { textContent: weight >= least ? two(weight) : "" });
      const mark = make("span", {}, make("span", { textContent }), share);
      mark.style.setProperty("--share", weight ** 0.7);
      mark.className = MARKS.includes(textContent) ? "edge" : t === at + 1 ? "asks" : "";
      if (!mark.classList.contains("edge")) mark.onclick = () => ask(side, known[t - 1], t - 1);
      return mark;
    });
    strip.replaceChildren(...marks);
  }
  const [word] = Object.keys(pairs);
  open(word);
  sides[0].buttons[sides[0].at].focus({ preventScroll: true });
}
