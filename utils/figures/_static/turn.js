// A query and a key on their clocks: what their product is when both move on.
function turn(stage, { query, key, places, furthest }) {
  const [q, k] = [Matrix.from([query]), Matrix.from([key])];
  const [D, half] = [query.length, query.length / 2];
  const rotary = new RotaryPositionalEncoding(D);
  const clock = new SinusoidalPositionalEncoding(D).table(places + 2 * furthest + 1);
  const added = (x, t) => x.row(0).map((number, i) => number + clock.row(t)[i]);
  const products = {
    "rotary: both turned": (t, j) => dot(rotary.rotate(q, t).data, rotary.rotate(k, j).data),
    "sinusoidal: the two places alone": (t, j) => dot(clock.row(t), clock.row(j)),
    "sinusoidal: places added to tokens": (t, j) => dot(added(q, t), added(k, j)),
  };
  const all = Array.from({ length: places + 1 }, (_, n) => furthest + n);
  const pane = make("div");
  const at = { min: furthest, max: furthest + places, step: 1, say: String };
  const where = slider(pane, "query at place", { ...at, value: furthest }, update);
  const sign = (n) => `${n > 0 ? "+" : n < 0 ? "−" : ""}${Math.abs(n)}`;
  const offset = slider(
    pane,
    "key, places from it",
    { min: -furthest, max: furthest, step: 1, value: 2, say: sign },
    update,
  );

  const label = "Clocks with a hand of the query and one of the key, turned by their places.";
  const clocks = draw(pane, "svg", { viewBox: "0 0 320 112", role: "img", "aria-label": label });
  const lengths = [...query.keys()].flatMap((i) =>
    [query, key].map((x) => Math.hypot(x[i], x[(i + half) % D])),
  );
  const longest = Math.max(...lengths);
  const hands = Array.from({ length: half }, (_, i) => {
    const wide = 320 / half;
    const group = draw(clocks, "g", { transform: `translate(${wide * (i + 0.5)} 46)` });
    const r = Math.min(wide / 2 - 5, 42);
    draw(group, "circle", { r, class: "face" });
    const pace = positionAngles(2, D).row(1)[i];
    const told = `${Number(pace.toPrecision(2))} a step`;
    draw(group, "text", { y: 60, "text-anchor": "middle" }, told);
    const lines = ["hand-q", "hand-k"].map((name) => draw(group, "line", { class: name }));
    return { group, r, lines };
  });
  let last = 0;
  let turned = 0;
  drag(clocks, hands[0].group, ({ x, y }, begins) => {
    const angle = Math.atan2(x - 160 / half, 46 - y); // clockwise from upright
    if (begins) [last, turned] = [angle, where.value];
    turned += Math.atan2(Math.sin(angle - last), Math.cos(angle - last)); // a step is a radian
    turned = clamp(turned, at.min, at.max);
    last = angle;
    where.value = Math.round(turned);
    update();
  });

  const lines = Object.values(products);
  const offsets = Array.from({ length: 2 * furthest + 1 }, (_, n) => n - furthest);
  const every = lines.flatMap((product) =>
    all.flatMap((t) => offsets.map((n) => product(t, t + n))),
  );
  const [low, high] = [Math.min(...every), Math.max(...every)];
  const across = (t) => 10 + (300 * (t - at.min)) / places;
  const up = (y) => 160 - (150 * (y - low)) / (high - low);
  const says = "The three products at every place of the query; the table has their numbers.";
  const chart = draw(pane, "svg", { viewBox: "0 0 320 180", role: "img", "aria-label": says });
  draw(chart, "line", { x1: 10, x2: 310, y1: up(0), y2: up(0), class: "axis" });
  draw(chart, "text", { x: 310, y: 177, "text-anchor": "end" }, "place of the query →");
  const curves = lines.map((_, n) => ({
    line: draw(chart, "polyline", { class: `curve c${n}` }),
    dot: draw(chart, "circle", { r: 5, class: `c${n}` }),
  }));

  const { whole, body } = table("Query times key", ["product", "here", "at all places"]);
  const rows = Object.keys(products).map((name, n) => {
    const [here, range] = [make("td"), make("td")];
    const head = make("th", { scope: "row", className: `c${n}`, textContent: name });
    body.append(make("tr", {}, head, here, range));
    return { here, range };
  });
  const told = set(make("p"), { role: "status" });
  stage.append(pane, make("div", {}, whole, told));

  function update() {
    const [t, n] = [where.value, offset.value];
    lines.forEach((product, i) => {
      const along = all.map((place) => product(place, place + n));
      const [least, most] = [Math.min(...along), Math.max(...along)];
      const here = product(t, t + n);
      const { line, dot } = curves[i];
      set(line, { points: along.map((y, m) => `${across(all[m])},${up(y)}`).join(" ") });
      set(dot, { cx: across(t), cy: up(here) });
      rows[i].here.textContent = two(here);
      rows[i].range.textContent =
        most - least < 0.005 ? "the same" : `${two(least)} to ${two(most)}`;
    });
    [rotary.rotate(q, t).data, rotary.rotate(k, t + n).data].forEach((data, side) => {
      hands.forEach(({ r, lines }, i) =>
        set(lines[side], { x2: (r * data[i + half]) / longest, y2: (-r * data[i]) / longest }),
      );
    });
    told.textContent = `Query at ${t}, key at ${t + n}.`;
  }
  update();
}
