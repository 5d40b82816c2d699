// A mask in a grid of queries and keys: what it blocks, and who gets the weight instead.
function mask(stage, { tokens, x, length }) {
  const [rows, T] = [Matrix.from(x), tokens.length];
  const [padding, causal] = [validLengthMask(length, T), causalMask(T, T)];
  const every = mapMask(causal, () => true);
  const masks = {
    none: null,
    padding: mapMask(every, (_, t, s) => padding[s]),
    causal,
    both: mapMask(causal, (one, t, s) => one && padding[s]),
  };
  // To the layer True is "blocked", so it has to be given the opposite, ~mask.
  const readers = [
    ["F.scaled_dot_product_attention", "mask", "may be read", "Read as you set it."],
    ["nn.MultiheadAttention", "mask", "blocked", "Read the other way round. Try ~mask."],
    ["nn.MultiheadAttention", "~mask", "blocked", "~ swaps True and False: read as you set it."],
  ];
  let [written, row, reader] = [null, 0, 0];
  const [above, below] = ["Mask", ""].map((says) => make("div", { className: "buttons" }, says));
  const choice = (line, textContent, chosen, more) => {
    const onclick = () => update(chosen());
    return line.appendChild(make("button", { type: "button", textContent, onclick, ...more }));
  };
  const ofMasks = Object.keys(masks).map((name) => choice(above, name, () => (written = masks[name])));
  const ofReaders = readers.map(([name, given], i) => {
    if (name !== readers[i - 1]?.[0]) below.append(`${name} gets`);
    const button = choice(below, given, () => (reader = i));
    return set(button, { "aria-label": `${name}(${given})` });
  });

  // Blocks these pairs, or frees them where all are blocked.
  const flip = (these) => {
    const now = written ?? every;
    const free = !now.some((line, t) => line.some((one, s) => one && these(t, s)));
    written = mapMask(now, (one, t, s) => (these(t, s) ? free : one));
  };

  const { whole, body } = table("", ["query", ...tokens]);
  [...whole.rows[0].cells].slice(1).forEach((head, s) => {
    head.textContent = "";
    choice(head, tokens[s], () => flip((_, j) => j === s), { title: "block or free for all queries" });
  });
  const corner = Object.assign(whole.rows[0].cells[0], { rowSpan: 2 });
  whole.tHead.prepend(make("tr", {}, corner, make("th", { colSpan: T, textContent: "key" })));
  const lines = tokens.map((textContent, t) => {
    const onpointerenter = () => update((row = t));
    return body.appendChild(make("tr", { onpointerenter }, make("th", { scope: "row", textContent })));
  });
  const cells = mapMask(causal, (_, t, s) => {
    const only = () => flip((i, j) => i === t && j === s);
    const cell = choice(lines[t].appendChild(make("td")), "", only, { tabIndex: t + s ? -1 : 0 });
    cell.addEventListener("focus", () => {
      cells.flat().forEach((other) => (other.tabIndex = other === cell ? 0 : -1));
      update((row = t));
    });
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    cell.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      cells[clamp(t + step[0], 0, T - 1)][clamp(s + step[1], 0, T - 1)].focus();
    });
    return cell;
  });
  const [title, ofMask, ofRow, ofPadding] = [make("b"), make("p"), make("p"), make("p")];
  const told = set(make("div", {}, ofRow, ofMask), { role: "status" }); // and the bars' numbers
  const bars = ["Without a mask", "With this mask"].map((says) => {
    const bar = make("div", { className: "shares" }, ...tokens.map(() => make("span")));
    return set(make("div", {}, says, bar), { "aria-hidden": true });
  });
  const legend = make("p", {}, "blue: weight, –: blocked, !: against your mask, 0/0: no key left");
  const grid = make("div", {}, whole, legend, ofPadding);
  stage.append(above, below, grid, make("div", {}, title, ...bars, told));

  function update() {
    const meant = written ?? every;
    const [name, given, isTrue, isRead] = readers[reader];
    const [read, handed] = [reader === 1, reader === 2].map((turned) =>
      turned && written ? blockedToAllowed(meant) : meant,
    );
    const [before, weights] = [null, read].map(
      (mask) => scaledDotProductAttention(rows, rows, rows, mask).weights,
    );
    mapMask(read, (one, t, s) => {
      const share = weights.row(t)[s];
      const word = !written ? "" : handed[t][s] ? "True" : "False";
      const wrong = one === meant[t][s] ? "" : "! ";
      const number = one ? two(share) : read[t].some(Boolean) ? "–" : "0/0";
      const className = `${one ? "allowed" : ""} ${wrong && "wrong"}`;
      const cell = Object.assign(cells[t][s], { className });
      cell.replaceChildren(make("span", { textContent: word }), wrong, number);
      cell.style.setProperty("--share", share ** 0.7); // small ones are told apart
      const against = wrong && `${one ? "read" : "blocked"} against your mask, `;
      const pair = `query ${tokens[t]} ${t}, key ${tokens[s]} ${s}`;
      set(cell, { "aria-label": `${pair}: ${word} ${against}weight ${number}` });
    });
    lines.forEach((line, t) => (line.className = t === row ? "chosen" : ""));
    Object.values(masks).forEach((one, i) =>
      set(ofMasks[i], { "aria-pressed": String(one) === String(written) }),
    );
    ofReaders.forEach((button, i) => set(button, { "aria-pressed": i === reader }));
    whole.caption.textContent = written
      ? `Given: ${given}\nTrue = ${isTrue}`
      : "No mask is given.\nTap a cell to block it, a key for its column.";
    const still = `The ${tokens[length]} rows still read, which does no harm: their outputs are not used.`;
    const unread = [meant, read].every((lines) => !lines.some((line) => line[length]));
    ofPadding.textContent = unread && read[length].some(Boolean) ? still : "";
    ofMask.textContent = written ? isRead : "";
    title.textContent = `Query “${tokens[row]}” (or tap another row)`;
    const [was, is] = [before, weights].map((all) => all.row(row));
    [was, is].forEach((shares, i) =>
      bars[i].querySelectorAll("span").forEach((part, s) => {
        const share = shares[s];
        part.style.flexGrow = share;
        part.className = read[row][s] ? "" : "out";
        part.textContent = share < 0.1 ? "" : `${tokens[s]}\n${two(share)}`;
      }),
    );
    const reads = [...tokens.keys()].filter((s) => read[row][s]);
    const left = reads.reduce((sum, s) => sum + was[s], 0).toFixed(3);
    const each = reads.map((s) => `“${tokens[s]}” ${was[s].toFixed(3)} / ${left} ≈ ${two(is[s])}`);
    ofRow.textContent = !reads.length
      ? `No key is left, and the softmax is 0/0: ${name} gives ${reader ? "NaN" : "zeros"}.`
      : reads.length === T
        ? "No key is blocked: both bars are the same."
        : `What is read had ${left} of the weight, and now has all of it: ${each.join(", ")}.`;
  }
  update();
}
