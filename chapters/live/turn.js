// A query and a key, their places added or turned in, drawn as they are: [right, up]. Each is the
// second pair of a vector of eight, which turns by 0.1 radians a place: slowly enough to follow.
function turn(stage, { query, key, places, furthest }) {
  const words = [query, key];
  const [all, begins] = [Array.from({ length: places + 1 }, (_, t) => t), 10];
  const clock = new SinusoidalPositionalEncoding(8).table(places + furthest + 1);
  const rotated = words.map(([x, y]) => {
    const each = Array.from({ length: clock.rows }, () => [0, x, 0, 0, 0, y, 0, 0]);
    return new RotaryPositionalEncoding(8).rotate(Matrix.from(each));
  });
  const ways = {
    added: (who, t) => words[who].map((number, i) => number + clock.row(t)[2 + i]),
    turned: (who, t) => [1, 5].map((i) => rotated[who].row(t)[i]),
  };
  const both = (name, t, n) => [ways[name](0, t), ways[name](1, t + n)];
  const named = (texts) => {
    const spans = Object.entries(texts).map(([className, textContent]) =>
      make("span", { className, textContent }),
    );
    return make("p", { className: "legend" }, ...spans);
  };

  let apart;
  const say = (t) => `at ${t} and ${t + (apart ? apart.value : begins)}`;
  const at = { min: 0, max: places, step: 1, value: 0, say };
  const where = slider(stage, "move both", at, () => update("both"));
  const far = { ...at, max: furthest, value: begins, say: (n) => `${n} place${n - 1 ? "s" : ""}` };
  apart = slider(stage, "distance", far, () => update("apart"));
  stage.append(named({ q: "query", k: "key", w: "without places", hand: "thin: clock’s hands" }));

  // Pictures of 2.6 by 2.6 units, from this place to the left and above of where all arrows begin.
  const pair = make("div", { className: "pair" });
  const cards = [
    ["added", "Added: grey + hand", [(query[0] + key[0]) / 2 - 1.3, -2.3]],
    ["turned", "RoPE: grey, turned", [-1.3, -1.3]],
  ].map(([name, title, corner]) => {
    const card = make("div", {}, make("b", { textContent: title }));
    const label = `${name}: the arrows of query and key; the table below has their numbers`;
    const viewBox = [...corner, 2.6, 2.6].join(" ");
    const picture = draw(card, "svg", { viewBox, role: "img", "aria-label": label });
    words.forEach(([x, y]) => {
      const round = name === "added" ? { cx: x, cy: -y, r: 1 } : { r: Math.hypot(x, y) };
      draw(picture, "circle", { ...round, class: "w", "stroke-opacity": 0.4 });
    });
    const angle = draw(picture, "path", { class: "angle" });
    words.forEach((x) => draw(picture, "path", { class: "w", d: arrow([0, 0], x) }));
    const [hands, arrows] = ["hand ", ""].map((thin) =>
      ["q", "k"].map((who) => draw(picture, "path", { class: thin + who })),
    );
    const rows = make("tbody");
    const cells = ["query’s length", "× key’s length", "", "= score"].map((textContent) => {
      const head = make("th", { scope: "row", textContent });
      const cell = make("td");
      rows.append(make("tr", {}, head, cell));
      return { head, cell };
    });
    card.append(set(make("table", {}, rows), { "aria-label": name }));
    pair.append(card);
    return { name, angle, hands, arrows, cells };
  });

  function arrow([x, y], [right, up]) {
    const length = Math.hypot(right, up) || 1;
    const [a, b] = [(-0.12 * right) / length, (-0.12 * up) / length];
    const barb = (side) => `${a - 0.6 * side * b} ${-(b + 0.6 * side * a)}`;
    const tip = `${x + right} ${-(y + up)}`;
    return `M${x} ${-y}L${tip}l${barb(1)}M${tip}l${barb(-1)}`;
  }

  const scores = (name, n) => all.map((t) => dot(...both(name, t, n)));
  const every = cards.flatMap(({ name }) => [0, begins, furthest].flatMap((n) => scores(name, n)));
  const [low, high] = [Math.floor(Math.min(...every)), Math.ceil(Math.max(...every))];
  const across = (t) => 34 + (276 * t) / places;
  const up = (y) => 106 - (100 * (y - low)) / (high - low);
  const foot = make("div", {}, named({ added: "score, added", turned: "score with RoPE" }));
  const label = "Both scores where the query has been";
  const chart = draw(foot, "svg", { viewBox: "0 0 320 130", role: "img", "aria-label": label });
  draw(chart, "line", { x1: 34, x2: 310, y1: up(0), y2: up(0), class: "axis" });
  for (const y of [low, 0, high])
    draw(chart, "text", { x: 26, y: up(y) + 4, "text-anchor": "end" }, `${y}`.replace("-", "−"));
  draw(chart, "text", { x: 34, y: 127 }, "0");
  draw(chart, "text", { x: 310, y: 127, "text-anchor": "end" }, `place of the query → ${places}`);
  const curves = cards.map(({ name }, i) => ({
    line: draw(chart, "polyline", { class: `curve ${name}` }),
    dot: draw(chart, "circle", { r: 7 - 3 * i, class: name }), // both are seen where they meet
  }));
  const told = set(make("p"), { role: "status", class: "told" });
  stage.append(pair, foot, make("div", {}, told));

  let seen = []; // the first and the last place where the query has been
  function update(moved) {
    const [t, n] = [where.value, apart.value];
    where.value = t; // it tells the key's place, too
    const [from, to] = (seen = [Math.min(t, ...seen), Math.max(t, ...seen)]);
    const spans = cards.map(({ name, angle, hands, arrows, cells }, i) => {
      const tips = both(name, t, n);
      tips.forEach((tip, who) => {
        set(arrows[who], { d: arrow([0, 0], tip) });
        const hand = tip.map((number, j) => number - words[who][j]);
        if (name === "added") set(hands[who], { d: arrow(words[who], hand) });
      });
      const lengths = tips.map((tip) => Math.hypot(...tip));
      const [[a, b], [c, d]] = tips.map((tip, who) => tip.map((x) => (0.4 * x) / lengths[who]));
      const between = Math.atan2(b * c - a * d, a * c + b * d); // clockwise
      set(angle, { d: `M0 0L${a} ${-b}A.4 .4 0 0 ${Number(between > 0)} ${c} ${-d}Z` });
      cells[2].head.textContent = `× cosine of ${Math.round((Math.abs(between) * 180) / Math.PI)}°`;
      [...lengths, Math.cos(between), dot(...tips)].forEach((number, row) => {
        cells[row].cell.textContent = two(number);
      });
      const along = scores(name, n).slice(from, to + 1);
      const points = along.map((s, place) => `${across(from + place)},${up(s)}`);
      set(curves[i].line, { points: points.join(" ") });
      set(curves[i].dot, { cx: across(t), cy: up(along[t - from]) });
      return `${two(Math.min(...along))} to ${two(Math.max(...along))}`;
    });
    const range = `Scores drawn, lowest to highest: added, ${spans.join("; with RoPE, ")}.`;
    const why = "RoPE turns both arrows alike: lengths and angle stay. Added, all of them change.";
    told.textContent = {
      begin: "Move both. Which score stays?",
      both: `${range} ${to - from < places / 2 ? "What stays in the tables?" : why}`,
      apart: `${range} This distance has scores of its own. Move both again: which one stays?`,
    }[moved];
  }
  update("begin");
}
