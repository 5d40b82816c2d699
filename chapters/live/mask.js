// A mask in a grid of queries and keys: what it blocks, and who gets the weight instead.
function mask(stage, { tokens, x, length }) {
  const [rows, T] = [Matrix.from(x), tokens.length];
  const [padding, causal] = [validLengthMask(length, T), causalMask(T, T)];
  const every = mapMask(causal, () => true);
  const masks = {
    none: [null, "every query may read every key, padding too"],
    padding: [mapMask(every, (_, t, s) => padding[s]), "no query may read [PAD]"],
    causal: [causal, "a query may read itself and what is before it"],
    both: [mapMask(causal, (one, t, s) => one && padding[s]), "a query may read the words so far"],
  };
  // What is written says who may be read; its reader may take it for the opposite.
  let [written, row] = [masks.padding[0], 0];
  const reader = make("select", { onchange: update });
  for (const name of ["F.scaled_dot_product_attention", "nn.MultiheadAttention"])
    reader.append(make("option", {}, name));
  const controls = make("div", { className: "buttons" });
  controls.append(make("span", { textContent: "Mask" }));
  const buttons = Object.entries(masks).map(([textContent, [mask]]) => {
    const onclick = () => update((written = mask));
    controls.append(make("button", { type: "button", textContent, onclick }));
    return controls.lastChild;
  });
  controls.append(make("label", {}, make("span", { textContent: "Read by" }), reader));

  const { whole, body } = table("", ["query", ...tokens]);
  const corner = Object.assign(whole.rows[0].cells[0], { rowSpan: 2 });
  whole.tHead.prepend(make("tr", {}, corner, make("th", { colSpan: T, textContent: "key" })));
  const lines = tokens.map((token, t) => {
    const line = make("tr", {}, make("th", { scope: "row", textContent: token }));
    line.addEventListener("pointerenter", () => update((row = t)));
    body.append(line);
    return line;
  });
  const cells = mapMask(causal, (_, t, s) => {
    const cell = make("button", { type: "button", tabIndex: t + s ? -1 : 0 });
    const flipped = () => mapMask(written ?? every, (one, i, j) => one !== (i === t && j === s));
    cell.addEventListener("click", () => update((written = flipped())));
    cell.addEventListener("focus", () => {
      cells.flat().forEach((other) => (other.tabIndex = other === cell ? 0 : -1));
      update((row = t));
    });
    cell.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      cells[clamp(t + step[0], 0, T - 1)][clamp(s + step[1], 0, T - 1)].focus();
    });
    lines[t].append(make("td", {}, cell));
    return cell;
  });
  const kinds = [
    ["allowed", "0.4", "read: the bluer, the more weight"],
    ["", "–", "blocked: no weight"],
    ["allowed leak", "! 0.4", "a leak: False, but read"],
    ["shut", "! –", "wrongly shut: True, but blocked"],
    ["", "0/0", "no key left for this query"],
  ].map(([kind, textContent, says]) =>
    make("div", {}, make("b", { className: `swatch ${kind}`, textContent }), says),
  );
  const legend = make("div", {}, "Tap a cell to change it, a row to see its sum.", ...kinds);
  const [ofMask, ofRow] = [make("p"), make("p")];
  const told = set(make("div", {}, ofMask, ofRow), { role: "status" });
  stage.append(controls, make("div", {}, whole), make("div", {}, legend, told));

  function update() {
    const meant = written ?? every;
    const turns = written && reader.selectedIndex; // to the layer True is "blocked"
    const read = turns ? blockedToAllowed(written) : meant;
    const [weights, before] = [read, null].map(
      (mask) => scaledDotProductAttention(rows, rows, rows, mask).weights,
    );
    mapMask(read, (one, t, s) => {
      const [may, share] = [meant[t][s], weights.row(t)[s]];
      const word = !written ? "no mask" : may ? "True" : "False";
      const wrong = one === may ? "" : one ? "a leak" : "wrongly shut"; // classes, and a label
      const shown = one ? two(share) : read[t].some(Boolean) ? "–" : "0/0";
      const cell = Object.assign(cells[t][s], { className: `${one ? "allowed" : ""} ${wrong}` });
      cell.replaceChildren(make("span", { textContent: written && word }), wrong && "! ", shown);
      cell.style.setProperty("--share", share ** 0.7); // small ones are told apart
      const pair = `query ${tokens[t]} ${t}, key ${tokens[s]} ${s}`;
      set(cell, { "aria-label": `${pair}: ${word}, weight ${shown}${wrong && ", "}${wrong}` });
    });
    lines.forEach((line, t) => (line.className = t === row ? "chosen" : ""));
    const [all, isIt] = [Object.values(masks), ([mask]) => String(mask) === String(written)];
    all.forEach((one, i) => set(buttons[i], { "aria-pressed": isIt(one) }));
    const rule = all.find(isIt)?.[1] ?? "your own";
    const [leaks, shut] = [".leak", ".shut"].map((kind) => body.querySelectorAll(kind).length);
    const empty = read.filter((one) => !one.some(Boolean)).length;
    kinds[4].hidden = !empty;
    const [first, second] = written
      ? ["Written as True = may attend,", `read as True = ${turns ? "blocked" : "may attend"}`]
      : ["None: there is no mask,", "and no True that can be misread"];
    whole.caption.replaceChildren(first, make("br"), second);
    const counts = `Leaks: ${leaks}. Wrongly shut: ${shut}. ${reader.value} needs ~mask.`;
    ofMask.textContent = `Mask: ${rule}. `;
    ofMask.append(turns ? counts : written ? "It is read as it was written." : "");
    if (empty) ofMask.append(` Queries with no key left (0/0): ${empty}.`);

    const reads = [...tokens.keys()].filter((s) => read[row][s]);
    const left = reads.reduce((sum, s) => sum + before.row(row)[s], 0);
    const isWhole = reads.length === T;
    const shares = reads.map((s) => {
      const part = isWhole ? "" : `${before.row(row)[s].toFixed(3)} / ${left.toFixed(3)} ≈ `;
      return `“${tokens[s]}” ${part}${two(weights.row(row)[s])}`;
    });
    const padded = weights.row(row).slice(length).reduce((sum, share) => sum + share, 0);
    const tells = !reads.length
      ? `no key is left, and the softmax is 0/0. ${reader.value} gives ${turns ? "nan" : "zeros"}`
      : isWhole
        ? `every key is read: ${shares.join(", ")}. Padding has ≈ ${two(padded)} in all`
        : `under “none” the keys it reads have ${left.toFixed(3)} of its weight. ` +
          `Divided by that, they make 1: ${shares.join(", ")}`;
    ofRow.textContent = `Query “${tokens[row]}”: ${tells}.`;
  }
  update();
}
