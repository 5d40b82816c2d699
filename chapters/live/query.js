// A query among keys: scores, weights and output. The last two numbers of a query span the plane.
function query(stage, { names, dims, keys, values, start, scale, low, high, unit }) {
  const [key, value] = [Matrix.from(keys), Matrix.from(values)];
  const say = (row) => (row.length > 1 ? `(${[...row].map(two).join(",\u00a0")})` : two(row[0])) + unit;
  // Names that are numbers are told from numbers.
  const called = names.map((name) => (/^\d/.test(name) ? `key ${name}` : name));
  const pane = make("div");
  const unseen = dims
    .slice(0, -2)
    .map((name) => ` The picture does not show ${name}: the score in the table counts it.`);
  const hint = "Drag the blue point, or move its sliders.";
  pane.append(make("p", { textContent: hint + unseen.join("") }));
  const numbers = dims.map((name, i) =>
    slider(pane, `query, ${name}`, { min: low, max: high, step: 0.02, value: start[i] }, update),
  );
  const times = slider(pane, "scale", { min: 0, max: 8, value: scale }, update);

  const picture = set(draw(pane, "svg", { viewBox: "0 0 320 320", role: "img" }), {
    "aria-label": `The query among the keys; ${dims.at(-2)} to the right, ${dims.at(-1)} upwards.`,
  });
  const across = (x) => 30 + (260 * (x - low)) / (high - low);
  const up = (y) => 320 - across(y);
  const ends = { x1: across(low), x2: across(high), y1: up(low), y2: up(high) };
  draw(picture, "line", { ...ends, y1: up(0), y2: up(0), class: "axis" });
  draw(picture, "line", { ...ends, x1: across(0), x2: across(0), class: "axis" });
  draw(picture, "text", { x: 308, y: up(0) + 18, "text-anchor": "end" }, `${dims.at(-2)} →`);
  draw(picture, "text", { x: across(0) + 6, y: 16 }, `↑ ${dims.at(-1)}`);
  const place = (row) => ({ cx: across(row.at(-2)), cy: up(row.at(-1)) });
  const sides = [[0, -1], [0, 1], [1, 0], [-1, 0]]; // of a name: over its dot, under it, beside it
  const taken = keys.map((row) => Object.values(place(row)));
  const grow = keys.map((row, s) => {
    const { cx, cy } = place(row);
    const half = 4 * names[s].length; // of its name's width
    const at = ([dx, dy]) => [cx + dx * (half + 16), cy + dy * 20];
    const isFree = ([x, y]) =>
      taken.every(([a, b]) => Math.abs(x - a) > half + 8 || Math.abs(y - b) > 14);
    const side = sides.find((side) => isFree(at(side))) ?? sides[0];
    taken.push(at(side));
    const dot = draw(picture, "circle", { cx, cy, class: "key" });
    const name = draw(picture, "text", { "text-anchor": "middle" }, names[s]);
    const [dx, dy] = side;
    return (r) => {
      set(dot, { r });
      set(name, { x: cx + dx * (r + half + 3), y: cy + dy * (r + 3) + (dy < 0 ? 0 : dy ? 10 : 5) });
    };
  });
  const within = value.columns === dims.length && draw(picture, "path", { class: "within" });
  const arrow = draw(picture, "line", { x1: across(0), y1: up(0), class: "query" });
  const handle = draw(picture, "g");
  draw(handle, "circle", { r: 24, fill: "transparent" });
  draw(handle, "circle", { r: 9, class: "tip" });
  draw(handle, "text", { y: 26, "text-anchor": "middle", class: "tip" }, "query");
  const move = ({ x, y }) => {
    const to = [low + ((x - 30) * (high - low)) / 260, low + ((290 - y) * (high - low)) / 260];
    numbers.slice(-2).forEach((number, i) => (number.value = clamp(to[i], low, high)));
    update();
  };
  drag(picture, handle, move);

  const sums = table("What each number adds to the score", ["key", ...dims, "score"]);
  const shares = table("Weight and value of each key", ["key", "weight", "value"]);
  shares.whole.style.marginTop = "1rem";
  const rows = names.map((name, s) => {
    const [score, weight] = [make("td"), make("td", { className: "bar" })];
    const parts = dims.map(() => make("td"));
    const head = () => make("th", { scope: "row", textContent: name });
    const last = make("td", { textContent: say(value.row(s)) });
    sums.body.append(make("tr", {}, head(), ...parts, score));
    shares.body.append(make("tr", {}, head(), weight, last));
    return { parts, score, weight };
  });
  const told = set(make("p"), { role: "status" });
  const counted = make("p");
  stage.append(pane, make("div", {}, sums.whole, counted, shares.whole, told));
  const exact = (number) => two(Math.round(100 * number) / 100); // no −0.00
  // Without zeros at the end; with brackets around what is negative.
  const brief = (number) => exact(number).replace(/\.?0+$/, "");
  const factor = (number) => (number < 0 ? `(${brief(number)})` : brief(number));

  function update() {
    const q = Matrix.from([numbers.map((number) => number.value)]); // (1, D)
    const options = { scale: times.value };
    const { output, weights, scores } = scaledDotProductAttention(q, key, value, null, options);
    rows.forEach(({ parts, score, weight }, s) => {
      const share = weights.data[s];
      parts.forEach((part, i) => (part.textContent = exact(times.value * q.data[i] * key.row(s)[i])));
      score.textContent = exact(scores.data[s]);
      weight.textContent = two(share);
      weight.style.setProperty("--share", share);
      grow[s](4 + 16 * Math.sqrt(share));
    });
    const { cx, cy } = place([...q.row(0)]);
    set(arrow, { x2: cx, y2: cy });
    set(handle, { transform: `translate(${cx} ${cy})` });
    if (within) {
      const at = place([...output.row(0)]);
      set(within, { d: `M${at.cx} ${at.cy - 8}l8 8l-8 8l-8-8z` });
    }
    const highest = Math.max(...weights.data);
    const best = [...names.keys()].filter((s) => highest - weights.data[s] < 1e-6); // but for rounding
    const which = best.map((s) => called[s]).join(" and ");
    const alike = best.length === names.length ? "all alike" : which;
    const most = `Most weight: ${alike}, ${two(highest)}${best.length > 1 ? " each" : ""}.`;
    const terms = [...key.row(best[0])].map((number, i) => `${factor(q.data[i])}·${factor(number)}`);
    const sum = terms.join(" + ");
    const all = times.value === 1 ? sum : `${brief(times.value)}·(${sum})`;
    counted.textContent = `Score of ${called[best[0]]}: ${all} = ${brief(scores.data[best[0]])}.`;
    told.textContent = `${most} Output: ${say(output.row(0))}${within ? ", the diamond" : ""}.`;
  }
  update();
}
