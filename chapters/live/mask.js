// A mask in a grid of queries and keys: what it blocks, and who gets the weight instead.
function mask(stage, { tokens, x, length }) {
  const [rows, T] = [Matrix.from(x), tokens.length];
  const [padding, causal] = [validLengthMask(length, T), causalMask(T, T)];
  const presets = {
    none: [() => true, "None: every query reads every key, padding too."],
    padding: [(_, s) => padding[s], "Padding: no query reads [PAD]."],
    causal: [(t, s) => causal[t][s], "Causal: each query reads itself and what is before it."],
    both: [(t, s) => padding[s] && causal[t][s], "Both: each query reads the words up to itself."],
  };
  let [meant, row] = ["both", 1];
  let given = mapMask(causal, (_, t, s) => presets.both[0](t, s));
  const choice = make("select", { onchange: update });
  choice.append(make("option", {}, "may attend: F.scaled_dot_product_attention"));
  choice.append(make("option", {}, "blocked: nn.MultiheadAttention"));
  const blocks = () => choice.selectedIndex === 1;
  const controls = make("div", { className: "buttons" }, make("span", { textContent: "Mask" }));
  const chosen = Object.entries(presets).map(([name, [allows]]) => {
    const onclick = () => {
      meant = name;
      given = mapMask(given, (_, t, s) => allows(t, s) !== blocks());
      update();
    };
    const one = make("button", { type: "button", textContent: name, onclick });
    controls.append(one);
    return { one, name };
  });
  controls.append(make("label", {}, make("span", { textContent: "True means" }), choice));

  const { whole, body } = table("Click a cell, or point at a row", ["query", ...tokens]);
  const corner = Object.assign(whole.rows[0].cells[0], { rowSpan: 2 });
  whole.tHead.prepend(make("tr", {}, corner, make("th", { colSpan: T, textContent: "key" })));
  const lines = tokens.map((token, t) => {
    const line = make("tr", {}, make("th", { scope: "row", textContent: token }));
    line.addEventListener("pointerenter", () => update((row = t)));
    body.append(line);
    return line;
  });
  const cells = mapMask(given, (_, t, s) => {
    const cell = make("button", { type: "button", tabIndex: t + s ? -1 : 0 });
    cell.addEventListener("click", () => update((given[t][s] = !given[t][s])));
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
    ["allowed leak", "! read, though the mask you chose blocks it"],
  ])
    legend.append(make("span", { className: `swatch ${kind}` }), says, make("br"));
  const [ofMask, ofRow] = [make("p"), make("p")];
  const told = set(make("div", {}, ofMask, ofRow), { role: "status" });
  stage.append(controls, make("div", {}, whole), make("div", {}, legend, told));
  const exact = (number) => number.toFixed(3);

  function update() {
    const allowed = blocks() ? blockedToAllowed(given) : given;
    const [weights, before] = [allowed, null].map(
      (mask) => scaledDotProductAttention(rows, rows, rows, mask).weights,
    );
    const [allows, rule] = presets[meant];
    mapMask(allowed, (one, t, s) => {
      const word = given[t][s] ? "True" : "False";
      const share = weights.row(t)[s];
      const leak = one && !allows(t, s);
      const shown = one ? two(share) : allowed[t].some(Boolean) ? "–" : "0/0";
      const kind = `${one ? "allowed" : ""} ${leak ? "leak" : ""}`;
      const cell = Object.assign(cells[t][s], { className: kind });
      cell.replaceChildren(leak ? "! " : "", shown, make("small", { textContent: word }));
      cell.style.setProperty("--share", share);
      const pair = `query ${tokens[t]} ${t}, key ${tokens[s]} ${s}`;
      set(cell, { "aria-label": `${pair}: ${word}, weight ${shown}${leak ? ", a leak" : ""}` });
    });
    for (const { one, name } of chosen) set(one, { "aria-pressed": name === meant });
    lines.forEach((line, t) => (line.className = t === row ? "chosen" : ""));
    ofMask.textContent = rule;
    if (body.querySelector(".leak")) ofMask.append(" Yet every cell marked ! is read.");
    if (!allowed.every((one) => one.some(Boolean))) ofMask.append(" 0/0: no key is left.");

    const reads = [...tokens.keys()].filter((s) => allowed[row][s]);
    const left = reads.reduce((sum, s) => sum + before.row(row)[s], 0);
    const isWhole = reads.length === T;
    const shares = reads.map((s) => {
      const part = isWhole ? "" : `${exact(before.row(row)[s])} / ${exact(left)} = `;
      return `“${tokens[s]}” ${part}${two(weights.row(row)[s])}`;
    });
    const gives = blocks()
      ? "nn.MultiheadAttention gives nan, the course's layer zeros"
      : "F.scaled_dot_product_attention gives zeros";
    const tells = !reads.length
      ? `no key is left, and the softmax is 0/0: ${gives}`
      : isWhole
        ? `nothing is blocked: ${shares.join(", ")}`
        : `without a mask, the blocked keys would take ${exact(1 - left)} of its weight. ` +
          `The others have ${exact(left)}; divided by that, they make 1: ${shares.join(", ")}`;
    const unread = row < length ? "" : " This query is padding: its output is left out.";
    ofRow.textContent = `Query “${tokens[row]}”: ${tells}.${unread}`;
  }
  update();
}
