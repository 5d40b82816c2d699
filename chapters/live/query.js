// A query among keys: what it scores, how the scores share the weight, and the price they make.
function query(stage, { names, dims, keys, values, start, high, unit }) {
  const [key, value] = [Matrix.from(keys), Matrix.from(values)];
  const pane = make("div");
  pane.append(make("p", { textContent: "Drag the query. Dashed: equal scores." }));
  const picture = set(draw(pane, "svg", { viewBox: "0 0 320 238", role: "img" }), {
    "aria-label": `The query and the keys as arrows; ${dims[0]} to the right, ${dims[1]} upwards.`,
  });
  const numbers = dims.map((name, i) =>
    slider(pane, `query, ${name}`, { min: 0, max: high[i], step: 0.05, value: start[i] }, update),
  );

  const size = 250 / high[0];
  const place = ([x, y]) => [44 + size * x, 20 + size * (high[1] - y)];
  const [[left, low], [right, top]] = [place([0, 0]), place(high)];
  draw(picture, "path", { d: `M${left} ${top}V${low}H${right}`, class: "axis", fill: "none" });
  draw(picture, "text", { x: right, y: 232, "text-anchor": "end" }, `${dims[0]} →`);
  draw(picture, "text", { x: 0, y: 12 }, `↑ ${dims[1]}`);
  // Where a key would have to end for the score s, in every direction.
  const lines = Array.from({ length: Math.ceil(dot(high, high)) }, (_, s) => {
    const line = draw(picture, "line", { class: "score" });
    return { line, name: draw(picture, "text", { "text-anchor": "middle" }, s ? s + 1 : "score 1") };
  });
  names.forEach((name, s) => {
    const [[x, y], [a, b]] = [place(keys[s]), keys[s]];
    draw(picture, "line", { x1: left, y1: low, x2: x, y2: y, class: "key", "stroke-width": 3 });
    const turn = `translate(${x} ${y}) rotate(${(-Math.atan2(b, a) * 180) / Math.PI})`;
    draw(picture, "path", { d: "M2 0l-14-7v14z", transform: turn, class: "key" });
    const at = b ? { x: x - 9, y: y + 4, "text-anchor": "end" } : { x, y: y + 20 };
    draw(picture, "text", { "text-anchor": "middle", ...at }, name);
  });
  const arrow = draw(picture, "line", { x1: left, y1: low, class: "query" });
  const handle = draw(picture, "g");
  draw(handle, "circle", { r: 24, fill: "transparent" });
  draw(handle, "circle", { r: 9, class: "tip" });
  const label = draw(handle, "text", { y: -8 }, "query");
  drag(picture, handle, ({ x, y }) => {
    numbers[0].value = clamp((x - left) / size, 0, high[0]);
    numbers[1].value = clamp((low - y) / size, 0, high[1]);
    update();
  });

  const sums = table("Scores become weights", ["key", "score: ", "exp(score)", "weight"]);
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
      const terms = q.flatMap((one, i) => [i ? " + " : "", asks(brief(one)), "·", found(keys[s][i])]);
      score.replaceChildren(...terms, ` = ${brief(scores[s])}`);
      power.textContent = two(Math.exp(scores[s]));
      weight.textContent = two(weights[s]);
      set(bars[s].bar, { y: 80 - 54 * weights[s], height: 54 * weights[s] });
      set(bars[s].share, { y: 76 - 54 * weights[s] }).textContent = two(weights[s]);
    });
    totals[1].textContent = two(scores.reduce((sum, score) => sum + Math.exp(score), 0));
    totals[2].textContent = "1.00";
    const [x, y] = place(q);
    set(arrow, { x2: x, y2: y });
    set(handle, { transform: `translate(${x} ${y})` });
    set(label, x < 270 ? { x: 12, "text-anchor": "start" } : { x: 0, "text-anchor": "end" });
    set(pivot, { transform: `translate(${along(result.output.data[0])} 0)` });
    price.textContent = shown;
    const terms = weights.map((weight, s) => `${two(weight)} · ${values[s][0]}`);
    told.replaceChildren(`Price: ${terms.join(" + ")} = `, make("b", { textContent: shown }));
    lines.forEach(({ line, name }, i) => {
      const s = i + 1;
      const isSeen = s < dot(q, high);
      for (const part of [line, name]) set(part, { visibility: isSeen ? "visible" : "hidden" });
      if (!isSeen) return;
      const from = s <= q[1] * high[1] ? [0, s / q[1]] : [(s - q[1] * high[1]) / q[0], high[1]];
      const to = s <= q[0] * high[0] ? [s / q[0], 0] : [high[0], (s - q[0] * high[0]) / q[1]];
      const [[x1, y1], [x2, y2]] = [place(from), place(to)];
      set(line, { x1, y1, x2, y2 });
      // Its name stands beside the query, on the side that has more room.
      const [x0, y0] = place(q.map((one) => (one * s) / dot(q, q)));
      const aside = (q[1] > 0.6 * q[0] ? 36 : -36) / Math.hypot(...q);
      const at = { x: x0 + aside * q[1], y: y0 + aside * q[0] + 4 };
      set(name, { ...at, visibility: at.y > top && at.x < right ? "visible" : "hidden" });
    });
  }
  update();
}
