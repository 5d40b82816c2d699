// Three heads of a published model read two sentences in whole words. The weights come as a script
// (benchmarks.named_heads makes it) once the reader asks for them; until then the picture stays.

const MARKS = ["[CLS]", "[SEP]"];
const EPS = 1e-12; // of its layer norm
const [TOLD, FOUND] = [0.1, 0.2]; // weights from which a number is shown, a word is found
const SIDES = ["first sentence", "second sentence"];

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
  let asked = false;
  start.addEventListener("click", async () => {
    if (asked) return;
    asked = true;
    told.textContent = "Loading the heads …";
    const kept = await fetchHeads(given.version);
    if (kept) {
      stage.classList.remove("waits");
      stage.replaceChildren();
      compare(stage, new Reader(kept, given.heads.length), given);
      return;
    }
    asked = false;
    told.textContent =
      "The heads are not beside this page: they are in the online book, and in a book that you build.";
  });
}

// What a head finds for the word at a place, `at`.
function finds(row, tokens, at) {
  const most = row.indexOf(Math.max(...row));
  if (MARKS.includes(tokens[most])) return { says: `finds nothing, rests on ${tokens[most]}` };
  if (most === at) return { says: "finds nothing, stays with itself" };
  if (row[most] < FOUND) return { says: "finds nothing, spreads its weight" };
  return { word: tokens[most], weight: row[most], says: `finds “${tokens[most]}”` };
}

function compare(stage, reader, { pairs, heads, notes, count }) {
  const seekers = heads.slice(0, 2); // of neighbours; the third looks at the word before
  const offers = make("div", { className: "buttons" }, "Two senses of");
  const choices = Object.entries(pairs).map(([word, pair]) => {
    const onclick = () => open(word, pair);
    const button = make("button", { type: "button", textContent: word, onclick });
    offers.append(button);
    return { word, button };
  });
  const hint = make("p");
  const [first, second] = seekers.map(({ number, row }, n) =>
    make("b", { className: `of-${row}`, textContent: `${n ? "h" : "H"}ead ${number}` }),
  );
  hint.append("Point at a word, or type. ", first, " underlines those for which it finds a ");
  hint.append("neighbour, mostly from nature; ", second, ", mostly from people’s world.");
  const sides = SIDES.map((name) => {
    const oninput = () => (read(side), show(side));
    const input = make("input", { type: "text", spellcheck: false, autocomplete: "off", oninput });
    set(input, { "aria-label": `Words of the ${name}, to change` });
    const heard = set(make("p", { className: "heard" }), { role: "status" });
    const words = set(make("div", { className: "words" }), { role: "group" });
    set(words, { "aria-label": `The ${name}, word by word` });
    const rows = heads.map(({ number, name: habit, row }) => {
      const says = make("span");
      const title = make("p", { className: `title of-${row}` });
      title.append(make("b", { textContent: `Head ${number}: ${habit}` }), " ", says);
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
  const summary = make("summary", { textContent: "All weights, and what the names rest on" });
  const behind = make("details", {}, summary, tables);
  behind.append(...notes.map((textContent) => make("p", { textContent })));
  stage.append(offers, hint, ...sides.map(({ pane }) => pane), told, behind);

  function open(word, pair) {
    sides.forEach((side, n) => {
      side.input.value = pair[n];
      read(side);
      side.picked = side.tokens.indexOf(word) - 1;
    });
    show(sides[0]);
  }
  const found = (side, { row }, n) => finds(side.weights[row].row(n + 1), side.tokens, n + 1);
  // The words of a sentence, as buttons and in the strip of each head.
  function read(side) {
    const { shown, words, cut } = reader.split(side.input.value);
    const unknown = new Set(shown.filter((word) => !words.includes(word)));
    const lost = [...unknown].join(", ");
    side.tokens = [MARKS[0], ...words, MARKS[1]];
    side.weights = reader.weights(words);
    side.heard.textContent = [
      unknown.size && `Not among the ${count.toLocaleString("en")} words, left out: ${lost}.`,
      cut && `There is room for ${reader.longest} words: the rest is not read.`,
      !words.length && "Type a word.",
    ]
      .filter(Boolean)
      .join(" ");
    const pick = (n) => () => choose(side, n);
    // What is left out stands between them, struck out.
    const withGaps = (known, at = 0) => [
      ...shown.map((word) => (unknown.has(word) ? make("s", { textContent: word }) : known[at++])),
      ...known.slice(at),
    ];
    const most = words.map(() => 0);
    side.buttons = words.map((textContent, n) => {
      const button = make("button", { type: "button", textContent, onclick: pick(n) });
      for (const head of seekers) {
        const { weight = 0 } = found(side, head, n);
        button.classList.toggle(`finds-${head.row}`, weight > 0);
        most[n] = Math.max(most[n], weight);
      }
      button.addEventListener("focus", pick(n));
      button.addEventListener("pointermove", pick(n)); // not "enter": where the pointer rests
      return button;
    });
    side.picked = most.indexOf(Math.max(...most)); // the word that finds most
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
      buttons.forEach((button, n) => set(button, { "aria-pressed": n === picked }));
      heads.forEach(({ row }, h) => {
        const given = weights[row].row(picked + 1);
        const { word, says } = finds(given, tokens, picked + 1);
        rows[h].says.textContent = says;
        rows[h].says.classList.toggle("found", Boolean(word));
        tokens.forEach((_, t) => {
          cells[t][h].textContent = two(given[t]);
          marks[h][t].style.setProperty("--share", given[t] ** 0.7);
          marks[h][t].classList.toggle("asks", t === picked + 1);
          marks[h][t].lastChild.textContent = given[t] >= TOLD ? two(given[t]) : "";
        });
      });
    }
    told.textContent = verdict(side);
    for (const { word, button } of choices)
      set(button, {
        "aria-pressed": sides.every(({ input }, n) => input.value === pairs[word][n]),
      });
    const isFirst = ({ input, tokens, picked }, n) =>
      input.value === pair[n] && tokens[picked + 1] === word;
    stage.classList.toggle("moved", !sides.every(isFirst));
  }
  // What the two heads find for the word, here and in the other sentence if it stands there too.
  function verdict({ tokens, picked }) {
    const word = tokens[picked + 1];
    const same = sides.filter((one) => one.tokens[one.picked + 1] === word);
    const all = same.map((one) => seekers.filter((head) => found(one, head, one.picked).word));
    const parts = same.map((one, n) => {
      const list = all[n].map(
        (head) => `“${found(one, head, one.picked).word}” with head ${head.number}`,
      );
      const nothing = `nothing with ${seekers.map(({ number }) => `head ${number}`).join(" or ")}`;
      const what = `${n ? "it" : `“${word}”`} finds ${list.join(" and ") || nothing}`;
      return `${n ? "in" : "In"} the ${one.name} ${what}`;
    });
    const heads = new Set(all.flat());
    const apart = all.length === 2 && heads.size === 2 && all.every((list) => list.length === 1);
    return `${parts.join("; ")}.${apart ? " The two heads tell its two uses apart." : ""}`;
  }
  let spoken; // the sentence that was pointed at
  const [[word, pair]] = Object.entries(pairs);
  open(word, pair);
  sides[0].buttons[sides[0].picked].focus({ preventScroll: true });
}
