// A mask in a grid of queries and keys: what it blocks, and who gets the weight instead.
function mask(stage, { tokens, x, length }) {
  const [rows, T] = [Matrix.from(x), tokens.length];
  const [padding, causal] = [validLengthMask(length, T), causalMask(T, T)];
  const every = mapMask(causal, () => true);
  const masks = {
    none: [every, "every query may read every key, padding too"],
    padding: [mapMask(every, (_, t, s) => padding[s]), "no query may read [PAD]"],
    causal: [causal, "a query may read itself and what is before it"],
    both: [mapMask(causal, (one, t, s) => one && padding[s]), "a query may read the words so far"],
  };
  // What is written says who may be read; its reader may take it for the opposite.
  let [written, row] = [masks.padding[0], 0];
  const reader = make("select", { onchange: update });
  const names = ["F.scaled_dot_product_attention", "nn.MultiheadAttention"];
  reader.append(...names.map((name) => make("option", {}, name)));
  const controls = make("div", { className: "buttons" });
  controls.append(make("span", { textContent: "Mask" }));
  const buttons = Object.entries(masks).map(([textContent, [mask]]) => {
    const onclick = () => update((written = mask));
    controls.append(make("button", { type: "button", textContent, onclick }));
    return controls.lastChild;
  });
  controls.append(make("label", {}, make("span", { textContent: "Read by" }), reader));

  const caption = "True = may attend. Tap a cell to change it, a row to see its sum";
  const { whole, body } = table(caption, ["query", ...tokens]);
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
    const flipped = () => mapMask(written, (one, i, j) => one !== (i === t && j === s));
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
  const legend = make("p");
  for (const [kind, says] of [
    ["allowed", "read: the bluer, the more weight"],
    ["", "– blocked: no weight"],
    ["allowed leak", "! a leak: read, though it says False"],
  ])
    legend.append(make("span", { className: `swatch ${kind}` }), says, make("br"));
  const [ofMask, ofRow] = [make("p"), make("p")];
  const told = set(make("div", {}, ofMask, ofRow), { role: "status" });
  stage.append(controls, make("div", {}, whole), make("div", {}, legend, told));

  function update() {
    const turns = reader.selectedIndex === 1; // to it True is "blocked"
    const read = turns ? blockedToAllowed(written) : written;
    const [weights, before] = [read, null].map(
      (mask) => scaledDotProductAttention(rows, rows, rows, mask).weights,
    );
    mapMask(read, (one, t, s) => {
      const [word, share] = [written[t][s] ? "True" : "False", weights.row(t)[s]];
      const leak = one && !written[t][s];
      const shown = one ? two(share) : read[t].some(Boolean) ? "–" : "0/0";
      const kind = `${one ? "allowed" : ""} ${leak ? "leak" : ""}`;
      const cell = Object.assign(cells[t][s], { className: kind });
      cell.replaceChildren(make("span", { textContent: word }), leak ? "! " : "", shown);
      cell.style.setProperty("--share", share);
      const pair = `query ${tokens[t]} ${t}, key ${tokens[s]} ${s}`;
      set(cell, { "aria-label": `${pair}: ${word}, weight ${shown}${leak ? ", a leak" : ""}` });
    });
    lines.forEach((line, t) => (line.className = t === row ? "chosen" : ""));
    const [all, isIt] = [Object.values(masks), ([mask]) => String(mask) === String(written)];
    all.forEach((one, i) => set(buttons[i], { "aria-pressed": isIt(one) }));
    const rule = all.find(isIt)?.[1] ?? "your own";
    const leaks = body.querySelectorAll(".leak").length;
    const empty = read.filter((one) => !one.some(Boolean)).length;
    const takes = turns ? "blocked, the opposite (it needs ~mask)" : "may attend, as meant";
    ofMask.textContent = `Mask: ${rule}. ${reader.value} takes True as ${takes}. Leaks: ${leaks}.`;
    if (empty) ofMask.append(` Queries with no key left (0/0): ${empty}.`);

    const reads = [...tokens.keys()].filter((s) => read[row][s]);
    const left = reads.reduce((sum, s) => sum + before.row(row)[s], 0);
    const isWhole = reads.length === T;
    const shares = reads.map((s) => {
      const part = isWhole ? "" : `${before.row(row)[s].toFixed(3)} / ${left.toFixed(3)} = `;
      return `“${tokens[s]}” ${part}${two(weights.row(row)[s])}`;
    });
    const padded = weights.row(row).slice(length).reduce((sum, share) => sum + share, 0);
    const tells = !reads.length
      ? `no key is left, and the softmax is 0/0. ${reader.value} gives ${turns ? "nan" : "zeros"}`
      : isWhole
        ? `every key is read: ${shares.join(", ")}. Padding has ${two(padded)} in all`
        : `under “none” the keys it reads have ${left.toFixed(3)} of its weight. ` +
          `Divided by that, they make 1: ${shares.join(", ")}`;
    const unread = row < length ? "" : " This query is padding: its output is left out.";
    ofRow.textContent = `Query “${tokens[row]}”: ${tells}.${unread}`;
  }
  update();
}
