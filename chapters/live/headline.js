// The classifier of chapter 7: [CLS] reads a text. Probabilities, tokens, what each head reads, and
// what taking a word out does.

const MOST = 120; // words that are read; the page stays quick

// As BERT's tokenizer: without accents and capitals, punctuation by itself, and of each word the
// longest piece that is known, then the longest of the rest, which begins with ##.
const UNSEEN = /[\ufffd]|(?![\t\n\r])\p{C}/gu;
const HAN = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2fa1f}]/gu;
const WORDS = /[!-/:-@[-`{-~\p{P}]|[^!-/:-@[-`{-~\p{P}\p{White_Space}]+/gu;

function splitWords(text) {
  return text.replace(UNSEEN, "").split(/\p{White_Space}+/u).filter(Boolean);
}

function tokenize(text, vocabulary) {
  const plain = text.replace(UNSEEN, "").replace(HAN, " $& ").normalize("NFD");
  const words = plain.replace(/\p{Mn}/gu, "").toLowerCase().match(WORDS) ?? [];
  return words.flatMap((word) => {
    const [letters, pieces] = [[...word], []];
    if (letters.length > 100) return ["[UNK]"];
    for (let start = 0; start < letters.length; ) {
      let [end, piece] = [letters.length + 1, ""];
      do piece = (start ? "##" : "") + letters.slice(start, --end).join("");
      while (end > start && !vocabulary.has(piece));
      if (end === start) return ["[UNK]"];
      pieces.push(piece);
      start = end;
    }
    return pieces;
  });
}

// The model: an embedding, one layer in which the first token asks, and two linear maps.
class TextClassifier {
  constructor(state, numHeads, width, numClasses) {
    const matrix = (name, columns) => {
      const data = halves(state[name]);
      return new Matrix(data.length / columns, columns, data);
    };
    this.embedding = matrix("embedding.weight", width);
    const own = Object.keys(state).filter((name) => name.startsWith("mha."));
    const layer = Object.fromEntries(own.map((name) => [name.slice(4), halves(state[name])]));
    this.mha = new MultiHeadAttention(width, numHeads, layer);
    this.hidden = [matrix("classifier.0.weight", width), halves(state["classifier.0.bias"])];
    const wide = this.hidden[0].rows;
    this.last = [matrix("classifier.2.weight", wide), halves(state["classifier.2.bias"])];
  }
  // ids (T,) -> the probability of each class, and of each head the weights of the first token.
  read(ids) {
    const x = Matrix.from(ids.map((id) => this.embedding.row(id))); // (T, D)
    const { output, weights } = this.mha.forward(new Matrix(1, x.columns, x.row(0)), x, x);
    const hidden = linear(output, ...this.hidden);
    const relu = new Matrix(1, hidden.columns, hidden.data.map((number) => Math.max(number, 0)));
    const shares = maskedSoftmax(linear(relu, ...this.last));
    return { shares: shares.data, heads: weights.map((head) => head.data) };
  }
}

function headline(stage, { text, vocabulary, classes, numHeads, width, state }) {
  const idOf = new Map(vocabulary.split(" ").map((token, id) => [token, id]));
  const model = new TextClassifier(state, numHeads, width, classes.length);
  const input = make("textarea", { rows: 4, oninput: change, spellcheck: false });
  const opening = text.replace(/\s+/g, " ");
  input.value = opening;
  const which = make("select", { onchange: update });
  const views = ["mean of the heads", ...Array.from({ length: numHeads }, (_, h) => `head ${h}`)];
  which.append(...views.map((textContent) => make("option", { textContent })));
  const words = make("div", { className: "words" });
  const tokens = make("p", { className: "tokens", tabIndex: 0 }); // it scrolls, by keyboard too
  const told = set(make("p"), { role: "status" });
  const key = make("p", {
    textContent:
      "Weight: the mean of a word’s pieces. " +
      "Without it: how far the answer’s probability rises (+) or falls (−).",
  });
  const title = "The answer: one of these, whatever the text";
  const { whole, body } = table(title, ["class", "probability"]);
  const legend = make("span", { className: "legend", textContent: "word" });
  Object.assign(legend.dataset, { weight: "weight", gain: "without it" });
  const rows = classes.map((name) => {
    const cell = make("td", { className: "bar" });
    body.append(make("tr", {}, make("th", { scope: "row", textContent: name }), cell));
    return cell;
  });
  const field = make("label", { className: "field" });
  field.append(make("span", { textContent: "Your text" }), input);
  const choice = make("label", {}, make("span", { textContent: "Colour by" }), which);
  stage.append(make("div", {}, field, choice), make("div", {}, whole, told), key, words, tokens);

  let pieces = []; // of each word
  let buttons = []; // one for each word
  let out = new Set(); // numbers of the words that were taken out
  let turn = 0; // what is weighed; what was weighed before stops
  function change() {
    pieces = splitWords(input.value)
      .slice(0, MOST)
      .map((word) => ({ word, tokens: tokenize(word, idOf) }));
    out = new Set();
    buttons = pieces.map(({ word }, n) => {
      const textContent = word.length > 30 ? `${word.slice(0, 29)}…` : word;
      const button = make("button", { type: "button", textContent, tabIndex: n ? -1 : 0 });
      button.addEventListener("keydown", (event) => step(event, n));
      button.addEventListener("click", () => {
        if (!out.delete(n)) out.add(n);
        update();
      });
      return button;
    });
    words.replaceChildren(legend, ...buttons);
    update();
  }
  function step(event, n) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = buttons[clamp(n + way, 0, pieces.length - 1)];
    buttons.forEach((button) => (button.tabIndex = button === next ? 0 : -1));
    next.focus();
  }

  const leave = (without) => pieces.flatMap(({ tokens }, n) => (without.has(n) ? [] : tokens));
  const isKnown = (token) => token !== "[UNK]";
  const read = (without) =>
    model.read(["[CLS]", ...leave(without), "[SEP]"].map((token) => idOf.get(token)));
  function update() {
    const { shares, heads } = read(out);
    const left = leave(out);
    rows.forEach((cell, c) => {
      const share = left.some(isKnown) ? shares[c] : 0; // without a word there is no answer
      cell.textContent = left.some(isKnown) ? two(share) : "–";
      cell.style.setProperty("--share", share);
    });
    const chosen = which.selectedIndex ? [heads[which.selectedIndex - 1]] : heads;
    let at = 1; // behind [CLS]
    const weights = pieces.map(({ tokens }, n) => {
      if (out.has(n)) return 0;
      const own = Array.from(tokens, () => at++);
      const sum = own.reduce((all, i) => all + chosen.reduce((a, head) => a + head[i], 0), 0);
      return sum / (own.length || 1); // the mean of its pieces: a long word is not heavy by its length
    });
    const most = Math.max(...weights, 1e-9);
    buttons.forEach((button, n) => {
      button.style.setProperty("--share", weights[n] / most);
      button.dataset.weight = out.has(n) ? "–" : two(weights[n] / chosen.length);
      set(button, { "aria-pressed": out.has(n), title: pieces[n].tokens.join(" ") });
    });
    const isMoved = input.value !== opening || out.size > 0 || which.selectedIndex > 0;
    stage.classList.toggle("moved", isMoved);
    tokens.textContent = `Tokens: ${left.join(" ") || "none"}`;
    told.textContent = say(shares);
    takeOutEach(shares);
  }
  // What the answer gains without each word, one word after the other: the page stays quick.
  async function takeOutEach(shares) {
    const mine = ++turn;
    const best = shares.indexOf(Math.max(...shares));
    for (const [n, button] of buttons.entries()) {
      if (n % 8 === 0) await new Promise((done) => setTimeout(done));
      if (mine !== turn) return;
      const without = new Set([...out, n]);
      const gain = Math.round(100 * (read(without).shares[best] - shares[best])) / 100;
      const isAnswered = !out.has(n) && leave(without).some(isKnown);
      button.dataset.gain = isAnswered ? (gain > 0 ? "+" : "") + two(gain) : "–";
    }
  }
  function say(shares) {
    const left = leave(out);
    if (!pieces.length) return "There is nothing to read: type a few English words.";
    if (!left.length) return "No word is left to read: click one to put it back.";
    if (!left.some(isKnown)) return "The tokenizer knows none of this, so there is no answer.";
    const top = (all) => all.indexOf(Math.max(...all));
    const name = (all) => `${classes[top(all)]}, ${two(all[top(all)])}`;
    const cut = splitWords(input.value).length > MOST ? ` Only ${MOST} words are read.` : "";
    const isSure = Math.max(...shares) >= 0.5;
    const answer = name(shares) + (isSure ? "" : ": less than half, so perhaps none of these");
    if (!out.size) return `${answer}. Take a word out: click it.${cut}`;
    return `${answer}. With all words: ${name(read(new Set()).shares)}.${cut}`;
  }
  change();
}
