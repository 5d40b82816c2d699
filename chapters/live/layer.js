// The whole layer: every number in its place, what it is made of, and what becomes of it when
// something is forgotten.
//
// Read from the top: what the layer computes (openLayer, reaches), what a number is made of
// (makeOf), where it stands (place), the code beside it (CODE), and the figure that puts these
// together (layer). A matrix has a name: X, Wq, Wk, Wv, Q, K, V, then for each head h its q0, k0,
// v0, D0 (dots), S0 (scores, with their root and mask), A0 (weights), M0 (mix), then J (joined),
// Wo, O. A cell is [name, row, column].

// MultiHeadAttention with all that lies between, and with what is forgotten: `forget` has true
// under "root", "mask", "split", "join" or "axis".
class OpenedLayer extends MultiHeadAttention {
  // x.view(H, T, headDim), without the transpose: the line of numbers is cut into H parts.
  splitHeads(x) {
    if (!this.forget.split) return super.splitHeads(x);
    const size = x.rows * this.headDim;
    const part = (h) => x.data.subarray(h * size, (h + 1) * size);
    return Array.from(
      { length: this.numHeads },
      (_, h) => new Matrix(x.rows, this.headDim, part(h)),
    );
  }
  // heads.reshape(T, D), without the transpose: head after head in one line.
  joinHeads(heads) {
    if (!this.forget.join) return super.joinHeads(heads);
    return new Matrix(
      heads[0].rows,
      this.embedDim,
      heads.flatMap(({ data }) => [...data]),
    );
  }
  open(x, allowed) {
    const found = { X: x };
    for (const name of "qkvo") {
      const weight = this.state[`${name === "o" ? "out" : name}_proj.weight`];
      found[`W${name}`] = transposed(new Matrix(this.embedDim, this.embedDim, weight));
    }
    const cut = ["q", "k", "v"].map((name) => {
      const whole = (found[name.toUpperCase()] = this.project(`${name}_proj`, x));
      return this.splitHeads(whole);
    });
    const mask = this.forget.mask ? null : allowed;
    const mixes = cut[0].map((q, h) => {
      const [k, v] = [cut[1][h], cut[2][h]];
      const dots = linear(q, k); // Q K^T
      const scale = this.forget.root ? 1 : this.headDim ** -0.5;
      const scores = new Matrix(
        x.rows,
        x.rows,
        dots.data.map((dot) => dot * scale),
      );
      if (mask) mapMask(mask, (may, t, s) => may || (scores.row(t)[s] = -Infinity));
      const weights = this.forget.axis
        ? transposed(maskedSoftmax(transposed(scores)))
        : maskedSoftmax(scores);
      const mix = linear(weights, transposed(v));
      const all = { q, k, v, D: dots, S: scores, A: weights, M: mix };
      for (const [name, matrix] of Object.entries(all)) found[name + h] = matrix;
      return mix;
    });
    found.J = this.joinHeads(mixes);
    found.O = this.project("out_proj", found.J);
    return found;
  }
}

function transposed(x) {
  const turned = new Matrix(x.columns, x.rows);
  x.data.forEach((number, i) => {
    turned.row(i % x.columns)[Math.floor(i / x.columns)] = number;
  });
  return turned;
}

// The weights as they are kept, in hundredths, as numbers; the words with their kinds.
function unpack(given) {
  const numbers = (x) =>
    typeof x === "number"
      ? x / 100
      : Array.isArray(x)
        ? x.map(numbers)
        : Object.fromEntries(Object.entries(x).map(([name, one]) => [name, numbers(one)]));
  const kinds = Object.keys(given.words);
  const words = kinds.flatMap((kind) => given.words[kind].split(" "));
  return { ...given, ...numbers(given.hundredths), kinds, words, byKind: given.words };
}

// The rows of X: the vector of a word plus the vector of its place.
function rowsOf(given, ids) {
  const D = given.places[0].length;
  return Matrix.from(
    ids.map((id, t) => given.places[t].map((n, i) => n + given.vectors[id][i]), D),
  );
}

// All matrices for words by their numbers; padding has the number given.words.length.
function openLayer(
  given,
  ids,
  { numHeads = 2, causal = false, forget = {} },
  x = rowsOf(given, ids),
) {
  const T = ids.length;
  const own = Object.assign(new OpenedLayer(x.columns, numHeads, given.state), { forget });
  const isWord = ids.map((id) => id < given.words.length);
  const allowed = causalMask(T, T).map((row) => row.map((may, s) => isWord[s] && (may || !causal)));
  return own.open(x, allowed);
}

// Change one word at a time: for each of them all matrices, made anew.
function changedWords(given, ids, how) {
  return ids.map((_, j) => {
    const x = rowsOf(given, ids);
    x.row(j).forEach((number, i) => (x.row(j)[i] = number + 0.3 + 0.1 * i));
    return openLayer(given, ids, how, x);
  });
}

const differs = (one, other, r) => one.row(r).some((n, i) => n !== other.row(r)[i]);

// Reads the two answers from each row of the output: the kind of the word before, of its noun.
const answers = (given, output) =>
  ["before", "noun"].map((name) => {
    const { weight, bias } = given[name];
    const told = linear(output, Matrix.from(weight), bias);
    return Array.from({ length: output.rows }, (_, t) => {
      const row = told.row(t);
      return given.kinds[row.indexOf(Math.max(...row))];
    });
  });

// Where number d of row i of head h stands in (T, D), and which head and place a joined number
// comes from: [head, row, column].
function cutFrom(h, i, d, { T, D, size, forget }) {
  if (!forget.split) return [i, h * size + d];
  const n = (h * T + i) * size + d;
  return [Math.floor(n / D), n % D];
}
function joinedFrom(t, c, { T, D, size, forget }) {
  if (!forget.join) return [Math.floor(c / size), t, c % size];
  const n = t * D + c;
  return [Math.floor(n / (T * size)), Math.floor(n / size) % T, n % size];
}

// The class of the chapter, line by line: its text, the stages that it makes, and what it is when
// something is forgotten. A test finds each line in chapter 4, the last five in chapter 2.
const CODE = [
  ["def split_heads(self, x):", "split"],
  ["    B, T, _ = x.shape", ""],
  ["    x = x.view(B, T, self.num_heads, self.head_dim)", "split", "split", ""],
  [
    "    return x.transpose(1, 2)  # (B, H, T, D_head)",
    "split",
    "split",
    "    return x.view(B, self.num_heads, T, self.head_dim)",
  ],
  ["def join_heads(self, heads):", "join"],
  [
    "    return heads.transpose(1, 2).flatten(2)  # (B, T, D)",
    "join",
    "join",
    "    return heads.reshape(B, T, -1)",
  ],
  ["def forward(self, query, key, value, is_causal=False):", "X"],
  ["    q = self.split_heads(self.q_proj(query))", "Q"],
  ["    k = self.split_heads(self.k_proj(key))", "K"],
  ["    v = self.split_heads(self.v_proj(value))", "V"],
  [
    "    heads = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)",
    "dots root mask softmax mix",
  ],
  ["    return self.out_proj(self.join_heads(heads))  # (B, T, D)", "out"],
  ["# inside F.scaled_dot_product_attention", ""],
  ["dots = q @ k.transpose(-2, -1)  # (..., T, S)", "dots"],
  ["scores = dots / math.sqrt(q.shape[-1])", "root", "root", "scores = dots"],
  ["scores = scores.masked_fill(blocked, -math.inf)", "mask", "mask", ""],
  ["weights = scores.softmax(dim=-1)", "softmax", "axis", "weights = scores.softmax(dim=-2)"],
  ["return weights @ v", "mix"],
];
const STAGE = { X: "X", D: "dots", S: "root", A: "softmax", M: "mix", J: "join", O: "out" };
const stageOf = (name) => {
  if (name[0] === "W") return stageOf(name[1].toUpperCase());
  return "qkv".includes(name[0]) ? "split" : (STAGE[name[0]] ?? name[0]);
};

// Where each matrix stands: from left to right on a desk, from top to bottom on a phone.
// Gives blocks { name, x, y, cw, ch, rows, columns }, texts, lanes of the heads, and the size.
function place(found, { T, D, H, size }, isNarrow) {
  const [blocks, texts, lanes] = [{}, [], []];
  const put = (name, x, y, cw, ch) => {
    const { rows, columns } = found[name];
    blocks[name] = { name, x, y, cw, ch, rows, columns, w: columns * cw, h: rows * ch };
    return blocks[name];
  };
  const above = ({ x, y, w }, text) => texts.push({ x: x + w / 2, y: y - 6, text });
  const project = (name, x, y, cw, ch, thin) => {
    const letter = name.toUpperCase();
    const weight = put(`W${name}`, x, y, cw, thin);
    above(weight, name === "o" ? "output = joined W^O" : `${letter} = X W^${letter}`);
    put(letter, x, y + D * thin + 4, cw, ch);
  };
  const cells = 4 * size + 3 * T; // across a lane
  // A lane: the pieces of a head, and what it makes of them.
  const lane = (h, x, y, cw, ch, gap, width) => {
    lanes.push({ x: x - 6, y, w: width + 12, h: T * ch + 22, head: h });
    let at = x;
    for (const name of ["q", "k", "v", "D", "S", "A", "M"]) {
      const { w } = put(name + h, at, y + 17, cw, ch);
      at += w + (name === "q" || name === "k" ? gap / 2 : gap);
    }
  };
  const titles = (y) => {
    const names = { k: "q, k, v", D: "q·k", S: "scores", A: "softmax", M: "mix" };
    for (const [name, text] of Object.entries(names)) above({ ...blocks[`${name}0`], y }, text);
  };
  if (!isNarrow) {
    const [label, told, between, gap, ch, thin] = [62, 110, 26, 11, 12, 5];
    const width = 900;
    const free = width - label - told - 4 * between - 5 * gap - 12;
    const cw = Math.min(11, free / (4 * D + cells));
    const third = 20 + D * thin + 4 + T * ch; // Q, K or V with its weights
    const tall = Math.max(3 * third + 16, H * 70);
    const laneTall = (tall - 22) / H - 28;
    const laneCell = clamp(laneTall / T, 6, 18);
    const top = 26;
    const middle = top + tall / 2;
    const X = put("X", label, middle - (T * ch) / 2, cw, ch);
    above(X, "X");
    let x = X.x + X.w + between;
    ["q", "k", "v"].forEach((name, n) =>
      project(name, x, top + n * (third + 8) + 14, cw, ch, thin),
    );
    x += D * cw + between + 6;
    const across = cells * cw + 5 * gap;
    const step = T * laneCell + 30;
    const first = middle - (H * step - 8) / 2 + 8;
    for (let h = 0; h < H; h++) lane(h, x, first + h * step, cw, laneCell, gap, across);
    titles(first - 1);
    x += across + between + 6;
    const J = put("J", x, middle - (T * ch) / 2, cw, ch);
    above(J, "joined");
    x += J.w + between;
    project("o", x, J.y - D * thin - 4, cw, ch, thin);
    const R = put("R", x, J.y + J.h + 44, cw, ch);
    above(R, "which word reaches which output");
    return { blocks, texts, lanes, width, height: Math.max(top + tall, first + H * step) + 6 };
  }
  const [width, thin, ch] = [360, 4, 11];
  const X = put("X", 140, 20, 10, ch);
  above(X, "X");
  let y = X.y + X.h + 36;
  ["q", "k", "v"].forEach((name, n) => project(name, 12 + n * 124, y, 11, ch, thin));
  y = blocks.Q.y + blocks.Q.h + 46;
  const gap = 7;
  const cw = Math.min(10, (width - 16 - 5 * gap) / cells);
  const across = cells * cw + 5 * gap;
  const laneCell = H > 4 ? 8 : 11;
  for (let h = 0; h < H; h++)
    lane(h, (width - across) / 2, y + h * (T * laneCell + 29), cw, laneCell, gap, across);
  titles(y - 1);
  y += H * (T * laneCell + 29) + 34;
  const J = put("J", 12, y + D * thin + 4, 10, ch);
  above(J, "joined");
  project("o", 122, y, 10, ch, thin);
  const R = put("R", 122, J.y + J.h + 30, 10, ch);
  above(R, "which word reaches which output");
  return { blocks, texts, lanes, width, height: R.y + R.h + 8 };
}

// What a number is made of: the groups of cells it comes from, the sum with its numbers, and a
// sentence. `shown` is what the figure shows at the moment.
function makeOf([name, r, c], shown) {
  const { found, how, T, D, size, word, slot, given, ids } = shown;
  const [kind, h] = [name[0], Number(name.slice(1))];
  const value = found[name].row(r)[c];
  const number = ([one, row, column]) => found[one].row(row)[column];
  const rowOf = (one, row) => Array.from({ length: found[one].columns }, (_, k) => [one, row, k]);
  const columnOf = (one, column) =>
    Array.from({ length: found[one].rows }, (_, k) => [one, k, column]);
  const factor = (n) => (n < 0 ? `(${two(n)})` : two(n));
  const product = (left, right) => ({
    groups: [left, right],
    sum: left.map((one, n) => `${two(number(one))}·${factor(number(right[n]))}`).join(" + "),
  });
  const head = `Head ${h}`;
  switch (kind) {
    case "X": {
      const [own, at] = [given.vectors[ids[r]][c], given.places[r][c]];
      const says = `Number ${c} of ${word(r)}: what was learnt for the word, and for its place.`;
      return { groups: [], sum: `${two(own)} (word) + ${two(at)} (place ${r})`, says };
    }
    case "W": {
      const [from, to] = { q: ["X", "Q"], k: ["X", "K"], v: ["X", "V"], o: ["J", "O"] }[name[1]];
      const says = `A learnt weight: how much column ${r} of ${from === "J" ? "the joined heads" : from} counts in column ${c} of ${to === "O" ? "the output" : to}, whatever the word.`;
      return { groups: [columnOf(from, r), columnOf(to, c)], sum: "", says, isWeight: true };
    }
    case "Q":
    case "K":
    case "V": {
      const called = { Q: "query", K: "key", V: "value" }[kind];
      const says = `Column ${c} of the ${called} of ${word(r)}: its row of X times a column of W^${kind}.`;
      return { ...product(rowOf("X", r), columnOf(`W${kind.toLowerCase()}`, c)), says };
    }
    case "q":
    case "k":
    case "v": {
      const whole = kind.toUpperCase();
      const [row, column] = cutFrom(h, r, c, { T, D, size, forget: how.forget });
      const says =
        how.forget.split && shown.H > 1
          ? `${head}, row ${r}: without the transpose it is a piece of ${word(row)}, columns ${column - c} to ${column - c + size - 1}.`
          : `${head} takes columns ${h * size} to ${h * size + size - 1} of ${whole}. Cutting computes nothing.`;
      return { groups: [[[whole, row, column]]], sum: `${whole}[${row}, ${column}]`, says };
    }
    case "D": {
      const says = `${head}: the query of ${slot(r)} times the key of ${slot(c)}.`;
      return { ...product(rowOf(`q${h}`, r), rowOf(`k${h}`, c)), says };
    }
    case "S": {
      const dot = two(found[`D${h}`].row(r)[c]);
      const groups = [[[`D${h}`, r, c]]];
      if (value === -Infinity) {
        const why = ids[c] < given.words.length ? `comes after ${slot(r)}` : "is padding";
        const says = `${head}: ${slot(c)} ${why}, so the mask puts −∞ here.`;
        return { groups, sum: `−∞ instead of ${dot}`, says, isMasked: true };
      }
      if (how.forget.root) return { groups, sum: dot, says: `${head}: the root is forgotten.` };
      const says = `${head}: divided by √D_head = √${size}, so that scores stay moderate.`;
      return { groups, sum: `${dot} / ${two(size ** 0.5)}`, says };
    }
    case "A": {
      const along = how.forget.axis ? columnOf(`S${h}`, c) : rowOf(`S${h}`, r);
      const own = number([`S${h}`, r, c]);
      const powers = along.map(number).filter(Number.isFinite);
      const total = powers.reduce((sum, score) => sum + Math.exp(score), 0);
      const says = how.forget.axis
        ? `${head}: divided by the sum of its column, so the weights of ${slot(r)} add up to ${two(found[name].row(r).reduce((a, b) => a + b, 0))} and not to 1.`
        : `${head}: ${slot(r)} takes ${Math.round(100 * value)} % of what it reads from ${slot(c)}.`;
      const sum = `exp(${own === -Infinity ? "−∞" : two(own)}) / ${two(total)}`;
      return { groups: [along], sum, says };
    }
    case "M": {
      const says = `${head}: the values, column ${c}, each times its weight for ${slot(r)}.`;
      return { ...product(rowOf(`A${h}`, r), columnOf(`v${h}`, c)), says };
    }
    case "J": {
      const [from, row, column] = joinedFrom(r, c, { T, D, size, forget: how.forget });
      const wrong = how.forget.join && row !== r ? `, not of ${word(r)}` : "";
      const says = `Column ${c} for ${word(r)} is column ${column} of head ${from}, of ${slot(row)}${wrong}. Joining computes nothing.`;
      return {
        groups: [[[`M${from}`, row, column]]],
        sum: `head ${from}[${row}, ${column}]`,
        says,
      };
    }
    default: {
      const says = `Column ${c} of the output for ${word(r)}: the joined heads times a column of W^O.`;
      return { ...product(rowOf("J", r), columnOf("Wo", c)), says };
    }
  }
}

// The figure: a sentence and switches above, the flow, what is said of it, and the code.
function layer(stage, kept) {
  const given = unpack(kept);
  const [D, most] = [given.places[0].length, given.places.length - 1];
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const how = { numHeads: 2, causal: false, padding: false, forget: {} };
  let words = given.sentences[0].split(" ");
  let follow = 3; // the word that Play follows
  let [pinned, hovered, line, step, timer] = [null, null, -1, -1, 0];
  let shown, parts, flow, isNarrow;
  let lit = [];
  stage.classList.add("full-width");

  // Controls.
  const row = (name = "") => {
    const made = make("div", { className: "buttons" });
    if (name) made.append(make("span", { textContent: name }));
    stage.append(made);
    return made;
  };
  const button = (parent, textContent, onclick, isSwitch = true) => {
    const made = make("button", { type: "button", textContent, onclick });
    if (isSwitch) set(made, { "aria-pressed": false });
    parent.append(made);
    return made;
  };
  const asks = row();
  const field = make("input", { type: "text", maxLength: 80, spellcheck: false, oninput: read });
  set(field, { autocomplete: "off", autocapitalize: "none" });
  asks.append(
    make("label", { className: "ask" }, make("span", { textContent: "Sentence" }), field),
  );
  let example = 0;
  button(
    asks,
    "another",
    () => {
      field.value = given.sentences[++example % given.sentences.length];
      read();
    },
    false,
  );
  const heard = set(make("p", { className: "heard" }), { role: "status" });
  stage.append(heard);
  const switches = row("Heads");
  const counts = [1, 2, 4, 8].map((n) =>
    button(switches, `${n}`, () => (how.numHeads = n) && renew()),
  );
  counts.forEach((one, n) => set(one, { "aria-label": n ? `${2 ** n} heads` : "1 head" }));
  const hides = row("Mask");
  const masks = ["causal", "padding"].map((name) =>
    button(hides, name, () => {
      how[name] = !how[name];
      renew();
    }),
  );
  const forgets = row("Forget");
  forgets.classList.add("forget");
  const FORGET = {
    root: "root",
    mask: "mask",
    split: "split’s transpose",
    join: "join’s transpose",
    axis: "softmax’s axis",
  };
  const forgotten = Object.entries(FORGET).map(([name, text]) =>
    button(forgets, text, () => {
      how.forget[name] = !how.forget[name];
      [pinned, step] = [null, -1];
      stop();
      renew();
    }),
  );
  const wrong = set(make("p", { className: "wrong" }), { role: "status" });
  const [says, sum] = [make("p"), make("p", { className: "sum" })];
  const plays = make("div", { className: "plays" });
  const told = set(make("div", {}, says, sum), { role: "status" });
  const panel = make("div", { className: "panel" }, plays, told);
  const picture = draw(make("div", { className: "flow" }), "svg", { tabindex: 0 });
  set(picture, { role: "application" });
  set(picture, { "aria-label": "The layer. Arrow keys go from number to number; Escape leaves." });
  const lines = set(make("ol", { className: "code" }), { role: "listbox" });
  set(lines, { "aria-label": "The class, line by line", "aria-multiselectable": true });
  stage.append(wrong, panel, picture.parentElement, lines);

  const back = button(plays, "←", () => go(step - 1), false);
  set(back, { "aria-label": "Step back" });
  const play = button(plays, "Play", () => (timer ? stop() : start()), false);
  const ahead = button(plays, "→", () => go(step + 1), false);
  set(ahead, { "aria-label": "Step ahead" });
  play.hidden = isStill;
  const chosen = make("select", { onchange: () => choose(chosen.selectedIndex) });
  const count = make("span", { className: "count" });
  plays.append(make("label", {}, make("span", { textContent: "follow" }), chosen), count);
  plays.addEventListener("keydown", ({ key, target }) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by && target !== chosen) go(step + by);
  });

  // The list of words, and the numbers as a table.
  const list = make("p");
  for (const [kind, own] of Object.entries(given.byKind))
    list.append(make("b", { textContent: `${kind} ` }), `${own.replaceAll(" ", ", ")}. `);
  const folded = (name, ...children) => {
    const fold = make("details", {}, make("summary", { textContent: name }), ...children);
    stage.append(fold);
    return fold;
  };
  folded(`The ${given.words.length} words`, list);
  const which = make("select", { onchange: tabulate });
  const tableAt = make("div", { className: "numbers", tabIndex: 0 });
  set(tableAt, { role: "region", "aria-label": "A matrix as a table" });
  const numbers = folded(
    "The numbers as a table",
    make("label", {}, make("span", { textContent: "matrix" }), which),
    tableAt,
  );
  numbers.addEventListener("toggle", tabulate);

  // What the reader asks for.
  function read() {
    const typed = field.value.toLowerCase().match(/[\p{L}\p{N}'’-]+/gu) ?? [];
    const known = typed.filter((word) => given.words.includes(word));
    const unknown = typed.filter((word) => !given.words.includes(word));
    const told = [];
    if (unknown.length)
      told.push(`Not among the ${given.words.length} words: ${unknown.slice(0, 4).join(", ")}.`);
    if (known.length > most) told.push(`Only the first ${most} words are read.`);
    if (!known.length) told.push("Type a word that it knows.");
    heard.textContent = told.join(" ");
    if (!known.length) return;
    words = known.slice(0, most);
    renew();
  }
  function choose(t) {
    follow = t;
    if (step < 0) go(0);
    else rest();
  }

  // Compute everything anew, draw it anew.
  function renew() {
    const pad = given.words.length;
    const ids = words.map((word) => given.words.indexOf(word));
    if (how.padding) while (ids.length < most || ids.length === words.length) ids.push(pad);
    const [T, H] = [ids.length, how.numHeads];
    const names = ids.map((id) => given.words[id] ?? "[PAD]");
    const word = (t) =>
      `“${names[t]}”${names.indexOf(names[t]) === names.lastIndexOf(names[t]) ? "" : ` (word ${t})`}`;
    const slot = (t) => (how.forget.split && H > 1 ? `row ${t}` : word(t));
    const found = openLayer(given, ids, how);
    const changed = changedWords(given, ids, how);
    found.R = Matrix.from(
      ids.map((_, t) => changed.map((other) => Number(differs(found.O, other.O, t)))),
    );
    const leaks = [];
    if (how.causal)
      for (let t = 0; t < T; t++)
        for (let s = t + 1; s < T; s++) if (found.R.row(t)[s]) leaks.push([t, s]);
    const sizes = { T, D, H, size: D / H };
    shown = { given, ids, names, how, found, changed, leaks, word, slot, ...sizes };
    follow = Math.min(follow, words.length - 1);
    if (pinned && !(found[pinned[0]]?.rows > pinned[1] && found[pinned[0]].columns > pinned[2]))
      pinned = null;
    hovered = null;
    line = -1;
    counts.forEach((one, n) => set(one, { "aria-pressed": 2 ** n === H }));
    masks.forEach((one, n) => set(one, { "aria-pressed": how[["causal", "padding"][n]] }));
    Object.keys(FORGET).forEach((name, n) =>
      set(forgotten[n], { "aria-pressed": Boolean(how.forget[name]) }),
    );
    chosen.replaceChildren(...words.map((textContent) => make("option", { textContent })));
    which.replaceChildren(
      ...Object.keys(found).map((name) =>
        make("option", { value: name, textContent: called(name) }),
      ),
    );
    chosen.selectedIndex = follow;
    const told = Object.keys(FORGET).filter((name) => how.forget[name]);
    wrong.replaceChildren(...told.map((name) => make("span", { textContent: whatIsWrong(name) })));
    paint();
    code();
    tabulate();
    rest();
  }

  const called = (name) => {
    const kinds = { D: "q·k", S: "scores", A: "softmax", M: "mix" };
    const wholes = { J: "joined", O: "output", R: "which word reaches which output" };
    if (name[0] === "W") return `W ${name[1].toUpperCase()}`;
    if (name.length === 1) return wholes[name] ?? name;
    return `head ${name.slice(1)}: ${kinds[name[0]] ?? name[0]}`;
  };

  // One sentence for what is forgotten, with a number that says how wrong it is.
  function whatIsWrong(name) {
    const { found, T, H, size, leaks, word, ids } = shown;
    const total = (row) => row.reduce((a, b) => a + b, 0);
    const ofWords = (measure, all = found) =>
      perHead("A").flatMap((name) => words.map((_, t) => measure(all[name].row(t))));
    const isAlone = H === 1 || T === 1;
    const leak = leaks.length
      ? ` The future leaks: ${leaks.length} time${leaks.length > 1 ? "s" : ""} a later word changes an earlier output.`
      : how.causal
        ? ""
        : " Switch on the causal mask, and see whether the future leaks.";
    const isPadded = ids.includes(given.words.length);
    switch (name) {
      case "root": {
        if (size === 1) return "With one number in a head the root is √1: nothing changes.";
        const right = openLayer(given, ids, { ...how, forget: { ...how.forget, root: false } });
        const [now, before] = [found, right].map((all) => {
          const tops = ofWords((row) => Math.max(...row), all);
          return two(total(tops) / tops.length);
        });
        return `Without the root the scores are ${Number((size ** 0.5).toFixed(2))} times as large: the largest weight of a row is ${now} on average, and was ${before}. A softmax so sure has hardly a gradient, and learns slowly.`;
      }
      case "mask": {
        if (!how.causal && !isPadded)
          return "There is no mask to forget: switch on the causal mask, or padding.";
        if (!isPadded) return `Without the mask every word sees the words after it.${leak}`;
        const onPadding = ofWords((row) => total(row.slice(words.length)));
        return `Without the mask padding is read: a word puts up to ${two(Math.max(...onPadding))} of its weight on it.${how.causal ? leak : ""}`;
      }
      case "split":
        if (isAlone) return "With one head, or one word, there is nothing to swap.";
        return `Same shape, wrong numbers: head 0 gets all columns of the first ${T / H} words, not ${size} columns of every word. Its rows are no longer words, so that a mask hides the wrong ones.${leak}`;
      case "join":
        if (isAlone) return "With one head, or one word, there is nothing to swap.";
        return `Same shape, wrong numbers: the row of ${word(0)} is filled with what head 0 found for the first ${Math.min(H, T)} words.${leak}`;
      default: {
        const sum = two(total(found.A0.row(follow)));
        const empty =
          isPadded && !how.forget.mask
            ? " Padding’s columns hold no number, and PyTorch makes nan of them; here they are 0."
            : "";
        return `Columns add up to 1, not rows: the weights of ${word(follow)} add up to ${sum} in head 0.${empty}${leak}`;
      }
    }
  }

  // Draw the flow.
  function paint() {
    const { found, T, H, D, size, names } = shown;
    parts = place(found, shown, isNarrow);
    const { blocks, texts, lanes } = parts;
    picture.replaceChildren();
    set(picture, { viewBox: `0 0 ${parts.width} ${Math.ceil(parts.height)}` });
    for (const { x, y, w, h, head } of lanes) {
      const style = `fill:color-mix(in srgb,${hue(head)} 12%,transparent)`;
      draw(picture, "rect", { x, y, width: w, height: h, rx: 6, style });
      const meaning = H === given.heads.length && !how.forget.split ? `: ${given.heads[head]}` : "";
      rich(
        draw(picture, "text", { x: x + 6, y: y + 12, class: "small" }),
        `head ${head}${meaning}`,
      );
    }
    const band = (from, to, part, colour) => {
      const [a, b] = isNarrow
        ? [from.x + from.w * part[0], from.x + from.w * part[1]]
        : [from.y, from.y + from.h];
      const d = isNarrow
        ? `M${a} ${from.y + from.h + 2}L${b} ${from.y + from.h + 2}L${to.x + to.w} ${to.y - 2}L${to.x} ${to.y - 2}Z`
        : `M${from.x + from.w + 2} ${a}L${from.x + from.w + 2} ${b}L${to.x - 2} ${to.y + to.h}L${to.x - 2} ${to.y}Z`;
      draw(picture, "path", { d, style: `fill:${colour};fill-opacity:.1` });
    };
    for (const name of "QKV") {
      band(blocks.X, isNarrow ? blocks[`W${name.toLowerCase()}`] : blocks[name], [0, 1], NOTE);
      for (let h = 0; h < H; h++)
        band(blocks[name], blocks[name.toLowerCase() + h], [h / H, (h + 1) / H], hue(h));
    }
    for (let h = 0; h < H && !isNarrow; h++) band(blocks[`M${h}`], blocks.J, [0, 1], hue(h));
    for (const { text, ...at } of texts)
      rich(draw(picture, "text", { ...at, "text-anchor": "middle" }), text);
    flow = new Map();
    const headOf = headsOfCells();
    for (const block of Object.values(blocks)) {
      const { name, x, y, cw, ch, rows, columns } = block;
      const finite = [...found[name].data].filter(Number.isFinite).map(Math.abs);
      const largest = { A: 1, R: 2 }[name[0]] ?? Math.max(...finite, 1e-9);
      for (let r = 0; r < rows; r++)
        for (let c = 0; c < columns; c++) {
          const value = found[name].row(r)[c];
          const share = Number.isFinite(value) ? Math.abs(value) / largest : 0;
          const isLeak = name === "R" && how.causal && c > r && value > 0;
          const colour = isLeak ? "var(--fig-1)" : value < 0 ? NOTE : hue(headOf(name, r, c));
          const [width, height] = [cw - 1, ch - 1];
          const cell = draw(picture, "rect", {
            x: x + c * cw + 0.5,
            y: y + r * ch + 0.5,
            width,
            height,
            rx: value < 0 ? Math.min(width, height) / 2 : 1,
            class: `cell${value === -Infinity ? " masked" : ""}${name === "R" ? " map" : ""}`,
            style: `fill:color-mix(in srgb,${colour} ${isLeak ? 100 : Math.round(100 * share ** 0.8)}%,var(--none))`,
          });
          flow.set(`${name},${r},${c}`, cell);
          const middle = { x: x + (c + 0.5) * cw, y: y + (r + 1) * ch - 2 };
          if (isLeak) draw(picture, "text", { ...middle, class: "mark" }, "!");
        }
    }
    const { X, O, R } = blocks;
    const asTrained = answers(given, openLayer(given, shown.ids, { numHeads: 2 }).O);
    const told = answers(given, found.O);
    const beside = ({ x, y, w, ch }, t, isLeft) =>
      isLeft
        ? { x: x - 6, y: y + (t + 1) * ch - 2, "text-anchor": "end" }
        : { x: x + w + 8, y: y + (t + 1) * ch - 2 };
    draw(picture, "text", { ...beside(O, -1), class: "small" }, "word before · its noun");
    names.forEach((name, t) => {
      draw(picture, "text", { ...beside(X, t, true), class: "word", "data-word": t }, name);
      draw(picture, "text", { ...beside(R, t, true), class: "small" }, name);
      if (t >= words.length) return;
      const texts = told.map((all, n) => (n || t ? all[t] : "–")); // the first has none before it
      const isSame = texts.every((text, n) => text === "–" || text === asTrained[n][t]);
      const kind = isSame ? "answer" : "answer wrong";
      const said = texts.join(" · ") + (isSame ? "" : " ✗");
      draw(picture, "text", { ...beside(O, t), class: kind }, said);
    });
    draw(picture, "g", { class: "links" });
  }
  const NOTE = "var(--fig-note)";
  const HUES = ["0", "1", "2", "3", "4", "5", "neutral", "ink"];
  const hue = (head) => (head === null ? "var(--fig-heat)" : `var(--fig-${HUES[head]})`);

  // Which head a cell belongs to, or null.
  function headsOfCells() {
    const { T, H, D, size } = shown;
    const sizes = { T, D, size, forget: how.forget };
    const own = new Map();
    for (let h = 0; h < H; h++)
      for (let i = 0; i < T; i++)
        for (let d = 0; d < size; d++) own.set(cutFrom(h, i, d, sizes).join(), h);
    return (name, r, c) => {
      if ("QKV".includes(name)) return own.get(`${r},${c}`);
      if (name === "J") return joinedFrom(r, c, sizes)[0];
      if (name[0] === "W" && name !== "Wo") return how.forget.split ? null : Math.floor(c / size);
      if (name === "Wo") return how.forget.join ? null : Math.floor(r / size);
      return name.length > 1 ? Number(name.slice(1)) : null;
    };
  }

  // A letter after ^ stands above the line.
  function rich(parent, text) {
    const isPicture = parent instanceof SVGElement;
    const pieces = text.split(/\^([QKVO])/);
    pieces.forEach((piece, n) => {
      if (n % 2 === 0) return parent.append(piece);
      if (!isPicture) return parent.append(make("sup", { textContent: piece }));
      draw(parent, "tspan", { dy: -4, "font-size": "0.75em" }, piece);
      draw(parent, "tspan", { dy: 4 }, "\u200b");
    });
    return parent;
  }

  // The code: what is forgotten is struck out, and what stands in its place comes after it.
  function code() {
    const off = (flag) =>
      flag === "mask" ? how.forget.mask || (!how.causal && !how.padding) : how.forget[flag];
    lines.replaceChildren();
    CODE.forEach(([text, stages, flag, instead], n) => {
      const isOff = flag && off(flag);
      const item = set(make("li", { tabIndex: n ? -1 : 0 }), {
        role: "option",
        "aria-selected": false,
      });
      item.append(make(isOff ? "s" : "span", { textContent: text }));
      if (isOff && instead) item.append(make("b", { textContent: `\n${instead}` }));
      item.dataset.stages = stages;
      item.addEventListener("pointerenter", () => look(n));
      item.addEventListener("focus", () => item.matches(":focus-visible") && look(n));
      item.addEventListener("click", () => look(n));
      lines.append(item);
    });
  }
  function look(n) {
    if (timer) return;
    line = n;
    hovered = null;
    rest();
  }
  lines.addEventListener("pointerleave", () => look(-1));
  lines.addEventListener("focusout", () => look(-1));
  lines.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const all = [...lines.children];
    const next = by && all[all.indexOf(document.activeElement) + by];
    if (!by) return;
    event.preventDefault();
    if (!next) return;
    all.forEach((one) => (one.tabIndex = one === next ? 0 : -1));
    next.focus();
  });

  const all = (name) => {
    const { rows, columns } = shown.found[name];
    return Array.from({ length: rows * columns }, (_, i) => [
      name,
      Math.floor(i / columns),
      i % columns,
    ]);
  };
  const rowOf = (name, r) => all(name).filter((cell) => cell[1] === r);
  const perHead = (kind) => Array.from({ length: shown.H }, (_, h) => `${kind}${h}`);
  const STAGES = {
    X: () => [["X"], "The input: one row for each word, its vector plus that of its place."],
    Q: () => [["Wq", "Q"], "Queries: what each word looks for."],
    K: () => [["Wk", "K"], "Keys: what each word is found by."],
    V: () => [["Wv", "V"], "Values: what each word hands over when it is found."],
    split: () => [
      ["q", "k", "v"].flatMap(perHead),
      `The ${D} columns are cut into ${shown.H} heads of ${shown.size}: (T, ${D}) becomes (${shown.H}, T, ${shown.size}).`,
    ],
    dots: () => [perHead("D"), "Each query times each key, in each head by itself."],
    root: () => [perHead("S"), `Divided by √D_head = √${shown.size}.`],
    mask: () => [
      perHead("S"),
      "The mask: −∞ where a word may not look.",
      ([name, r, c]) => shown.found[name].row(r)[c] === -Infinity,
    ],
    softmax: () => [
      perHead("A"),
      how.forget.axis
        ? "Softmax over the wrong axis: each column adds up to 1."
        : "Softmax: each row of scores becomes weights that add up to 1.",
    ],
    mix: () => [perHead("M"), "Mix: the values of all words, each times its weight."],
    join: () => [
      ["J"],
      `The heads side by side again: (${shown.H}, T, ${shown.size}) becomes (T, ${D}).`,
    ],
    out: () => [["Wo", "O"], "W^O mixes what the heads have found."],
  };

  // Light up cells: those that a number is made of, itself, the lines of code.
  function show({ on = [], from = [], at = null, stages = [], links = [], kind = "" }) {
    for (const cell of lit) cell.classList.remove("on", "from", "at", "path");
    const find = (cell) => flow.get(cell.join());
    lit = [...on, ...from, ...(at ? [at] : [])].map(find);
    picture.classList.toggle("dim", lit.length > 0);
    for (const cell of lit) cell.classList.add("on");
    for (const cell of from) find(cell).classList.add("from", ...(kind ? [kind] : []));
    if (at) find(at).classList.add("at");
    const group = picture.querySelector(".links");
    group.replaceChildren();
    for (const [one, other] of links) {
      const [a, b] = [one, other].map(bounds);
      const down = b.y > a.y + a.h || b.x < a.x + a.w;
      const [x1, y1] = down
        ? [a.x + a.w / 2, b.y > a.y ? a.y + a.h : a.y]
        : [a.x + a.w, a.y + a.h / 2];
      const [x2, y2] = down ? [b.x + b.w / 2, b.y > a.y ? b.y : b.y + b.h] : [b.x, b.y + b.h / 2];
      const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
      const d = down
        ? `M${x1} ${y1}C${x1} ${my} ${x2} ${my} ${x2} ${y2}`
        : `M${x1} ${y1}C${mx} ${y1} ${mx} ${y2} ${x2} ${y2}`;
      draw(group, "path", { d, class: kind });
    }
    [...lines.children].forEach((item) => {
      const isMarked = item.dataset.stages.split(" ").some((stage) => stages.includes(stage));
      item.classList.toggle("marked", isMarked);
      set(item, { "aria-selected": isMarked });
    });
  }
  function bounds(cells) {
    const boxes = cells.map(([name, r, c]) => {
      const { x, y, cw, ch } = parts.blocks[name];
      return [x + c * cw, y + r * ch, x + (c + 1) * cw, y + (r + 1) * ch];
    });
    const [x, y] = [0, 1].map((n) => Math.min(...boxes.map((box) => box[n])));
    const [right, bottom] = [2, 3].map((n) => Math.max(...boxes.map((box) => box[n])));
    return { x, y, w: right - x, h: bottom - y };
  }
  function say(sentence, made = "") {
    says.replaceChildren();
    rich(says, sentence);
    sum.textContent = made;
  }

  // What is shown: the cell that is pointed at, a line of code, a step, or nothing.
  function rest() {
    chosen.selectedIndex = follow;
    for (const label of picture.querySelectorAll("[data-word]"))
      label.classList.toggle("followed", Number(label.dataset.word) === follow && step >= 0);
    count.textContent = step < 0 ? "" : `${step + 1} of ${STEPS.length}`;
    if (line >= 0) return showStages(CODE[line][1].split(" ").filter(Boolean));
    const cell = hovered ?? pinned;
    if (cell) return showCell(cell);
    if (step >= 0) return showStep();
    if (shown.leaks.length) return showReach(shown.leaks[0]);
    show({});
    const meaning = given.heads.map((text, h) => `head ${h} looks for ${text}`).join(", ");
    const trained =
      shown.H === given.heads.length
        ? `Two heads were trained: ${meaning}. Beside the output: what it tells of both.`
        : `It was trained with two heads; with ${shown.H}, the same numbers look elsewhere.`;
    const key = "Squares are positive, grey circles negative, pale is near zero.";
    say(`Point at a number, and see what it is made of. ${key} ${trained}`);
  }
  function showStages(stages) {
    if (!stages.length) return;
    const found = stages.map((name) => STAGES[name]());
    const on = found.flatMap(([names, , only]) => names.flatMap(all).filter(only ?? (() => true)));
    show({ on, stages });
    say(found.map(([, sentence]) => sentence).join(" "));
  }
  function showCell(at) {
    const [name, r, c] = at;
    if (name === "R") return showReach([r, c], at);
    const { groups, sum: made, says: sentence, isMasked } = makeOf(at, shown);
    const stages = isMasked ? ["mask"] : [stageOf(name)];
    if (stages[0] === "split") stages.push(name[0].toUpperCase());
    if (stages[0] === "join") stages.push("out");
    show({ from: groups.flat(), at, stages, links: groups.map((group) => [group, [at]]) });
    const value = shown.found[name].row(r)[c];
    const is = value === -Infinity ? "" : two(value);
    say(sentence, made ? `${[is, made].filter(Boolean).join(" = ")}` : is);
  }

  // How a word reaches an output: what it changes of all that the output is made of.
  function showReach([t, s], at = null) {
    const { found, changed, word } = shown;
    const path = [];
    const seen = new Set();
    const visit = (cell) => {
      const [name, r, c] = cell;
      if (seen.has(cell.join()) || name[0] === "W") return;
      seen.add(cell.join());
      if (changed[s][name].row(r)[c] !== found[name].row(r)[c]) path.push(cell);
      makeOf(cell, shown).groups.flat().forEach(visit);
    };
    rowOf("O", t).forEach(visit);
    const isLater = s > t && how.causal;
    const kind = isLater ? "path" : "";
    const most = Math.max(
      ...rowOf("O", t).map(([, , c]) => Math.abs(changed[s].O.row(t)[c] - found.O.row(t)[c])),
    );
    const links = path.length ? [[rowOf("X", s), rowOf("O", t)]] : [];
    show({
      from: path,
      at,
      links,
      kind,
      stages:
        isLater && path.length
          ? [
              "mask",
              ...["split", "join"].filter((name) => how.forget[name]),
              ...(how.forget.axis ? ["softmax"] : []),
            ]
          : [],
    });
    if (!path.length)
      return say(`Change ${word(s)}: the output of ${word(t)} stays exactly as it is.`);
    const leak = how.forget.mask
      ? "the mask is forgotten, and nothing keeps the future out."
      : "the mask is there, and the future leaks in all the same.";
    const tail = isLater ? ` It comes later: ${leak}` : "";
    say(
      `Change ${word(s)}, and the output of ${word(t)} changes by up to ${two(most)}: these are the numbers in between.${tail}`,
    );
  }

  // Play: a dozen steps of one word.
  const STEPS = [
    (w) => [
      rowOf("X", w),
      "X",
      `${shown.word(w)} comes in as ${D} numbers: its word’s and its place’s, added.`,
    ],
    (w) => [
      [...rowOf("X", w), ...all("Wq"), ...rowOf("Q", w)],
      "Q",
      `Its row times W^Q is its query: what it looks for.`,
    ],
    () => [
      [...all("X"), ...all("Wk"), ...all("Wv"), ...all("K"), ...all("V")],
      "K V",
      `Every word, and this one too, gets a key to be found by and a value to hand over.`,
    ],
    (w) => [
      ["q", "k", "v"]
        .flatMap(perHead)
        .flatMap((name) => (name[0] === "q" ? rowOf(name, w) : all(name))),
      "split",
      STAGES.split()[1],
    ],
    (w) => [
      perHead("D").flatMap((name) => rowOf(name, w)),
      "dots",
      `In each head its query meets every key: one number for each word.`,
    ],
    (w) => [
      perHead("S").flatMap((name) => rowOf(name, w)),
      how.forget.root ? "" : "root",
      how.forget.root
        ? "The root is forgotten: the scores stay as large as they are."
        : `Divided by √${shown.size} they become scores, of a size that does not grow with the head.`,
    ],
    (w) => [perHead("S").flatMap((name) => rowOf(name, w)), "mask", hidden(w)],
    (w) => [perHead("A").flatMap((name) => rowOf(name, w)), "softmax", looks(w)],
    (w) => [
      [
        ...perHead("A").flatMap((name) => rowOf(name, w)),
        ...perHead("v").flatMap(all),
        ...perHead("M").flatMap((name) => rowOf(name, w)),
      ],
      "mix",
      `Each head mixes the values by these weights: ${shown.size} numbers from each.`,
    ],
    (w) => [
      [...perHead("M").flatMap((name) => rowOf(name, w)), ...rowOf("J", w)],
      "join",
      how.forget.join
        ? "Without the transpose its row is filled with pieces of other words."
        : `The pieces stand side by side again: ${D} numbers.`,
    ],
    (w) => [
      [...rowOf("J", w), ...all("Wo"), ...rowOf("O", w)],
      "out",
      `W^O mixes the heads: the new row of ${shown.word(w)}, which now knows of the words it looked at.`,
    ],
    (w) => [rowOf("O", w), "", read2(w)],
  ];
  const hidden = (w) => {
    const count = [...shown.found.S0.row(w)].filter((score) => score === -Infinity).length;
    if (how.forget.mask && (how.causal || how.padding))
      return "The mask is forgotten: nothing is hidden.";
    if (!count)
      return `No mask hides anything from ${shown.word(w)}${how.causal ? "" : ": it may look at every word"}.`;
    return `The mask hides ${count} of them: −∞, which becomes a weight of 0.`;
  };
  const looks = (w) => {
    const told = perHead("A")
      .slice(0, 2)
      .map((name, h) => {
        const weights = [...shown.found[name].row(w)];
        const best = weights.indexOf(Math.max(...weights));
        return `head ${h} looks most at ${shown.slot(best)}, ${two(weights[best])}`;
      });
    return `Softmax makes weights of the scores: ${told.join("; ")}.`;
  };
  const read2 = (w) => {
    const [before, noun] = answers(given, shown.found.O).map((kinds) => kinds[w]);
    const of = w ? `the word before is of the kind “${before}”, and ` : "";
    return `From this row two linear maps read what it has seen: ${of}its noun is of the kind “${noun}”.`;
  };
  function showStep() {
    const [on, stages, sentence] = STEPS[step](follow);
    show({ on, stages: stages.split(" ") });
    say(sentence);
  }
  function go(to) {
    [pinned, hovered, line] = [null, null, -1];
    step = clamp(to, 0, STEPS.length - 1);
    rest();
  }
  function start() {
    go(step === STEPS.length - 1 ? 0 : step + 1);
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (step === STEPS.length - 1 || !picture.isConnected) stop();
      else go(step + 1);
    }, 4000);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  // Pointing, by mouse, finger and keyboard.
  function cellAt(event) {
    const at = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = at.matrixTransform(picture.getScreenCTM().inverse());
    const slack = event.pointerType === "touch" ? 10 : 1;
    let [best, least] = [null, slack];
    for (const { name, x: left, y: top, cw, ch, w, h, rows, columns } of Object.values(
      parts.blocks,
    )) {
      const far = Math.max(left - x, x - left - w, top - y, y - top - h, 0);
      if (far >= least) continue;
      const [r, c] = [Math.floor((y - top) / ch), Math.floor((x - left) / cw)];
      [best, least] = [[name, clamp(r, 0, rows - 1), clamp(c, 0, columns - 1)], far || -1];
    }
    return best;
  }
  picture.addEventListener("pointermove", (event) => {
    if (timer) return;
    const cell = cellAt(event);
    if (String(cell) === String(hovered)) return;
    if (event.pointerType === "touch") pinned = cell ?? pinned;
    else hovered = cell;
    rest();
  });
  picture.addEventListener("pointerleave", () => {
    hovered = null;
    if (!timer) rest();
  });
  let before = null; // what was kept before a finger or the mouse came down
  picture.addEventListener("pointerdown", () => (before = String(pinned)));
  picture.addEventListener("click", (event) => {
    stop();
    const label = event.target.closest("[data-word]");
    if (label && Number(label.dataset.word) < words.length)
      return choose(Number(label.dataset.word));
    const cell = cellAt(event);
    pinned = String(cell) === before ? null : cell;
    [step, hovered] = [-1, null];
    rest();
  });
  picture.addEventListener("focus", () => {
    if (pinned || !picture.matches(":focus-visible")) return;
    pinned = ["X", 0, 0];
    rest();
  });
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
      event.key
    ];
    if (event.key === "Escape") {
      [pinned, step] = [null, -1];
      return rest();
    }
    if (!by) return;
    event.preventDefault();
    stop();
    [step, hovered] = [-1, null];
    pinned = next(pinned ?? ["X", 0, 0], by);
    rest();
  });
  // The next cell in a direction: of the same matrix, or of the nearest one there.
  function next([name, r, c], [down, right]) {
    const { x, y, cw, ch, rows, columns } = parts.blocks[name];
    const [row, column] = [r + down, c + right];
    if (row >= 0 && column >= 0 && row < rows && column < columns) return [name, row, column];
    const [px, py] = [x + (c + 0.5) * cw, y + (r + 0.5) * ch];
    let [best, least] = [[name, r, c], Infinity];
    for (const other of Object.values(parts.blocks)) {
      const qx = clamp(px, other.x + other.cw / 2, other.x + other.w - other.cw / 2);
      const qy = clamp(py, other.y + other.ch / 2, other.y + other.h - other.ch / 2);
      const along = (qx - px) * right + (qy - py) * down;
      const aside = Math.abs(right ? qy - py : qx - px);
      if (other.name === name || along < 3 || along + 2 * aside >= least) continue;
      least = along + 2 * aside;
      const place = [(qy - other.y) / other.ch, (qx - other.x) / other.cw].map(Math.floor);
      best = [other.name, ...place];
    }
    return best;
  }

  function tabulate() {
    if (!numbers.open) return;
    const name = which.value;
    const { columns, rows } = shown.found[name];
    const isOfKeys = "DSAR".includes(name[0]) && !how.forget.split;
    const heads = Array.from({ length: columns }, (_, c) => (isOfKeys ? shown.names[c] : `${c}`));
    const { whole, body } = table(called(name), ["", ...heads]);
    for (let r = 0; r < rows; r++) {
      const isWord = name[0] !== "W" && !(how.forget.split && /\d/.test(name));
      const head = make("th", { scope: "row", textContent: isWord ? shown.names[r] : `${r}` });
      const cells = [...shown.found[name].row(r)].map((value) =>
        make("td", { textContent: value === -Infinity ? "−∞" : two(value) }),
      );
      body.append(make("tr", {}, head, ...cells));
    }
    tableAt.replaceChildren(whole);
  }

  field.value = given.sentences[0];
  isNarrow = innerWidth < 700;
  renew();
  new ResizeObserver(([{ contentRect }]) => {
    if (!contentRect.width || isNarrow === contentRect.width < 640) return;
    isNarrow = !isNarrow;
    paint();
    rest();
  }).observe(stage);
}
