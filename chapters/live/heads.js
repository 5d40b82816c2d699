// Three heads of a published model read two sentences in whole words. The weights come as a script
// (benchmarks.named_heads makes it) once the reader asks for them; until then the picture stays.

const OTHERS =
  "Two of twelve heads were asked. Two uses that they tell: “the rock fell from the mountain”, “the rock band played”. ";
const MARKS = ["[CLS]", "[SEP]"];
const EPS = 1e-12; // of its layer norm
const [TOLD, FOUND] = [0.1, 0.25]; // weights from which a number is shown, a word is found
// Words that two sentences share without being about the same; others have two letters or more.
const SMALL = `about after all an and are as at be but by can did do for from had has have he her
 him his how if in into is it its me my near no not of on or our out over she so some than that the
 their them then there these they this to under up us was we were what when which who will with you`;
const isSmall = (word) => !/[a-z]{2}/.test(word) || RegExp(`\\b${word}\\b`).test(SMALL);

// Rows of numbers in 8 bits, each with its scale, or of two bytes each.
function rowsOf({ numbers, scales }, columns) {
  if (!scales) return halves(numbers);
  const sizes = halves(scales);
  const bytes = atob(numbers);
  const rows = new Float32Array(bytes.length);
  for (let i = 0; i < rows.length; i++)
    rows[i] = ((bytes.charCodeAt(i) << 24) >> 24) * sizes[Math.floor(i / columns)];
  return rows;
}

class Reader {
  constructor(given, numHeads) {
    const { width, words } = given;
    this.ids = new Map(words.split(" ").map((word, id) => [word, id]));
    const matrix = (rows) => new Matrix(rows.length / width, width, rows);
    [this.vectors, this.places, this.norm] = ["vectors", "places", "norm"].map((name) =>
      matrix(rowsOf(given[name], width)),
    );
    this.longest = this.places.rows - 2;
    const names = ["q_proj", "k_proj"].flatMap((name) => [name, `${name}.bias`]);
    const state = names.map((name) => [
      name.includes(".") ? name : `${name}.weight`,
      rowsOf(given[name], width),
    ]);
    const size = (width / given.numHeads) * numHeads; // of the heads that are here
    this.layer = new MultiHeadAttention(size, numHeads, Object.fromEntries(state));
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
    const tokens = [MARKS[0], ...words, MARKS[1]].map((word) => this.ids.get(word));
    const x = new Matrix(tokens.length, this.vectors.columns);
    tokens.forEach((id, t) => {
      const row = x.row(t);
      addTo(row, this.vectors.row(id), 1);
      addTo(row, this.places.row(t), 1);
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
  start.textContent = `Point at any word, type your own: load the heads, ${given.megabytes} MB`;
  const told = set(make("p"), { role: "status" });
  stage.classList.add("waits");
  stage.append(make("div", { className: "buttons" }, start), told);
  start.addEventListener("click", async () => {
    told.textContent = "Loading the heads …";
    const kept = await fetchHeads(given.version);
    if (kept) {
      stage.classList.remove("waits");
      stage.replaceChildren();
      compare(stage, new Reader(kept, given.heads.length), given);
      return;
    }
    told.textContent =
      "The heads are not beside this page: they are in the online book, and in a book that you build.";
  });
}

// What a head finds for the word at a place, `at`.
function finds(row, tokens, at) {
  const most = row.indexOf(Math.max(...row));
  if (!at) return { says: "" }; // no word is there
  if (MARKS.includes(tokens[most])) return { says: `finds nothing, rests on ${tokens[most]}` };
  if (most === at) return { says: "finds nothing, stays with itself" };
  if (two(row[most]) < FOUND) return { says: `finds nothing: no word gets ${FOUND}` };
  return { word: tokens[most], weight: row[most], says: `finds “${tokens[most]}”` };
}

function compare(stage, reader, { pairs, heads, often, count }) {
  const seekers = heads.slice(0, 2); // of neighbours; the third looks at the word before
  const offers = make("div", { className: "buttons" }, "Two senses of");
  const choices = Object.entries(pairs).map(([textContent, pair]) =>
    make("button", { type: "button", textContent, onclick: () => open(pair) }),
  );
  offers.append(...choices);
  const hint = make("p");
  const [first, second] = seekers.map(({ number, row }, n) =>
    make("b", { className: `of-${row}`, textContent: `${n ? "h" : "H"}ead ${number}` }),
  );
  const rule = `a word that finds a neighbour: another word that gets most of its weight, and at least ${FOUND}. Habits, not rules: of 20 other words with two senses, head 10 turned more to nature for ${often[0]}, head 0 to people’s world for ${often[1]}.`;
  hint.append(first, " and ", second, ` underline ${rule}`);
  const sides = ["first sentence", "second sentence"].map((name) => {
    const oninput = () => (read(side), frame(side));
    const input = make("input", { type: "text", spellcheck: false, autocomplete: "off", oninput });
    set(input, { "aria-label": `Words of the ${name}, to change` });
    const heard = set(make("p", { className: "heard" }), { role: "status" });
    const words = set(make("div", { className: "words" }), { role: "group" });
    set(words, { "aria-label": `The ${name}: arrow keys go from word to word` });
    words.onkeydown = ({ key }) =>
      side.buttons[side.picked + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0)]?.focus();
    const rows = heads.map(({ title: textContent, row }) => {
      const says = make("span");
      const title = make("p", { className: `title of-${row}` });
      title.append(make("b", { textContent }), " ", says);
      const strip = set(make("div", { className: `strip of-${row}` }), { "aria-hidden": true });
      return { says, title, strip };
    });
    const { whole, body } = table("", ["word", ...heads.map(({ number }) => `head ${number}`)]);
    const pane = make("div", { className: "pane" }, input, heard, words);
    pane.append(...rows.flatMap(({ title, strip }) => [title, strip]));
    const side = { name, input, heard, words, rows, whole, body, pane };
    return Object.assign(side, { tokens: [], picked: 0 });
  });
  const told = set(make("p", { className: "told" }), { role: "status" });
  const tables = make("div", { className: "tables" }, ...sides.map(({ whole }) => whole));
  const behind = make("details", {}, make("summary", { textContent: "All weights" }), tables);
  stage.append(offers, told, ...sides.map(({ pane }) => pane), hint, behind);

  function open(pair) {
    sides.forEach((side, n) => ((side.input.value = pair[n]), read(side)));
    frame(sides[0]);
  }
  const found = (side, { row }, n) => finds(side.weights[row].row(n + 1), side.tokens, n + 1);
  // The heads that find something at a place in one sentence, and nothing in the other.
  const apart = (places) =>
    seekers.filter(
      (head) => sides.filter((side, n) => found(side, head, places[n]).word).length === 1,
    );
  // Frame a word that both sentences share, if it is no small one, or else the one that finds most.
  function frame(side) {
    const [own, others] = sides.map(({ tokens }) => tokens);
    const shared = own
      .filter((word) => !isSmall(word) && others.includes(word))
      .map((word) => sides.map(({ tokens }) => tokens.indexOf(word) - 1));
    const worth = ([n, m]) => 3 * apart([n, m]).length + sides[0].most[n] + sides[1].most[m];
    const [best] = shared.sort((a, b) => worth(b) - worth(a));
    if (best) sides.forEach((one, n) => (one.picked = best[n]));
    else side.picked = side.most.indexOf(Math.max(...side.most));
    show(side);
  }
  // The words of a sentence, as buttons and in the strip of each head.
  function read(side) {
    const { shown, words, cut } = reader.split(side.input.value);
    const unknown = new Set(shown.filter((word) => !words.includes(word)));
    const lost = [...unknown].join(", ");
    side.tokens = [MARKS[0], ...words, MARKS[1]];
    side.weights = reader.weights(words);
    const missing = `Left out, not among the ${count.toLocaleString("en")} words: ${lost}. `;
    const rest = `There is room for ${reader.longest} words: the rest is not read. `;
    const none = words.length ? "" : "Type a word.";
    side.heard.textContent = (lost && missing) + (cut ? rest : "") + none;
    const pick = (n) => () => choose(side, n);
    // What is left out stands between them, struck out.
    const withGaps = (known, at = 0) => [
      ...shown.map((word) => (unknown.has(word) ? make("s", { textContent: word }) : known[at++])),
      ...known.slice(at),
    ];
    const most = (side.most = words.map((word) => -isSmall(word)));
    side.buttons = words.map((textContent, n) => {
      const button = make("button", { type: "button", textContent });
      for (const kind of ["click", "focus", "pointermove"]) button.addEventListener(kind, pick(n));
      for (const head of seekers) {
        const { weight } = found(side, head, n);
        button.classList.toggle(`finds-${head.row}`, weight > 0);
        most[n] = Math.max(most[n], weight ?? -1);
      }
      return button;
    });
    side.words.replaceChildren(...withGaps(side.buttons));
    side.body.replaceChildren();
    side.cells = side.tokens.map((token) => {
      const cells = heads.map(() => make("td"));
      const name = set(make("th", { textContent: token }), { scope: "row" });
      side.body.append(make("tr", {}, name, ...cells));
      return cells;
    });
    side.marks = side.rows.map(({ strip }) => {
      const all = side.tokens.map((token, t) => {
        const mark = make("span", {}, make("span", { textContent: token }), make("small"));
        const n = t - 1;
        if (words[n] === undefined) mark.className = "edge";
        else for (const kind of ["pointermove", "click"]) mark.addEventListener(kind, pick(n));
        return mark;
      });
      strip.replaceChildren(all[0], ...withGaps(all.slice(1)));
      return all;
    });
  }
  // The same word in the other sentence goes with it.
  function choose(side, n) {
    const word = side.tokens[n + 1];
    const other = sides.find((one) => one !== side);
    const there = other.tokens.indexOf(word) - 1;
    if (side.picked === n && spoken === side) return;
    side.picked = n;
    if (there >= 0 && other.tokens[other.picked + 1] !== word) other.picked = there;
    show(side);
  }
  function show(side) {
    spoken = side;
    for (const { tokens, picked, weights, marks, cells, buttons, whole, name, rows } of sides) {
      whole.caption.textContent = `“${tokens[picked + 1]}” in the ${name}`;
      buttons.forEach((button, n) =>
        set(button, { "aria-pressed": n === picked, tabindex: n === picked ? 0 : -1 }),
      );
      heads.forEach(({ row }, h) => {
        const given = picked < 0 ? [0, 0] : weights[row].row(picked + 1);
        const { word, says } = finds(given, tokens, picked + 1);
        rows[h].says.textContent = says;
        rows[h].says.classList.toggle("found", Boolean(word));
        tokens.forEach((_, t) => {
          cells[t][h].textContent = two(given[t]);
          marks[h][t].style.setProperty("--share", given[t] ** 0.7);
          marks[h][t].classList.toggle("asks", t > 0 && t === picked + 1);
          marks[h][t].lastChild.textContent = given[t] >= TOLD ? two(given[t]) : "";
        });
      });
    }
    told.replaceChildren(...verdict(side));
    const isOpen = (word) => sides.every(({ input }, n) => input.value === pairs[word][n]);
    for (const one of choices) set(one, { "aria-pressed": isOpen(one.textContent) });
    const isFirst = ({ tokens, picked }) => tokens[picked + 1] === word;
    stage.classList.toggle("moved", !(isOpen(word) && sides.every(isFirst)));
  }
  // What the two heads find for the word, here and in the other sentence if it stands there too.
  function verdict({ tokens, picked }) {
    if (picked < 0) return [];
    const word = tokens[picked + 1];
    const same = sides.filter((one) => one.tokens[one.picked + 1] === word);
    const parts = same.map((one, n) => {
      const all = seekers.map((head) => ({ ...head, ...found(one, head, one.picked) }));
      const list = all.flatMap(({ word, number }) => (word ? `“${word}” with head ${number}` : []));
      const what = list.join(" and ") || "nothing with either head";
      return `${n ? "in" : "In"} the ${one.name} ${n ? "it" : `“${word}”`} finds ${what}`;
    });
    const sentence = `${parts.join("; ")}. `;
    if (same.length < 2 || isSmall(word)) return [sentence];
    const heads = apart(sides.map((one) => one.picked));
    const who = ["Neither head tells", `Only head ${heads[0]?.number} tells`, "The two heads tell"];
    const last = make("b", { textContent: `${who[heads.length]} its two uses apart.` });
    return heads.length ? [sentence, last] : [sentence, OTHERS, last];
  }
  let spoken; // the sentence that was pointed at
  const [[word, pair]] = Object.entries(pairs);
  open(pair);
  sides[0].buttons[sides[0].picked].focus({ preventScroll: true });
}
