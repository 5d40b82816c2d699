// A query and a key on their clocks: what their product is when both move on. What is said follows
// the slider that was moved.
function turn(stage, { query, key, places, furthest }) {
  const [q, k] = [Matrix.from([query]), Matrix.from([key])];
  const [D, half] = [query.length, query.length / 2];
  const rotary = new RotaryPositionalEncoding(D);
  const clock = new SinusoidalPositionalEncoding(D).table(places + 2 * furthest + 1);
  const added = (x, t) => x.row(0).map((number, i) => number + clock.row(t)[i]);
  const products = {
    "rotary: both turned": (t, j) => dot(rotary.rotate(q, t).data, rotary.rotate(k, j).data),
    "sinusoidal: places, no tokens": (t, j) => dot(clock.row(t), clock.row(j)),
    "sinusoidal: places plus tokens": (t, j) => dot(added(q, t), added(k, j)),
  };
  const all = Array.from({ length: places + 1 }, (_, n) => furthest + n);
  const [pane, side] = [make("div"), make("div")];
  const at = { min: furthest, max: furthest + places, step: 1, say: String };
  const where = slider(pane, "query at place", { ...at, value: furthest }, () => update("query"));
  const sign = (n) => `${n > 0 ? "+" : n < 0 ? "−" : ""}${Math.abs(n)}`;
  const offset = slider(
    pane,
    "key, places from it",
    { min: -furthest, max: furthest, step: 1, value: 2, say: sign },
    () => update("key"),
  );

  const told = set(make("p"), { role: "status", class: "told" }); // beside the sliders, on a phone too
  pane.append(told);
  const names = ["hand-q", "hand-k"];
  const legend = make("p", {
    className: "legend",
    textContent: `Rotary: a clock for each of the ${half} pairs of numbers. A hand is as long as its pair: `,
  });
  ["query", "key"].forEach((name, n) => {
    const line = draw(legend, "svg", { viewBox: "0 0 24 8", "aria-hidden": true });
    draw(line, "line", { x2: 24, y1: 4, y2: 4, class: names[n] });
    legend.append(`${name}${n ? ". " : ", "}`);
  });
  legend.append(
    "Below: the turn from place to place, the angle between the hands, and what the clock adds to the product, length times length times the angle’s cosine.",
  );
  pane.append(legend);
  const wide = 320 / half;
  const r = Math.min(58, wide / 2 - 4);
  const label = "Rotary: a hand of the query and one of the key, turned by their places.";
  const size = { viewBox: `0 0 320 ${2 * r + 60}` };
  const clocks = draw(pane, "svg", { ...size, role: "img", "aria-label": label });
  const lengths = [query, key].flatMap((x) =>
    Array.from({ length: half }, (_, i) => Math.hypot(x[i], x[i + half])),
  );
  const longest = Math.max(...lengths);
  const hands = Array.from({ length: half }, (_, i) => {
    const group = draw(clocks, "g", { transform: `translate(${wide * (i + 0.5)} ${r + 2})` });
    draw(group, "circle", { r, class: "face" });
    const pace = positionAngles(2, D).row(1)[i];
    const texts = [`${Number(pace.toPrecision(2))} radian`, "", ""].map((text, n) =>
      draw(group, "text", { y: r + 18 + 17 * n, "text-anchor": "middle" }, text),
    );
    const arc = draw(group, "path", { class: "arc" });
    return {
      arc,
      between: texts[1],
      adds: texts[2],
      lines: names.map((name) => draw(group, "line", { class: name })),
    };
  });

  const lines = Object.values(products);
  const offsets = Array.from({ length: 2 * furthest + 1 }, (_, n) => n - furthest);
  const every = lines.flatMap((product) =>
    all.flatMap((t) => offsets.map((n) => product(t, t + n))),
  );
  const [low, high] = [Math.min(0, ...every), Math.max(0, ...every)];
  const across = (t) => 34 + (276 * (t - at.min)) / places;
  const up = (y) => 160 - (150 * (y - low)) / (high - low);
  const described = "The three products where the query has been; the table has their numbers.";
  const chart = draw(side, "svg", { viewBox: "0 0 320 180", role: "img", "aria-label": described });
  draw(chart, "line", { x1: 34, x2: 310, y1: up(0), y2: up(0), class: "axis" });
  const marks = new Set([Math.ceil(low), 0, Math.floor(high)]);
  for (const y of [...marks].filter((y) => !y || Math.abs(y) > 0.1 * (high - low)))
    draw(chart, "text", { x: 26, y: up(y) + 4, "text-anchor": "end" }, sign(y));
  draw(chart, "text", { x: 34, y: 177 }, at.min);
  draw(chart, "text", { x: 310, y: 177, "text-anchor": "end" }, `place of the query → ${at.max}`);
  const curves = lines.map((_, n) => ({
    line: draw(chart, "polyline", { class: `curve c${n}` }),
    dot: draw(chart, "circle", { r: 5, class: `c${n}` }),
  }));

  const { whole, body } = table("Query times key", ["product", "here", "so far"]);
  const rows = Object.keys(products).map((name, n) => {
    const [here, range] = [make("td"), make("td")];
    const head = make("th", { scope: "row", className: `c${n}`, textContent: name });
    body.append(make("tr", {}, head, here, range));
    return { here, range };
  });
  side.append(whole);
  stage.append(pane, side);

  let seen = []; // the places where the query has been, and those between
  function update(moved) {
    const [t, n] = [where.value, offset.value];
    const [from, to] = [Math.min(t, ...seen), Math.max(t, ...seen)];
    seen = all.filter((place) => from <= place && place <= to);
    const now = lines.map((product) => product(t, t + n));
    lines.forEach((product, i) => {
      const along = seen.map((place) => product(place, place + n));
      const [least, most] = [Math.min(...along), Math.max(...along)];
      const { line, dot } = curves[i];
      set(line, { points: along.map((y, m) => `${across(seen[m])},${up(y)}`).join(" ") });
      set(dot, { cx: across(t), cy: up(now[i]) });
      rows[i].here.textContent = two(now[i]);
      const range = most - least < 0.005 ? "the same" : `${two(least)} to ${two(most)}`;
      rows[i].range.textContent = seen.length > 1 ? range : "–";
    });
    const both = [rotary.rotate(q, t).data, rotary.rotate(k, t + n).data];
    hands.forEach(({ arc, between, adds, lines }, i) => {
      const tips = both.map((data) => [data[i + half] / longest, -data[i] / longest]);
      tips.forEach(([x, y], side) => set(lines[side], { x2: r * x, y2: r * y }));
      const added = both[0][i] * both[1][i] + both[0][i + half] * both[1][i + half];
      adds.textContent = `${added < 0 ? "" : "+"}${two(added)}`;
      const [from, to] = tips.map(([x, y]) => [x, y].map((one) => (12 * one) / Math.hypot(x, y)));
      const apart = Math.atan2(from[0] * to[1] - from[1] * to[0], dot(from, to)); // clockwise
      if (Number.isNaN(apart)) return;
      set(arc, { d: `M0 0L${from}A12 12 0 0 ${Number(apart > 0)} ${to}Z` });
      between.textContent = `${Math.round((Math.abs(apart) * 180) / Math.PI)}°`;
    });
    const [rotated, , sum] = now.map(two);
    const far = `${Math.abs(n)} place${Math.abs(n) > 1 ? "s" : ""}`;
    const stands = n ? `${far} ${n < 0 ? "before" : "after"} the query` : "where the query stands";
    const angles = n
      ? "other angles, another product."
      : "both turn alike, and the angles left are those between query and key themselves.";
    const says = {
      begin: `The key stands ${stands}. Rotary gives ${rotated}, places added to tokens ${sum}. Move the query: which of them stays?`,
      query: `Query at ${t}, key at ${t + n}. Both hands of a clock turned alike: the angles stay, and rotary gives ${rotated}, as everywhere at this distance. Places added to tokens give ${sum} here; so far, ${rows[2].range.textContent}.`,
      key: `Now the key stands ${stands}: ${angles} Rotary gives ${rotated}. Move the query: does it stay?`,
    };
    told.textContent = says[moved];
  }
  update("begin");
}
