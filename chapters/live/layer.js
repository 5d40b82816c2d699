// The whole layer: every number in its place, what it is made of, and what a mistake makes of it.
//
// openLayer computes; CODE is the class beside it; place and makeOf say where a number stands and what
// it is made of. A matrix has a name: X, Wq, Wk, Wv, Q, K, V, then for each head h its q0, k0, v0, D0
// (dots), S0 (scores, with root and mask), A0 (weights), M0 (mix), then J (joined), Wo, O. A cell is
// [name, row, column].

const times = (n, give) => Array.from({ length: n }, (_, k) => give(k));

// MultiHeadAttention with all that lies between, and with mistakes: `fault` has true under "root",
// "mask", "split", "join" or "axis".
class OpenedLayer extends MultiHeadAttention {
  // By x.view(H, T, headDim) alone: the line of numbers is cut into H parts.
  splitHeads(x) {
    if (!this.fault.split) return super.splitHeads(x);
    const size = x.rows * this.headDim;
    const part = (h) => x.data.subarray(h * size, (h + 1) * size);
    return times(this.numHeads, (h) => new Matrix(x.rows, this.headDim, part(h)));
  }
  // By heads.reshape(T, D) alone: head after head in one line.
  joinHeads(heads) {
    if (!this.fault.join) return super.joinHeads(heads);
    const line = heads.flatMap(({ data }) => [...data]);
    return new Matrix(heads[0].rows, this.embedDim, line);
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
    const mask = this.fault.mask ? null : allowed;
    const mixes = cut[0].map((q, h) => {
      const [k, v] = [cut[1][h], cut[2][h]];
      const dots = linear(q, k); // Q K^T
      const scale = this.fault.root ? 1 : this.headDim ** -0.5;
      const scaled = dots.data.map((dot) => dot * scale);
      const scores = new Matrix(x.rows, x.rows, scaled);
      if (mask) mapMask(mask, (may, t, s) => may || (scores.row(t)[s] = -Infinity));
      const weights = this.fault.axis
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

const transposed = (x) => Matrix.from(times(x.columns, (c) => times(x.rows, (r) => x.row(r)[c])));

// The weights as they are kept, in hundredths, as numbers; the words with their kinds.
function unpack(given) {
  const hundredth = (_, x) => (typeof x === "number" ? x / 100 : x);
  const numbers = JSON.parse(JSON.stringify(given.hundredths), hundredth);
  const kinds = Object.keys(given.words);
  const words = kinds.flatMap((kind) => given.words[kind].split(" "));
  const kindOf = kinds.flatMap((kind) => given.words[kind].split(" ").map(() => kind));
  const others = Object.entries(given.like).flatMap(([own, all]) =>
    all.split(" ").map((one) => [one, words.indexOf(own)]),
  );
  const like = new Map([...others, ...words.map((word, n) => [word, n])]);
  return { ...given, ...numbers, kinds, words, kindOf, like };
}

// The number of the word that a word is read like: itself, one of the list, or a guess.
function likeness({ kinds, kindOf, like }, typed, t) {
  const [before, word, after] = [typed[t - 1], typed[t], typed[t + 1]];
  const isNoun = (one) => kinds.slice(0, 5).includes(kindOf[like.get(one)]);
  const known = [word, word.replace(/s$/, ""), word.replace(/es$/, "")].find((one) =>
    like.has(one),
  );
  if (known) return like.get(known);
  if (word.endsWith("ly")) return like.get("slowly");
  if (/(ed|ing)$/.test(word) || isNoun(before)) return like.get("chased");
  if (/(ful|ous|less)$/.test(word) || (before && isNoun(after))) return like.get("small");
  return like.get(before ? "ball" : "man");
}

// The rows of X: the vector of a word plus the vector of its place.
function rowsOf(given, ids) {
  const D = given.places[0].length;
  return Matrix.from(
    ids.map((id, t) => given.places[t].map((n, i) => n + given.vectors[id][i]), D),
  );
}

// All matrices for words by their numbers; padding has the number given.words.length.
function openLayer(given, ids, how, x = rowsOf(given, ids)) {
  const { numHeads = 2, causal = false, fault = {} } = how;
  const T = ids.length;
  const own = Object.assign(new OpenedLayer(x.columns, numHeads, given.state), { fault });
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

// Where number d of row i of head h stands in (T, D), and which head and place a joined number
// comes from: [head, row, column].
function cutFrom(h, i, d, { T, D, size, fault }) {
  if (!fault.split) return [i, h * size + d];
  const n = (h * T + i) * size + d;
  return [Math.floor(n / D), n % D];
}
function joinedFrom(t, c, { T, D, size, fault }) {
  if (!fault.join) return [Math.floor(c / size), t, c % size];
  const n = t * D + c;
  return [Math.floor(n / (T * size)), Math.floor(n / size) % T, n % size];
}

// The class of the chapter, line by line: its text, the stages that it makes, and what a mistake
// writes instead. A test finds each line in chapter 4, the last five in chapter 2.
const CODE = `def split_heads(self, x): | split
    B, T, _ = x.shape |
    x = x.view(B, T, self.num_heads, self.head_dim) | split | split |
    return x.transpose(1, 2)  # (B, H, T, D_head) | split | split |     return x.view(B, self.num_heads, T, self.head_dim)
def join_heads(self, heads): | join
    return heads.transpose(1, 2).flatten(2)  # (B, T, D) | join | join |     return heads.reshape(B, T, -1)
def forward(self, query, key, value, is_causal=False): | X
    q = self.split_heads(self.q_proj(query)) | Q
    k = self.split_heads(self.k_proj(key)) | K
    v = self.split_heads(self.v_proj(value)) | V
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal) | dots root mask softmax mix
    return self.out_proj(self.join_heads(heads))  # (B, T, D) | out
# inside F.scaled_dot_product_attention |
dots = q @ k.transpose(-2, -1)  # (..., T, S) | dots
scores = dots / math.sqrt(q.shape[-1]) | root | root | scores = dots
scores = scores.masked_fill(blocked, -math.inf) | mask | mask |
weights = scores.softmax(dim=-1) | softmax axis | axis | weights = scores.softmax(dim=-2)
return weights @ v | mix`
  .split("\n")
  .map((line) => line.split(/ \| ?/));
// What each stage makes: the first that fits a matrix is its own.
const MADE = Object.fromEntries(
  "X:X Q:Wq|Q K:Wk|K V:Wv|V split:[qkv] dots:D root:S mask:S softmax:A axis:A mix:M join:J out:Wo|O"
    .split(" ")
    .map((one) => one.split(":"))
    .map(([stage, names]) => [stage, new RegExp(`^(${names})`)]),
);
const COUNT = 10; // the steps of Play
const TITLES = { D: "q·k", S: "scores", A: "softmax", M: "mix" };

// Where each matrix stands: from left to right on a desk, from top to bottom on a phone. What one or
// two heads make stands in two lines, so that its cells are large enough to point at.
// Gives blocks { name, x, y, cw, ch, rows, columns }, texts, lanes of the heads, and the size.
function place(found, { T, D, H, isCut, names }, isNarrow) {
  const [blocks, texts, lanes] = [{}, [], []];
  const lines = H > 2 ? ["qkvDSAM"] : ["qkvD", "SAM"];
  const columns = (line) => [...line].reduce((sum, name) => sum + found[`${name}0`].columns, 0);
  const across = Math.max(...lines.map(columns));
  const longest = (isNarrow ? 7 : 6.2) * Math.max(...names.map((name) => short(name).length));
  const [label, gap, between] = [longest + 10, isNarrow ? 6 : 9, 28];
  const inLane = label + (isCut ? 16 : 0);
  const apart = Math.max(gap, 45 - 13 * T); // so that titles of narrow matrices do not touch
  const spare = inLane + 3 * gap + (lines.length > 1 ? 0 : 3 * apart); // of a lane, beside its cells
  const [width, ch, thin] = isNarrow ? [360, 16, 5] : [900, 14, 6];
  const laneCell = isNarrow
    ? Math.min(16, (width - spare - 8) / across)
    : Math.min(14, (width - 2 * label - spare - 40 - 3 * between) / (3 * D + across));
  const cw = isNarrow ? 13.5 : laneCell;
  const third = 24 + D * thin + T * ch; // Q, K or V with its weights
  const laneLine = H > 2 && !isNarrow ? clamp(((3 * third - 8) / H - 28) / T, 7, 14) : ch;
  const tall = lines.length * (T * laneLine + 20) + 8;

  const put = (name, x, y, cw, ch, text = "", wide = 0) => {
    const { rows, columns } = found[name];
    const [w, h] = [columns * cw, rows * ch];
    texts.push({ x: x + (wide || w) / 2, y: y - 6, text });
    return (blocks[name] = { name, x, y, cw, ch, rows, columns, w, h });
  };
  const project = (name, x, y) => {
    const letter = name.toUpperCase();
    const text = name === "o" ? "output = joined W^O" : `${letter} = X W^${letter}`;
    put(`W${name}`, x, y, cw, thin, text);
    put(letter, x, y + D * thin + 4, cw, ch);
  };
  // The lanes: the pieces of a head, and what it makes of them.
  const attend = (x, y) => {
    const w = spare + across * laneCell;
    for (let h = 0; h < H; h++, y += tall) {
      lanes.push({ x, y, w: w + 8, h: tall - 8, head: h });
      lines.forEach((line, n) => {
        let at = x + (n ? w - columns(line) * laneCell - 2 * apart : inLane); // the mix to the right
        const top = y + 17 + n * (T * laneLine + 18);
        for (const name of line) {
          const text = n || !h ? { k: "q, k, v", ...TITLES }[name] : "";
          const block = put(name + h, at, top, laneCell, laneLine, text);
          if (!n) texts.at(-1).y = y - 6;
          at += block.w + ("DSA".includes(name) ? apart : gap);
        }
      });
    }
    return w + 8;
  };
  const reached = "a change of ↓ reaches the output of →";
  const reach = (x, y, right) => {
    put("R", x, y, 14, ch, reached);
    Object.assign(texts.at(-1), { x: right, y: y - longest - 14, "text-anchor": "end" });
  };
  if (isNarrow) {
    const first = longest + 28;
    put("X", label, first, cw, ch, "X");
    reach(width - label - 14 * T, first, width); // in sight of the switches
    const top = first + T * ch + 36;
    [..."qkv"].forEach((name, n) => project(name, 4 + n * 122, top));
    attend(0, top + third + 20);
    const y = top + third + H * tall + 44;
    put("J", label, y + D * thin + 4, cw, ch, "joined");
    project("o", width - D * cw - 4, y);
    return { blocks, texts, lanes, longest, width, height: y + third + 8 };
  }
  const height = 34 + Math.max(3 * third, H * tall);
  const [middle, first] = [height / 2 + 9, height / 2 + 23 - 1.5 * third];
  put("X", label, middle - (T * ch) / 2, cw, ch, "X");
  let x = label + D * cw + between;
  [..."qkv"].forEach((name, n) => project(name, x, first + n * third));
  x += D * cw + between;
  x += attend(x, middle + 4 - (H * tall) / 2) + between + label;
  put("J", x, first, cw, ch, "joined");
  project("o", x, first + T * ch + 28);
  reach(Math.min(x, width - label - 14 * T), first + T * ch + third + longest + 54, width);
  return { blocks, texts, lanes, longest, width, height };
}

const short = (name) => (name.length > 9 ? `${name.slice(0, 8)}…` : name);

// What a number is made of: the groups of cells it comes from, the sum with its numbers, and a
// sentence. `shown` is what the figure shows at the moment.
function makeOf([name, r, c], shown) {
  const { found, how, T, D, size, word, slot, isCut, given, ids } = shown;
  const [kind, h] = [name[0], Number(name.slice(1))];
  const value = found[name].row(r)[c];
  const number = ([one, row, column]) => found[one].row(row)[column];
  const rowOf = (one, row) => times(found[one].columns, (k) => [one, row, k]);
  const columnOf = (one, column) => times(found[one].rows, (k) => [one, k, column]);
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
      const [from, to] = [name[1] === "o" ? "J" : "X", name[1].toUpperCase()];
      const says = `A learnt weight: how much column ${r} of ${from === "J" ? "the joined heads" : from} counts in column ${c} of ${to === "O" ? "the output" : to}.`;
      return { groups: [columnOf(from, r), columnOf(to, c)], sum: "", says };
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
      const [row, column] = cutFrom(h, r, c, shown);
      const says = isCut
        ? `${head}, row ${r}: view alone makes it a piece of ${word(row)}, columns ${column - c} to ${column - c + size - 1}.`
        : `${head} takes columns ${h * size} to ${h * size + size - 1} of ${whole}. Cutting computes nothing.`;
      return { groups: [[[whole, row, column]]], sum: `${whole}[${row}, ${column}]`, says };
    }
    case "D": {
      const says = `${head}: the query of ${slot(r, h)} times the key of ${slot(c, h)}.`;
      return { ...product(rowOf(`q${h}`, r), rowOf(`k${h}`, c)), says };
    }
    case "S": {
      const dot = two(found[`D${h}`].row(r)[c]);
      const groups = [[[`D${h}`, r, c]]];
      if (value === -Infinity) {
        const says = `${head}: the mask keeps ${slot(c, h)} from ${slot(r, h)}, and puts −∞ here.`;
        return { groups, sum: `−∞ instead of ${dot}`, says, isMasked: true };
      }
      if (how.fault.root) return { groups, sum: dot, says: `${head}: no root divides it.` };
      const says = `${head}: divided by √D_head = √${size}, so that scores stay moderate.`;
      return { groups, sum: `${dot} / ${two(size ** 0.5)}`, says };
    }
    case "A": {
      const along = how.fault.axis ? columnOf(`S${h}`, c) : rowOf(`S${h}`, r);
      const own = number([`S${h}`, r, c]);
      const powers = along.map(number).filter(Number.isFinite);
      const total = powers.reduce((sum, score) => sum + Math.exp(score), 0);
      const says = how.fault.axis
        ? `${head}: divided by the sum of its column, so the weights of ${slot(r, h)} add up to ${two(found[name].row(r).reduce((a, b) => a + b, 0))} and not to 1.`
        : `${head}: ${slot(r, h)} takes ${Math.round(100 * value)} % of what it reads from ${slot(c, h)}.`;
      const sum = `exp(${own === -Infinity ? "−∞" : two(own)}) / ${two(total)}`;
      return { groups: [along], sum, says };
    }
    case "M": {
      const says = `${head}: the values, column ${c}, each times its weight for ${slot(r, h)}.`;
      return { ...product(rowOf(`A${h}`, r), columnOf(`v${h}`, c)), says };
    }
    case "J": {
      const [from, row, column] = joinedFrom(r, c, shown);
      const wrong = how.fault.join && row !== r ? `, not of ${word(r)}` : "";
      const says = `Column ${c} for ${word(r)} is column ${column} of head ${from}, of ${slot(row, from)}${wrong}. Joining computes nothing.`;
      const groups = [[[`M${from}`, row, column]]];
      return { groups, sum: `head ${from}[${row}, ${column}]`, says };
    }
    default: {
      const says = `Column ${c} of the output for ${word(r)}: the joined heads times a column of W^O.`;
      return { ...product(rowOf("J", r), columnOf("Wo", c)), says };
    }
  }
}

const listed = (names) => new Intl.ListFormat("en-GB").format(new Set(names));

// The figure: a sentence and switches above, the flow, what is said of it, and the code.
function layer(stage, kept) {
  const given = unpack(kept);
  const [D, most] = [given.places[0].length, given.places.length - 1];
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const how = { numHeads: 2, causal: false, padding: false, fault: {} };
  let [words, ids, fits] = [[], [], ""]; // what was typed, the numbers of the words it is read like
  const chosenKinds = new Map();
  let follow; // the word that Play follows
  let [pinned, hovered, line, step, timer] = [null, null, -1, -1, 0];
  let shown, parts, flow, isNarrow;
  let lit = [];
  stage.classList.add("full-width");

  const row = (name = "", parent = stage) => {
    const made = make("div", { className: "buttons" });
    if (name) made.append(make("span", { textContent: name }));
    parent.append(made);
    return made;
  };
  const button = (parent, textContent, onclick) => {
    const made = make("button", { type: "button", textContent, onclick });
    parent.append(made);
    return made;
  };
  const asks = row();
  const field = make("input", { type: "text", maxLength: 80, spellcheck: false, oninput: read });
  set(field, { autocomplete: "off", autocapitalize: "none" });
  const its = make("span", { textContent: `Up to ${most} words` });
  asks.append(make("label", { className: "ask" }, its, field));
  let example = 0;
  button(asks, "another", () => {
    field.value = given.sentences[++example % given.sentences.length];
    read();
  });
  const slots = row();
  slots.classList.add("slots");
  const heard = set(make("p", { className: "heard" }), { role: "status" });
  stage.append(heard);
  const pressed = []; // switches, and whether they are on
  const toggle = (parent, name, isOn, press) => {
    const made = button(parent, name, () => (press(), renew()));
    pressed.push([made, isOn]);
    return made;
  };
  const together = row(); // on a desk
  const switches = row("Heads", together);
  for (const n of [1, 2, 4, 8]) {
    const isOn = () => how.numHeads === n;
    const made = toggle(switches, `${n}`, isOn, () => (how.numHeads = n));
    set(made, { "aria-label": n > 1 ? `${n} heads` : "1 head" });
  }
  const flip = (all, name) => (all[name] = !all[name]);
  const hides = row("Mask", together);
  for (const name of ["causal", "padding"]) {
    const isOn = () => how[name];
    toggle(hides, name, isOn, () => flip(how, name));
  }
  const breaks = row("Mistake");
  breaks.classList.add("fault");
  const FAULTS = {
    root: "no root",
    mask: "no mask",
    split: "split by view alone",
    join: "join by reshape alone",
    axis: "softmax(dim=-2)",
  };
  for (const [name, text] of Object.entries(FAULTS)) {
    const isOn = () => how.fault[name];
    toggle(breaks, text, isOn, () => {
      flip(how.fault, name);
      [pinned, step] = [null, -1];
      stop();
    });
  }
  const wrong = set(make("p", { className: "wrong" }), { role: "status" });
  const [says, sum] = [make("p"), make("p", { className: "sum" })];
  const plays = make("div", { className: "plays" });
  const extract = make("div", { className: "extract" }); // the lines of code that are marked below
  const told = set(make("div", {}, says, sum), { role: "status" });
  const panel = make("div", { className: "panel" }, plays, told, extract);
  const picture = draw(make("div", { className: "flow" }), "svg", { tabindex: 0 });
  const keys = "The layer. Arrow keys go from number to number; Escape leaves.";
  set(picture, { role: "application", "aria-label": keys });
  const lines = set(make("ol", { className: "code" }), { role: "listbox" });
  set(lines, { "aria-label": "The class, line by line", "aria-multiselectable": true });
  stage.append(wrong, panel, picture.parentElement, lines);

  const back = button(plays, "←", () => go(step - 1));
  set(back, { "aria-label": "Step back" });
  const play = button(plays, "Play", () => (timer ? stop() : start()));
  const ahead = button(plays, "→", () => go(step + 1));
  set(ahead, { "aria-label": "Step ahead" });
  play.hidden = isStill;
  const chosen = make("select", { onchange: () => choose(chosen.selectedIndex) });
  const count = make("span", { className: "count" });
  plays.append(count, make("label", {}, make("span", { textContent: "follow" }), chosen));
  plays.onkeydown = ({ key, target }) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by && target !== chosen) go(step + by);
  };

  const which = make("select", { onchange: tabulate });
  const tableAt = make("div", { className: "numbers", tabIndex: 0 });
  set(tableAt, { role: "region", "aria-label": "A matrix as a table" });
  const summary = make("summary", { textContent: "The numbers as a table" });
  const matrix = make("label", {}, make("span", { textContent: "matrix" }), which);
  const numbers = make("details", {}, summary, matrix, tableAt);
  stage.append(numbers);
  numbers.ontoggle = tabulate;

  // The field stays as it was typed; it is read as far as there are places.
  function read() {
    const typed = field.value.match(/[\p{L}\p{N}'’-]+/gu);
    if (!typed) return;
    words = typed.slice(0, most).map((word) => word.toLowerCase());
    field.placeholder = words.join(" "); // what is shown while the field is empty
    fits = typed[most] ? `Six words fit: from “${typed[most]}” on, nothing is read. ` : "";
    heed();
  }
  // Each word has its kind below it, and any can be chosen.
  function heed() {
    ids = words.map((word, t) => {
      const own = likeness(given, words, t);
      const kind = chosenKinds.get(word) ?? given.kindOf[own];
      return given.kindOf[own] === kind ? own : given.kindOf.indexOf(kind);
    });
    const slot = (word, t) => {
      const kind = make("select");
      kind.append(...given.kinds.map((textContent) => make("option", { textContent })));
      kind.value = given.kindOf[ids[t]];
      kind.onchange = () => {
        chosenKinds.set(word, kind.value);
        heed();
        slots.children[t].lastChild.focus();
      };
      return make("label", {}, make("span", { textContent: word }), kind);
    };
    slots.replaceChildren(...words.map(slot));
    const likes = ids.map((id) => given.words[id]);
    const news = words.map((word, t) => word !== likes[t] && `“${word}” like “${likes[t]}”`);
    const told = listed(news.filter(Boolean));
    heard.textContent = fits + (told && `It reads ${told}. Another kind? Choose it above.`);
    meet();
  }
  // Follow the first word whose two heads look at two others.
  function meet() {
    const { A0, A1 } = openLayer(given, ids, {});
    follow = words.findIndex((_, t) => {
      const [one, other] = [A0, A1].map((A) => A.row(t).indexOf(Math.max(...A.row(t))));
      return new Set([one, other, t]).size === 3;
    });
    if (follow < 0) follow = words.length - 1;
    step = -1;
    stop();
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
    ids.length = words.length;
    if (how.padding) while (ids.length < most || ids.length === words.length) ids.push(pad);
    const [T, H] = [ids.length, how.numHeads];
    const names = ids.map((_, t) => words[t] ?? "[PAD]");
    const word = (t) =>
      `“${names[t]}”${names.indexOf(names[t]) === names.lastIndexOf(names[t]) ? "" : ` (word ${t})`}`;
    const isCut = Boolean(how.fault.split) && H > 1 && T > 1; // rows are pieces of words
    const sizes = { T, D, H, size: D / H, fault: how.fault };
    const owner = (h, r) => (isCut ? cutFrom(h, r, 0, sizes)[0] : r);
    const slot = (r, h) => (isCut ? `row ${r} (a piece of ${word(owner(h, r))})` : word(r));
    const found = openLayer(given, ids, how);
    const changed = changedWords(given, ids, how);
    found.R = Matrix.from(
      ids.map((_, t) => changed.map(({ O }) => Number(`${O.row(t)}` !== `${found.O.row(t)}`))),
    );
    const leaks = [];
    if (how.causal)
      for (let t = 0; t < T; t++)
        for (let s = t + 1; s < T; s++) if (found.R.row(t)[s]) leaks.push([t, s]);
    shown = { given, ids, names, how, found, changed, leaks, word, slot, owner, isCut, ...sizes };
    follow = Math.min(follow, words.length - 1);
    if (pinned && !(found[pinned[0]]?.rows > pinned[1] && found[pinned[0]].columns > pinned[2]))
      pinned = null;
    hovered = null;
    line = -1;
    for (const [one, isOn] of pressed) set(one, { "aria-pressed": Boolean(isOn()) });
    chosen.replaceChildren(...words.map((textContent) => make("option", { textContent })));
    const option = (value) => make("option", { value, textContent: called(value) });
    which.replaceChildren(...Object.keys(found).map(option));
    chosen.selectedIndex = follow;
    const faults = [...new Set(gone().map(whatIsWrong))];
    wrong.replaceChildren(...faults.map((textContent) => make("span", { textContent })));
    if (how.causal && !isBroken())
      wrong.append("The causal mask hides from each word the words after it: nothing leaks. ");
    if (how.padding && !isBroken())
      wrong.append("[PAD] fills the sentence up; the mask hides it from all words.");
    paint();
    code();
    tabulate();
    rest();
  }

  const called = (name) => {
    const wholes = { J: "joined", O: "output", R: "which word reaches which output" };
    if (name[0] === "W") return `W ${name[1].toUpperCase()}`;
    if (name.length === 1) return wholes[name] ?? name;
    return `head ${name.slice(1)}: ${TITLES[name[0]] ?? name[0]}`;
  };

  // One sentence for a mistake, with a number that says how wrong it is.
  function whatIsWrong(name) {
    const { found, T, H, size, leaks, word, slot, owner, isCut, ids } = shown;
    const total = (row) => row.reduce((a, b) => a + b, 0);
    const leak = leaks.length
      ? ` The future leaks: ${leaks.length} time${leaks.length > 1 ? "s" : ""} a later word changes an earlier output.`
      : how.causal
        ? ""
        : " Switch on the causal mask, and see whether the future leaks.";
    const isPadded = ids.includes(given.words.length);
    const { split, join, mask, axis } = how.fault;
    const part = `pieces of ${listed(ids.map((_, r) => word(owner(0, r))))}`; // if it is cut
    const sealed = `, and ${how.causal ? "" : "with a causal mask "}no later word leaks in`;
    if ((H === 1 || T === 1) && (name === "split" || name === "join"))
      return "With one head, or one word, there is nothing to swap.";
    if (split && join && (name === "split" || name === "join"))
      return `Both: the mistake to remember. The join undoes what the split mixed up: the shapes are right${mask || axis ? "" : sealed}. Yet each head got a cut-up text: head 0 sees ${part}, and nothing else. So test what a layer must see, as well as what it must not.`;
    switch (name) {
      case "root": {
        if (size === 1) return "With one number in a head the root is √1: nothing changes.";
        const right = openLayer(given, ids, { ...how, fault: { ...how.fault, root: false } });
        const [now, before] = [found, right].map((all) => {
          const tops = perHead("A").flatMap((A) => words.map((_, t) => Math.max(...all[A].row(t))));
          return two(total(tops) / tops.length);
        });
        return `Without the root the scores are √${size} times as large: the largest weight of a row is ${now} on average, not ${before}. A softmax so sure learns slowly.`;
      }
      case "mask": {
        if (!how.causal && !isPadded)
          return "There is no mask to leave out: switch on the causal mask, or padding.";
        return `Without the mask every ${isCut ? "row meets every row" : "word sees the words after it"}${isPadded ? ", and padding is read" : ""}.${how.causal ? leak : ""}`;
      }
      case "split":
        return `The right shape, cut by words: head 0 should get ${size} of the ${D} columns of every word, and gets ${part} alone.${leak}`;
      case "join":
        return `The right shape, head after head: the row of ${word(0)} is filled from the first ${Math.min(H, T)} rows of head 0 alone.${leak}`;
      default: {
        const sum = two(total(found.A0.row(follow)));
        const nan = " PyTorch makes nan of padding’s empty columns; here they are 0.";
        return `Columns add up to 1, not rows: the weights of ${slot(follow, 0)} add up to ${sum} in head 0.${isPadded && !mask ? nan : ""}${leak}`;
      }
    }
  }

  function paint() {
    const { found, H, size, names, owner, isCut } = shown;
    parts = place(found, shown, isNarrow);
    const { blocks, texts, lanes } = parts;
    picture.replaceChildren();
    set(picture, { viewBox: `0 0 ${parts.width} ${Math.ceil(parts.height)}` });
    for (const { x, y, w, h, head } of lanes) {
      const style = `fill:color-mix(in srgb,${hue(head)} 12%,transparent)`;
      draw(picture, "rect", { x, y, width: w, height: h, rx: 6, style });
      const columns = `column${size > 1 ? `s ${head * size}–${(head + 1) * size - 1}` : ` ${head}`}`;
      const meaning = isCut
        ? `pieces of ${listed(names.map((_, r) => `“${names[owner(head, r)]}”`))} alone`
        : `${columns} of every word${H === 2 ? `; looks for ${given.heads[head]}` : ""}`;
      const title = draw(picture, "text", { x: x + 6, y: y + 12, class: "small lane" });
      entitle(title, (title.dataset.text = `head ${head}: ${meaning}`));
    }
    // The way of numbers: from the columns of a head, or from the rows where it gets rows.
    const band = (from, to, head, colour) => {
      let { x, y, w, h } = from;
      if (head !== null && isCut) [y, h] = [y + (h * head) / H, h / H];
      else if (head !== null) [x, w] = [x + (w * head) / H, w / H];
      const d = isNarrow
        ? `M${x} ${y + h + 2}L${x + w} ${y + h + 2}L${to.x + to.w} ${to.y - 2}L${to.x} ${to.y - 2}Z`
        : `M${from.x + from.w + 2} ${y}V${y + h}L${to.x - 2} ${to.y + to.h}V${to.y}Z`;
      draw(picture, "path", { d, style: `fill:${colour};fill-opacity:.1` });
    };
    for (const name of "QKV") {
      band(blocks.X, isNarrow ? blocks[`W${name.toLowerCase()}`] : blocks[name], null, NOTE);
      for (let h = 0; h < H; h++) band(blocks[name], blocks[name.toLowerCase() + h], h, hue(h));
    }
    for (let h = 0; h < H && !isNarrow; h++) band(blocks[`M${h}`], blocks.J, null, hue(h));
    for (const { text, ...at } of texts)
      rich(draw(picture, "text", { "text-anchor": "middle", ...at }), text);
    flow = new Map();
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
          const round = Math.min(cw, ch) - 1;
          const [width, height] = value < 0 ? [round, round] : [cw - 1, ch - 1];
          const cell = draw(picture, "rect", {
            x: x + (c + 0.5) * cw - width / 2,
            y: y + (r + 0.5) * ch - height / 2,
            width,
            height,
            rx: value < 0 ? round / 2 : 1,
            class: `cell${value === -Infinity ? " masked" : ""}${name === "R" ? " map" : ""}`,
            style: `fill:color-mix(in srgb,${colour} ${isLeak ? 100 : Math.round(100 * share ** 0.8)}%,var(--none))`,
          });
          flow.set(`${name},${r},${c}`, cell);
          const middle = { x: x + (c + 0.5) * cw, y: y + (r + 0.5) * ch + 4 };
          if (isLeak) draw(picture, "text", { ...middle, class: "mark" }, "!");
        }
    }
    const { X, J, O, R } = blocks;
    const level = ({ y, ch }, t) => y + (t + 0.5) * ch + 4;
    const end = { "text-anchor": "end" };
    const left = (block, t, x = block.x) => ({ ...end, x: x - 6, y: level(block, t) });
    const right = (block, t) => ({ x: block.x + block.w + 6, y: level(block, t) });
    const label = (at, t, text = short(names[t])) =>
      draw(picture, "text", { ...at, class: "word", "data-word": t }, text);
    names.forEach((name, t) => {
      for (const block of [X, J, O]) label(left(block, t), t);
      draw(picture, "text", right(R, t), short(name));
      const over = `translate(${R.x + (t + 0.5) * R.cw + 4} ${R.y - 4}) rotate(-90)`;
      draw(picture, "text", { transform: over }, short(name));
      for (let h = 0; h < H && blocks.q0.ch > 9; h++)
        for (const kind of H > 2 ? "q" : "qS") {
          const at = left(blocks[kind + h], t, blocks[`q${h}`].x);
          label(at, t, (isCut ? `${t}: ` : "") + short(names[owner(h, t)]));
        }
    });
    draw(picture, "g", { class: "links" });
  }
  // What stands above a head, no wider than its lane.
  function entitle(title, text) {
    title.textContent = text;
    title.removeAttribute("textLength");
    const textLength = parts.lanes[0].w - 12;
    if (title.getComputedTextLength() > textLength)
      set(title, { textLength, lengthAdjust: "spacingAndGlyphs" });
  }
  const NOTE = "var(--fig-note)";
  const HUES = [0, 1, 2, 3, 4, 5, "neutral", "ink"];
  const hue = (head) => (head === null ? "var(--fig-heat)" : `var(--fig-${HUES[head]})`);

  // Which head a cell belongs to, or null.
  function headOf(name, r, c) {
    const { T, D, size } = shown;
    const { split, join } = how.fault;
    if ("QKV".includes(name)) return Math.floor(split ? (r * D + c) / (T * size) : c / size);
    if (name === "J") return joinedFrom(r, c, shown)[0];
    if (name === "Wo") return join ? null : Math.floor(r / size);
    if (name[0] === "W") return split ? null : Math.floor(c / size);
    return name.length > 1 ? Number(name.slice(1)) : null;
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

  // The code: a mistake strikes lines out, and writes others after them.
  function code() {
    const off = (flag) =>
      flag === "mask" ? how.fault.mask || (!how.causal && !how.padding) : how.fault[flag];
    lines.replaceChildren();
    CODE.forEach(([text, stages, flag, instead], n) => {
      const isOff = flag && off(flag);
      const item = set(make("li", { tabIndex: n ? -1 : 0 }), { role: "option" });
      item.append(make(isOff ? "s" : "span", { textContent: text }));
      if (isOff && instead) item.append(make("b", { textContent: instead }));
      item.dataset.stages = stages || "none";
      item.onpointerenter = item.onclick = () => look(n);
      item.onfocus = () => item.matches(":focus-visible") && look(n);
      lines.append(item);
    });
  }
  function look(n) {
    if (timer) return;
    line = n;
    hovered = null;
    rest();
  }
  lines.onpointerleave = () => look(-1);
  lines.addEventListener("focusout", () => look(-1));
  lines.onkeydown = (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const all = [...lines.children];
    const next = by && all[all.indexOf(document.activeElement) + by];
    if (!by) return;
    event.preventDefault();
    if (!next) return;
    all.forEach((one) => (one.tabIndex = one === next ? 0 : -1));
    next.focus();
  };

  const all = (name) => {
    const { rows, columns } = shown.found[name];
    return times(rows * columns, (i) => [name, Math.floor(i / columns), i % columns]);
  };
  const rowOf = (name, r) => all(name).filter((cell) => cell[1] === r);
  const perHead = (kind) => times(shown.H, (h) => `${kind}${h}`);
  // The steps of one word: each with its cells, its lines of code, and a sentence.
  function steps(w) {
    const { found, H, size, word, slot, owner, isCut, ids, names } = shown;
    const { causal, padding, fault } = how;
    const it = word(w);
    const pick = (row, whole = /^$/) =>
      Object.keys(found).flatMap((name) =>
        whole.test(name) ? all(name) : row.test(name) ? rowOf(name, w) : [],
      );
    const held = listed(ids.map((_, r) => word(owner(0, r))));
    const meant = times(H, (h) => names[owner(h, w)]).join("|");
    const head = isCut
      ? `By view alone head 0 is filled with ${held} in pieces, not with ${size} columns of every word. Row ${w}, meant for ${it}, is “${meant}”: in each head a piece of another word.`
      : H > 1
        ? `A head is a share of the columns: head 0 takes the first ${size} of Q, K and V, for every word; head 1 the next ${size}.`
        : "One head alone takes all columns.";

    const root = fault.root ? "No root: nothing is divided." : `Divided by √D_head = √${size}.`;
    const away = ids.map((_, s) => s).filter((s) => found.S0.row(w)[s] === -Infinity);
    let mask = "No mask hides anything.";
    if (causal || padding) mask = `The mask hides ${listed(away.map(word)) || "nothing"}.`;
    if (away.length && isCut)
      mask = `The mask goes by the number of a row and hides ${listed(away.map(String))}, whatever they hold.`;
    if ((causal || padding) && fault.mask) mask = "No mask is set: nothing is hidden.";

    const looks = times(Math.min(H, 2), (h) => {
      const weights = [...found[`A${h}`].row(w)];
      if (fault.axis) return `in head ${h} to ${two(weights.reduce((a, b) => a + b))}`;
      const best = Math.max(...weights);
      const meaning = H === 2 && !isCut ? `, which looks for ${given.heads[h]},` : "";
      return `head ${h}${meaning} reads most from ${slot(weights.indexOf(best), h)}: ${two(best)}`;
    });
    const softmax = fault.axis
      ? `Softmax over the wrong axis: the weights of ${isCut ? `row ${w}` : it} add up ${looks.join(", ")}, not to 1.`
      : `${looks.join("; ")}.`.replace("h", "H");

    // The rows of heads that a joined row is filled from, and whose they are.
    const from = times(H, (n) => joinedFrom(w, n * size, shown));
    const owners = from.map(([h, r]) => owner(h, r));
    const later = listed(owners.filter((t) => causal && t > w).map(word));
    const isOwn = owners.every((t) => t === w);
    const join =
      isOwn && !isCut
        ? `The heads stand side by side again: ${D} numbers, ${size} from each.`
        : `The row of ${it} holds what ${isCut ? "pieces of " : ""}${listed(owners.map(word))} found${isOwn ? ", among the words of their head alone" : ""}.${later && ` The future leaks in from ${later}.`}`;

    const next = isBroken() || H === 1 ? "" : " Now split by view alone, and play again.";
    const hand = "Every word gets a key, to be found by, and a value, to hand over.";
    const dots = isCut
      ? `In each head row ${w} meets every row: pieces of words meet pieces of words.`
      : `In each head the query of ${it} meets every key: one number each.`;
    const out = `W^O makes of all that the heads found the new row of ${it}.${next}`;
    return [
      [pick(/^X/), "X", `${it} comes in as ${D} numbers: its word’s plus its place’s.`],
      [pick(/^[XQ]/, /^Wq/), "Q", `The row of ${it}, times W^Q, is its query: what it looks for.`],
      [pick(/^$/, /^([XKV]|W[kv])/), "K V", hand],
      [pick(/^q/, /^[kv]/), "split", head],
      [pick(/^[qD]/, /^k/), "dots", dots],
      [pick(/^S/), "root mask", `${root} ${mask}`],
      [pick(/^A/), "softmax", softmax],
      [pick(/^[AM]/, /^v/), "mix", "Each head adds up its values, each times its weight."],
      [[...from.flatMap(([h, r]) => rowOf(`M${h}`, r)), ...rowOf("J", w)], "join", join],
      [pick(/^[JO]/, /^Wo/), "out", out],
    ];
  }

  // Light up cells: those that a number is made of, itself, the lines of code.
  function show({ on = [], from = [], at = null, stages = [], links = [], kind = "", note = [] }) {
    for (const cell of lit) cell.classList.remove("on", "from", "at", "path");
    const find = (cell) => flow.get(cell.join());
    lit = [...on, ...from, ...(at ? [at] : [])].map(find);
    picture.classList.toggle("dim", lit.length > 0);
    for (const cell of lit) cell.classList.add("on");
    for (const cell of from) find(cell).classList.add("from", ...(kind ? [kind] : []));
    if (at) find(at).classList.add("at");
    const group = picture.querySelector(".links");
    group.replaceChildren();
    picture.querySelectorAll(".lane").forEach((title, h) => {
      title.classList.toggle("noted", h === note[0]);
      entitle(title, h === note[0] ? note[1] : title.dataset.text);
    });
    if (note.length) {
      const { x, y, w: width, h: height } = note[2];
      draw(group, "rect", { x, y, width, height, rx: 3, class: kind });
    }
    for (const [a, b] of links) {
      const down = b.x < a.x + a.w || (isNarrow && b.y > a.y + a.h);
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
    const marked = [...lines.querySelectorAll(".marked")];
    const own = marked.filter((item) => !/^def|scaled_dot/.test(item.textContent.trim())).slice(-2);
    extract.replaceChildren(...own.flatMap((item) => [...item.cloneNode(true).childNodes]));
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

  const gone = () => Object.keys(FAULTS).filter((name) => how.fault[name]);
  const isBroken = () => gone().length > 0;
  // What is shown: the cell that is pointed at, a line of code, a step, or nothing.
  function rest() {
    chosen.selectedIndex = follow;
    for (const label of picture.querySelectorAll("[data-word]"))
      label.classList.toggle("followed", Number(label.dataset.word) === follow && step >= 0);
    count.textContent = step < 0 ? "" : `${step + 1} of ${COUNT}`;
    if (CODE[line]?.[1]) return showStages(CODE[line][1].split(" "));
    const cell = hovered ?? pinned;
    if (cell) return showCell(cell);
    if (step >= 0) return showStep();
    const { leaks, word, H } = shown;
    if (leaks.length) return showReach(leaks.find(([t]) => t === follow) ?? leaks[0]);
    show({ stages: gone() });
    const go = isStill ? "Step ahead" : "Press Play";
    if (isBroken()) return say(`${go}: what becomes of ${word(follow)} now? Or point at a number.`);
    const trained =
      H === given.heads.length
        ? `Two heads were trained: ${given.heads.map((text, h) => `head ${h} looks for ${text}`).join(", ")}.`
        : H > 1
          ? `It was trained with two heads; with ${H}, the same numbers look elsewhere.`
          : "One head shares a weight of 1 between the two words that two heads would find.";
    const key = "Squares are positive, grey circles negative, pale is near zero.";
    say(`${go} to follow ${word(follow)}, or point at a number. ${trained} ${key}`);
  }
  function showStages(stages) {
    const isTold = ([, own]) => own.split(" ").some((one) => stages.includes(one));
    const isLit = ([name, r, c]) =>
      stages.some((one) => MADE[one].test(name)) &&
      (stages[0] !== "mask" || shown.found[name].row(r)[c] === -Infinity);
    show({ on: Object.keys(shown.found).flatMap(all).filter(isLit), stages });
    const told = steps(follow).filter(isTold);
    say(told.map(([, , sentence]) => sentence).join(" "));
  }
  function showCell(at) {
    const [name, r, c] = at;
    if (name === "R") return showReach([r, c], at);
    const { groups, sum: made, says: sentence, isMasked } = makeOf(at, shown);
    const stage = Object.keys(MADE).find((one) => MADE[one].test(name));
    const stages = [isMasked ? "mask" : stage];
    if (stages[0] === "split") stages.push(name[0].toUpperCase());
    if (stages[0] === "join") stages.push("out");
    const links = groups.map((group) => [group, [at]].map(bounds));
    show({ from: groups.flat(), at, stages, links });
    const is = isMasked ? "" : two(shown.found[name].row(r)[c]);
    say(sentence, [is, made].filter(Boolean).join(" = "));
  }

  // How a word reaches an output: what it changes of all that the output is made of.
  function showReach([t, s], at = null) {
    const { found, changed, word, slot, owner, isCut, H, T, size } = shown;
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
    if (!path.length) {
      show({ at });
      return say(`Change ${word(s)}: the output of ${word(t)} stays exactly as it is.`);
    }
    // The way with most weight: a row of a head that the output is filled from, and the row, made of
    // the word, that it reads: itself, if that is one.
    const { mask, join, axis } = how.fault;
    const ways = times(H, (n) => joinedFrom(t, n * size, shown))
      .flatMap(([h, r]) => times(T, (row) => [h, r, row, found[`A${h}`].row(r)[row] + (row === r)]))
      .filter(([h, , row]) => owner(h, row) === s);
    const [h, r, row] = ways.sort((a, b) => b[3] - a[3])[0];
    let why = "softmax adds up columns, later rows too";
    if (join && !isCut) why = `row ${r}, of ${word(r)}, is put into the row of ${word(t)}`;
    if (isCut && row <= r) why = `row ${row}, ${word(row)} to the mask, holds ${word(s)}`;
    if (mask) why = `nothing hides ${word(s)} from ${word(t)}`;
    if (!isLater) why = `${slot(r, h)} reads ${slot(row, h)}`;
    const lane = parts.lanes[h];
    const [first, last] = ["q", "v"].map((name) => bounds(rowOf(name + h, row)));
    const box = { x: lane.x + 2, y: first.y - 1, w: last.x + last.w - lane.x, h: first.h + 2 };
    const stops = [["X", s], [axis ? "Q" : "K", s], box, [`M${h}`, r], ["J", t], ["O", t]];
    const ends = stops.map((stop) => (Array.isArray(stop) ? bounds(rowOf(...stop)) : stop));
    ends[isNarrow ? 5 : 4].x -= parts.longest + 6; // the line ends beside the word
    const links = ends.slice(1).map((end, n) => [ends[n], end]);
    const note = [h, `head ${h}: ${why}`, box];
    show({ from: path, at, kind, links, note, stages: isLater ? gone() : [] });
    say(`Change ${word(s)}, and the output of ${word(t)} changes: in head ${h} ${why}.`);
  }

  function showStep() {
    const [on, stages, sentence] = steps(follow)[step];
    show({ on, stages: stages.split(" ") });
    say(sentence);
  }
  function go(to) {
    [pinned, hovered, line] = [null, null, -1];
    step = clamp(to, 0, COUNT - 1);
    rest();
    // On a phone the steps lead down the page, under their sentence.
    const [{ bottom: top }, { bottom }] = [panel, lit.at(-1)].map((e) => e.getBoundingClientRect());
    const by = bottom > innerHeight ? bottom - innerHeight + 60 : Math.min(0, bottom - 90 - top);
    if (isNarrow && top > 0 && top < innerHeight)
      scrollBy({ top: by, behavior: isStill ? "auto" : "smooth" });
  }
  function start() {
    go(step === COUNT - 1 ? 0 : step + 1);
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (picture.isConnected) go(step + 1);
      if (step === COUNT - 1 || !picture.isConnected) stop();
    }, 3500);
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
    const slack = event.pointerType === "touch" ? 10 : 4;
    let [best, least] = [null, slack];
    for (const one of Object.values(parts.blocks)) {
      const far = Math.max(one.x - x, x - one.x - one.w, one.y - y, y - one.y - one.h, 0);
      if (far >= least) continue;
      const [r, c] = [Math.floor((y - one.y) / one.ch), Math.floor((x - one.x) / one.cw)];
      const cell = [one.name, clamp(r, 0, one.rows - 1), clamp(c, 0, one.columns - 1)];
      [best, least] = [cell, far || -1];
    }
    return best;
  }
  picture.onpointermove = (event) => {
    if (timer) return;
    const cell = cellAt(event);
    if (String(cell) === String(hovered)) return;
    if (event.pointerType === "touch") pinned = cell ?? pinned;
    else hovered = cell;
    rest();
  };
  picture.onpointerleave = () => {
    hovered = null;
    if (!timer) rest();
  };
  let before = null; // what was kept before a finger or the mouse came down
  picture.onpointerdown = (event) => {
    before = String(pinned);
    picture.onpointermove(event); // under a resting finger too
  };
  picture.onclick = (event) => {
    stop();
    const label = event.target.closest("[data-word]");
    if (label && Number(label.dataset.word) < words.length)
      return choose(Number(label.dataset.word));
    const cell = cellAt(event);
    pinned = String(cell) === before ? null : cell;
    [step, hovered] = [-1, null];
    rest();
  };
  picture.onfocus = () => {
    if (pinned || !picture.matches(":focus-visible")) return;
    pinned = ["X", 0, 0];
    rest();
  };
  picture.onkeydown = (event) => {
    const ways = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const by = ways[event.key];
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
    panel.scrollIntoView({ block: "nearest" });
  };
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
    const isOfKeys = name === "R" || ("DSA".includes(name[0]) && !shown.isCut);
    const heads = times(columns, (c) => (isOfKeys ? shown.names[c] : `${c}`));
    const { whole, body } = table(called(name), ["", ...heads]);
    for (let r = 0; r < rows; r++) {
      const isWord = name[0] !== "W" && !(shown.isCut && /\d/.test(name));
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
  read();
  new ResizeObserver(([{ contentRect }]) => {
    if (!contentRect.width || isNarrow === contentRect.width < 640) return;
    isNarrow = !isNarrow;
    paint();
    rest();
  }).observe(stage);
}
