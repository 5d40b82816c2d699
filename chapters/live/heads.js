// The heads of a block of a published model read two sentences in whole words. The weights come as a
// script (benchmarks.named_heads makes it) once the reader asks for them; until then the picture stays.

const MARKS = ["[CLS]", "[SEP]"];
const EPS = 1e-12; // of its layer norm
const ZERO = 79; // the character that means 0
const TOLD = 0.1; // the weight from which a number is shown
const [ASKER, ASKED] = [4, 6]; // where the words of the order of favourites stand

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
    this.words = given.words.split(" ");
    this.everyday = given.everyday; // so many stand first
    this.ids = new Map(this.words.map((word, id) => [word, id]));
    const skipped = new Set(small.split(/\s+/));
    this.isContent = (word) => /^[a-z]{2}/.test(word) && !skipped.has(word);
    const rows = Object.keys(given).filter((name) => given[name].scales || given[name].halves);
    const read = Object.fromEntries(rows.map((name) => [name, rowsOf(given[name], width)]));
    const matrix = (name) => new Matrix(read[name].length / width, width, read[name]);
    [this.vectors, this.places, this.norm] = ["vectors", "places", "norm"].map(matrix);
    this.vectors.data.forEach((one, i, all) => (all[i] = one * read.columns[i % width]));
    this.longest = this.places.rows - 2;
    [read["q_proj.weight"], read["k_proj.weight"]] = [read.q_proj, read.k_proj];
    this.layer = new MultiHeadAttention(width, numHeads, read);
    this.keys = matrix("k_proj");
    this.kept = new Map();
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
  // What goes into the layer.
  embed(words, place) {
    const x = new Matrix(words.length, this.vectors.columns);
    words.forEach((word, t) => {
      addTo(x.row(t), this.vectors.row(this.ids.get(word)), 1);
      addTo(x.row(t), this.places.row(place(t)), 1);
    });
    return layerNorm(x, this.norm.row(0), this.norm.row(1), EPS);
  }
  // What each head gives, (T, T) each, to words between the two marks.
  weights(words) {
    const x = this.embed([MARKS[0], ...words, MARKS[1]], (t) => t);
    const [q, k] = ["q_proj", "k_proj"].map((name) =>
      this.layer.splitHeads(this.layer.project(name, x)),
    );
    return q.map((own, h) => scaledDotProductAttention(own, k[h], k[h]).weights);
  }
  // For each head the ranks, from 0, of all other words with content, by the score that this word
  // gives them, and the everyday ones in order. A bias of the keys would change all scores alike.
  favourites(word) {
    this.all ??= this.embed(this.words, () => ASKED);
    if (!this.kept.has(word)) {
      const { headDim, numHeads } = this.layer;
      const query = this.layer.project("q_proj", this.embed([word], () => ASKER)).data;
      const sought = new Matrix(numHeads, query.length); // the query, sent back through the keys
      query.forEach((one, i) => addTo(sought.row(Math.floor(i / headDim)), this.keys.row(i), one));
      const scores = linear(this.all, sought); // (words, H)
      const others = this.words.filter((one) => one !== word && this.isContent(one));
      const lists = [];
      for (let h = 0; h < numHeads; h++) {
        const score = (one) => scores.row(this.ids.get(one))[h];
        const scored = others.map((one) => [score(one), one]).sort(([a], [b]) => b - a);
        const mean = scored.reduce((sum, [own]) => sum + own, 0) / scored.length;
        lists.push({
          ranks: new Map(scored.map(([, one], rank) => [one, rank])),
          likes: scored.map(([, one]) => one).filter((one) => this.ids.get(one) < this.everyday),
          taste: scored[0][0] - mean, // how far the first favourite stands out
        });
      }
      this.kept.set(word, lists);
    }
    return this.kept.get(word);
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

function compare(stage, reader, { pairs, before, most }) {
  const ordinal = new Intl.PluralRules("en", { type: "ordinal" });
  const nth = (rank) => rank + { one: "st", two: "nd", few: "rd", other: "th" }[ordinal.select(rank)];
  const offers = make("div", { className: "buttons" }, "Two senses of");
  const choices = Object.keys(pairs).map((textContent) =>
    make("button", { type: "button", textContent, onclick: () => open(textContent) }),
  );
  offers.append(...choices);
  const heads = Array.from({ length: reader.layer.numHeads }, (_, head) => head);
  let asked = ""; // the word
  let touched; // the sentence
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
  const told = set(make("p", { className: "told" }), { role: "status" });
  // The two heads that find most, large.
  const blocks = sides.map((_, n) => {
    const onclick = ({ target }) => add(target.textContent);
    const liked = Array.from({ length: 5 }, () => make("button", { type: "button", onclick }));
    const [title, likes] = [make("b"), make("span", { className: "likes" }, ...liked)];
    const parts = sides.map(() => ({ says: make("p"), strip: make("div", { className: "strip" }) }));
    const strips = parts.map(({ says, strip }) => make("div", {}, says, strip));
    const line = make("p", { className: "title" }, title, likes);
    const block = make("div", { className: `head of-${n}` }, line, ...strips);
    return { title, liked, parts, block };
  });
  const { whole, body } = table("", ["head", "favourites", "finds in the first", "in the second"]);
  stage.append(offers, ...sides.map(({ pane }) => pane), told);
  stage.append(...blocks.map(({ block }) => block), whole);

  function open(word) {
    sides.forEach((side, n) => ((side.input.value = pairs[word][n]), read(side)));
    ask(sides[0], word);
  }
  function add(word) {
    const side = sides.find(({ at, found }) => at >= 0 && !found) ?? touched;
    side.input.value += ` ${word}`;
    read(side);
    ask(side, asked);
  }
  // Ask the word that both sentences share, or else go on with this one or the first with content.
  function frame(side) {
    const own = side.known.filter(reader.isContent);
    const shared = own.filter((word) => sides.every(({ known }) => known.includes(word)));
    const among = shared.length ? shared : own;
    ask(side, among.includes(asked) ? asked : (among[0] ?? side.known[0] ?? asked));
  }
  function ask(side, word, at = side.known.indexOf(word)) {
    [touched, asked] = [side, word];
    for (const one of sides) one.at = one === side ? at : one.known.indexOf(word);
    show();
  }
  // The words of a sentence, as buttons.
  function read(side) {
    const { shown, words, cut } = reader.split(side.input.value);
    const unknown = new Set(shown.filter((word) => !words.includes(word)));
    Object.assign(side, { known: words, weights: reader.weights(words) });
    const lost = [...unknown].join(", ");
    const missing = `Left out, not among the ${reader.words.length.toLocaleString("en")} words: ${lost}. `;
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
  // What a head comes nearest to finding in a sentence.
  function nearest({ known, weights, at }, { ranks }, head) {
    if (at < 0 || head === before) return undefined;
    const row = weights[head].row(at + 1);
    const all = known.flatMap((word, t) => {
      const rank = ranks.get(word);
      if (rank === undefined) return [];
      return { word, rank: rank + 1, weight: row[t + 1], finds: rank < most && row[t + 1] >= TOLD };
    });
    const order = (a, b) => (a.finds ? b.weight - a.weight : a.rank - b.rank);
    return all.sort((a, b) => b.finds - a.finds || order(a, b))[0];
  }
  const says = (near) => {
    if (!near) return "no other word";
    if (near.finds) return `finds “${near.word}”, the ${nth(near.rank)} favourite`;
    const little = near.rank > most ? "is only" : `gets ${two(near.weight)}, though it is`;
    return `finds nothing: “${near.word}” ${little} the ${nth(near.rank)}`;
  };
  function show() {
    const lists = reader.favourites(asked);
    const near = sides.map((side) => heads.map((head) => nearest(side, lists[head], head)));
    // First the heads that find something, by its weight; then the others, by taste.
    const worth = (own, head) => {
      if (head === before) return Infinity;
      return own[head]?.finds ? -own[head].weight : 1e5 - lists[head].taste;
    };
    const sorted = (worths) => [...heads].sort((a, b) => worths(a) - worths(b));
    const order = sorted((head) => Math.min(...near.map((own) => worth(own, head))));
    sides.forEach((side, n) => {
      const [head] = sorted((one) => worth(near[n], one));
      side.found = near[n][head]?.finds ? { ...near[n][head], head } : null;
      side.buttons.forEach((button, t) =>
        set(button, { "aria-pressed": t === side.at, tabindex: t === Math.max(side.at, 0) ? 0 : -1 }),
      );
    });
    const large = [...new Set([...sides.flatMap(({ found }) => found?.head ?? []), ...order])];
    blocks.forEach(({ title, liked, parts }, b) => {
      const head = large[b];
      title.textContent = `Head ${head}, favourites of “${asked}”:`;
      liked.forEach((button, n) => (button.textContent = lists[head].likes[n] ?? ""));
      parts.forEach((part, n) => paint(part, sides[n], near[n][head], head));
    });
    body.replaceChildren(
      ...order.map((head) => {
        const likes = head === before ? "the word before" : lists[head].likes.slice(0, 3).join(", ");
        const cells = sides.map((side, n) => {
          const { finds, word } = near[n][head] ?? {};
          const last = head === before && side.at > 0 && side.known[side.at - 1];
          return make("td", { textContent: last || (finds ? word : "–") });
        });
        const name = set(make("th", { textContent: head }), { scope: "row" });
        return make("tr", {}, name, make("td", { textContent: likes }), ...cells);
      }),
    );
    whole.caption.textContent = `All twelve heads, asked by “${asked}”`;
    told.replaceChildren(...verdict());
    for (const one of choices) {
      const same = pairs[one.textContent].every((text, n) => sides[n].input.value === text);
      set(one, { "aria-pressed": same && one.textContent === asked });
    }
    stage.classList.toggle("moved", choices[0].getAttribute("aria-pressed") !== "true");
  }
  // A sentence, the stronger a word's colour, the more weight it gets.
  function paint({ says: line, strip }, side, near, head) {
    const { at, known, weights } = side;
    line.textContent = at < 0 ? `The ${side.name} sentence has no “${asked}”.` : says(near);
    line.classList.toggle("found", Boolean(near?.finds));
    const tokens = at < 0 ? [] : [MARKS[0], ...known, MARKS[1]];
    const marks = tokens.map((textContent, t) => {
      const weight = weights[head].row(at + 1)[t];
      const share = make("small", { textContent: weight >= TOLD ? two(weight) : "" });
      const mark = make("span", {}, make("span", { textContent }), share);
      mark.style.setProperty("--share", weight ** 0.7);
      mark.className = MARKS.includes(textContent) ? "edge" : t === at + 1 ? "asks" : "";
      if (!mark.classList.contains("edge")) mark.onclick = () => ask(side, known[t - 1], t - 1);
      return mark;
    });
    strip.replaceChildren(...marks);
  }
  function verdict() {
    const there = sides.filter(({ at }) => at >= 0);
    if (!there.length) return [];
    const parts = there.map(({ name, found }) =>
      found
        ? `“${found.word}” in the ${name} sentence (head ${found.head})`
        : `no favourite of any head in the ${name} sentence`,
    );
    const offered = blocks.map(({ liked: [{ textContent }] }) => `“${textContent}”`).join(" or ");
    const offer = ` Press a favourite to add it, such as ${offered}.`;
    const lacks = there.every(({ found }) => found) ? "" : offer;
    const sentence = `“${asked}” finds ${parts.join(", ")}.${lacks}`;
    const [one, other] = sides.map(({ found }) => found);
    const apart = one && other && one.head !== other.head && one.word !== other.word;
    return apart ? [sentence, " ", make("b", { textContent: "Two heads, two tastes." })] : [sentence];
  }
  const [word] = Object.keys(pairs);
  open(word);
  sides[0].buttons[sides[0].at].focus({ preventScroll: true });
}
