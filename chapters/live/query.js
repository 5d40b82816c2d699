// A query among keys: what it scores, how the scores share the weight, and the price they make.
function query(stage, { names, dims, keys, values, start, low, high, unit }) {
  const [key, value] = [Matrix.from(keys), Matrix.from(values)];
  const pane = make("div");
  pane.append("Drag the query. Keys are as wide as their weights. Dashed: equal scores.");
  const picture = set(draw(pane, "svg", { viewBox: "0 0 320 240", role: "img" }), {
    "aria-label": `The query and the keys as arrows; ${dims[0]} to the right, ${dims[1]} upwards.`,
  });
  const numbers = dims.map((name, i) => {
    const range = { min: low[i], max: high[i], step: 0.1, value: start[i] };
    return slider(pane, `query, ${name}`, range, update);
  });

  const size = 300 / (high[0] - low[0]);
  const place = ([x, y]) => [8 + size * (x - low[0]), 18 + size * (high[1] - y)];
  const [[x0, y0], [left, bottom], [right, top]] = [[0, 0], low, high].map(place);
  draw(picture, "path", { d: `M${left} ${y0}H${right}M${x0} ${bottom}V${top}`, class: "axis" });
  draw(picture, "text", { x: left, y: y0 - 12 }, `${dims[0]} →`);
  draw(picture, "text", { x: x0 - 4, y: 12 }, `↑ ${dims[1]}`);
  const lines = draw(picture, "g", { "text-anchor": "middle", style: "color: var(--fig-note)" });
  // The shorter are on top, so that each is seen.
  const [sizes, arrows] = [keys.map((one) => Math.hypot(...one)), []];
  for (const s of [...keys.keys()].sort((a, b) => sizes[b] - sizes[a])) {
    const [[x, y], [a, b]] = [place(keys[s]), keys[s]];
    const transform = `translate(${x0} ${y0}) rotate(${(-Math.atan2(b, a) * 180) / Math.PI})`;
    arrows[s] = draw(picture, "path", { transform, class: "key" });
    const at = b ? { x: x - 12, y: y + 4, "text-anchor": "end" } : { x, y: y + 24 };
    draw(picture, "text", { "text-anchor": "middle", ...at }, names[s]);
  }
  const arrow = draw(picture, "line", { x1: x0, y1: y0, class: "query" });
  const handle = draw(picture, "g");
  const label = draw(handle, "text", { y: -8 }, "query");
  draw(handle, "circle", { r: 24, fill: "transparent" });
  draw(handle, "circle", { r: 9, class: "query", fill: "transparent" });
  drag(picture, handle, ({ x, y }) => {
    numbers[0].value = clamp((x - x0) / size, low[0], high[0]);
    numbers[1].value = clamp((y0 - y) / size, low[1], high[1]);
    update();
  });

  const sums = table("Scores become weights", ["key", "score: ", "exp\u200b(score)", "weight"]);
  const [asks, found] = ["asks", "found"].map(
    (className) => (textContent) => make("b", { className, textContent }),
  );
  sums.whole.rows[0].cells[1].append(asks("query"), " · ", found("key"));
  const line = (name) => {
    const cells = ["", "", ""].map(() => make("td"));
    sums.body.append(make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells));
    return cells;
  };
  const rows = names.map(line);
  const totals = line("sum");
  const balance = draw(make("div"), "svg", { viewBox: "0 10 320 120", "aria-hidden": true });
  const along = (price) => 10 + (300 * price) / (Math.max(...values.flat()) + 1);
  const bars = names.map((name, s) => {
    const x = along(values[s][0]);
    draw(balance, "text", { x, y: 111, "text-anchor": "middle" }, name);
    draw(balance, "text", { x, y: 127, "text-anchor": "middle" }, `${values[s][0]}${unit}`);
    const bar = draw(balance, "rect", { x: x - 17, width: 34, class: "weight" });
    return { bar, share: draw(balance, "text", { x, "text-anchor": "middle" }) };
  });
  draw(balance, "line", { x1: 10, x2: 310, y1: 80, y2: 80, class: "axis" });
  const pivot = draw(balance, "g", { class: "total" });
  draw(pivot, "path", { d: "M0 81l8 13h-16z" });
  const price = draw(pivot, "text", { x: 12, y: 95 });
  const told = set(make("p"), { role: "status" });
  const title = make("b", {}, "The price is where the ", found("weights"), " balance");
  stage.append(pane, make("div", {}, sums.whole, make("p", {}, title), balance.parentNode, told));
  const brief = (number) => two(number).replace(/\.?0+$/, ""); // without zeros at the end

  function update() {
    const q = numbers.map((number) => number.value);
    const result = scaledDotProductAttention(Matrix.from([q]), key, value, null, { scale: 1 });
    const [scores, weights] = [[...result.scores.data], [...result.weights.data]];
    const shown = two(result.output.data[0]) + unit;
    rows.forEach(([score, power, weight], s) => {
      const terms = q.flatMap((one, i) => [
        i ? (one < 0 ? " − " : " + ") : "",
        ...[asks(brief(i ? Math.abs(one) : one)), "·", found(keys[s][i])],
      ]);
      score.replaceChildren(...terms, ` = ${brief(scores[s])}`);
      power.textContent = two(Math.exp(scores[s]));
      weight.textContent = weights[s].toFixed(3);
      const [half, tip] = [1 + 7 * weights[s], size * sizes[s]];
      set(arrows[s], { d: `M0 ${half}H${tip - 15}v6L${tip} 0L${tip - 15} ${-half - 6}v6H0z` });
      set(bars[s].bar, { y: 80 - 54 * weights[s], height: 54 * weights[s] });
      set(bars[s].share, { y: 76 - 54 * weights[s] }).textContent = weights[s].toFixed(3);
    });
    totals[1].textContent = two(scores.reduce((sum, score) => sum + Math.exp(score), 0));
    totals[2].textContent = "1";
    const [x, y] = place(q);
    set(arrow, { x2: x, y2: y });
    set(handle, { transform: `translate(${x} ${y})` });
    set(label, x < 270 ? { x: 12, "text-anchor": "start" } : { x: 0, "text-anchor": "end" });
    set(pivot, { transform: `translate(${along(result.output.data[0])} 0)` });
    price.textContent = shown;
    const terms = weights.map((weight, s) => `${weight.toFixed(3)} · ${values[s][0]}`);
    told.replaceChildren(`Price: ${terms.join(" + ")} ≈ `, make("b", { textContent: shown }));
    // Where a key would have to end for the score s: from border to border, the lower end first.
    lines.replaceChildren();
    for (let s = -9; s <= 9; s++) {
      const ends = [low, high].flatMap(([x, y]) => [
        [x, (s - q[0] * x) / q[1]],
        [(s - q[1] * y) / q[0], y],
      ]);
      const inside = (end) => end.every((one, i) => one > low[i] - 1e-6 && one < high[i] + 1e-6);
      const seen = ends.filter(inside).sort((a, b) => a[1] - b[1]);
      if (seen.length < 2) continue;
      const [[x1, y1], [x2, y2]] = [seen[0], seen.at(-1)].map(place);
      draw(lines, "line", { x1, y1, x2, y2, class: "score", "stroke-dasharray": "4 3" });
      const [cx, cy] = [clamp(x1, 16, 304), clamp(y1, 16, 230)];
      draw(lines, "circle", { cx, cy, r: 10, class: "score" }); // a dash beside it is no minus
      draw(lines, "text", { x: cx, y: cy + 5, style: "stroke: none" }, brief(s));
    }
  }
  update();
}
