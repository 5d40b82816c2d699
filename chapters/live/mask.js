// A mask to click: what its true and false do to the weights, in either convention.
function mask(stage, { tokens, x, length }) {
  const [rows, T] = [Matrix.from(x), tokens.length];
  const presets = {
    everything: () => true,
    padding: (t, s) => validLengthMask(length, T)[s],
    causal: (t, s) => causalMask(T, T)[t][s],
    both: (t, s) => presets.padding(t, s) && presets.causal(t, s),
  };
  let given = mapMask(causalMask(T, T), (_, t, s) => presets.both(t, s));
  const conventions = [
    "may attend: F.scaled_dot_product_attention",
    "blocked: nn.MultiheadAttention",
  ];
  const choice = make("select", { onchange: update });
  choice.append(...conventions.map((textContent) => make("option", { textContent })));
  const blocks = () => choice.selectedIndex === 1;
  const controls = make("div", { className: "buttons" });
  controls.append(make("label", {}, make("span", { textContent: "True means" }), choice));
  const button = (textContent, change) => {
    const onclick = () => {
      given = mapMask(given, change);
      update();
    };
    const made = make("button", { type: "button", textContent, onclick });
    controls.append(made);
    return made;
  };
  const chosen = Object.entries(presets).map(([name, allows]) => {
    const one = button(name, (_, t, s) => allows(t, s) !== blocks());
    return { one, allows };
  });
  button("invert", (one) => !one);

  const grids = ["The mask you give: click a cell", "The weights it makes"].map((caption) => {
    const { whole, body } = table(caption, ["", ...tokens]);
    const lines = tokens.map((token, t) => {
      const cells = tokens.map(() => make("td"));
      const name = make("th", { scope: "row", textContent: token });
      body.append(make("tr", { className: t < length ? "" : "unread" }, name, ...cells));
      return cells;
    });
    return { whole, lines };
  });
  const cells = mapMask(given, (_, t, s) => {
    const cell = make("button", { type: "button", tabIndex: t + s ? -1 : 0 });
    cell.addEventListener("click", () => {
      given[t][s] = !given[t][s];
      update();
    });
    cell.addEventListener("focus", () => {
      cells.flat().forEach((other) => (other.tabIndex = other === cell ? 0 : -1));
    });
    cell.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      cells[clamp(t + step[0], 0, T - 1)][clamp(s + step[1], 0, T - 1)].focus();
    });
    grids[0].lines[t][s].append(cell);
    return cell;
  });
  const told = set(make("p"), { role: "status" });
  stage.append(controls, ...grids.map(({ whole }) => make("div", {}, whole)), told);

  function update() {
    const allowed = blocks() ? blockedToAllowed(given) : given;
    const { weights } = scaledDotProductAttention(rows, rows, rows, allowed);
    mapMask(allowed, (one, t, s) => {
      const word = given[t][s] ? "True" : "False";
      const cell = cells[t][s];
      Object.assign(cell, { textContent: word, className: one ? "allowed" : "" });
      set(cell, { "aria-label": `query ${tokens[t]} ${t}, key ${tokens[s]} ${s}: ${word}` });
      const share = weights.row(t)[s];
      grids[1].lines[t][s].textContent = one ? two(share) : "–";
      grids[1].lines[t][s].style.setProperty("--share", share);
    });
    for (const { one, allows } of chosen) {
      const same = allowed.every((row, t) => row.every((may, s) => may === allows(t, s)));
      set(one, { "aria-pressed": same });
    }
    const empty = tokens.filter((_, t) => !allowed[t].some(Boolean));
    const output = blocks()
      ? "The course's layer gives zeros for it, nn.MultiheadAttention by default nan."
      : "F.scaled_dot_product_attention gives zeros for it.";
    // The words that read there, each with the share of its weight.
    const readers = (begins, end) =>
      tokens.slice(0, length).flatMap((token, t) => {
        const share = weights.row(t).slice(begins(t), end).reduce((sum, one) => sum + one, 0);
        return share > 0 ? `${token} ${two(share)}` : [];
      });
    const onPadding = readers(() => length, T);
    const onFuture = readers((t) => t + 1, length);
    const said = [];
    if (empty.length)
      said.push(`Blocked everywhere: ${empty.join(", ")}. Such a row has no weights. ${output}`);
    if (onPadding.length)
      said.push(`Padding is read. Share of the weight on it: ${onPadding.join(", ")}.`);
    if (!said.length)
      said.push(
        "Each row shares a weight of 1. The grey rows are padding: what they give is left out.",
      );
    if (onFuture.length)
      said.push(
        `Later words are read, which only a causal mask forbids. Share of the weight on them: ${onFuture.join(", ")}.`,
      );
    told.textContent = said.join(" ");
  }
  update();
}
