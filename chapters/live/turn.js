// A query and a key, their places added or turned in, both drawn in the same way. What is said
// follows the slider that was moved.
function turn(stage, { query, key, places, furthest }) {
  const rotary = new RotaryPositionalEncoding(2);
  const clock = new SinusoidalPositionalEncoding(2).table(places + furthest + 1);
  // An arrow is [right, up], as is a hand of the clock. RoPE turns clockwise what is [up, right].
  const ways = {
    added: ([right, up], t) => [right + clock.row(t)[0], up + clock.row(t)[1]],
    turned: ([right, up], t) => [...rotary.rotate(Matrix.from([[up, right]]), t).data].reverse(),
  };
  const both = (name, t, n) => [ways[name](query, t), ways[name](key, t + n)];
  const [all, begins] = [Array.from({ length: places + 1 }, (_, t) => t), 2];
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
  const far = { min: 0, max: furthest, step: 1, value: begins, say: (n) => `${n} place${n === 1 ? "" : "s"}` };
  apart = slider(stage, "distance", far, () => update("apart"));
  stage.append(named({ q: "query", k: "key", w: "without places" }));

  // Pictures of 3.2 by 2.6 units, from this place to the left and above of where all arrows begin.
  const pair = make("div", { className: "pair" });
  const cards = [
    ["added", "Added: grey plus the clock’s hand", [(query[0] + key[0]) / 2 - 1.6, -2.3]],
    ["turned", "RoPE: grey, turned by its place", [-1.6, -1.3]],
  ].map(([name, title, corner]) => {
    const card = make("div", {}, named({ [name]: title }));
    const label = `${name}: the arrows of query and key; the table below has their numbers`;
    const viewBox = [...corner, 3.2, 2.6].join(" ");
    const picture = draw(card, "svg", { viewBox, role: "img", "aria-label": label });
    [query, key].forEach(([x, y], who) => {
      const round = name === "added" ? { cx: x, cy: -y, r: 1 } : { r: Math.hypot(x, y) };
      draw(picture, "circle", { ...round, class: `face ${"qk"[who]}` });
    });
    const angle = draw(picture, "path", { class: "angle" });
    [query, key].forEach((x) => draw(picture, "path", { class: "w", d: arrow([0, 0], x) }));
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
  const distances = Array.from({ length: furthest + 1 }, (_, n) => n);
  const every = cards.flatMap(({ name }) => distances.flatMap((n) => scores(name, n)));
  const [low, high] = [Math.floor(Math.min(...every)), Math.ceil(Math.max(...every))];
  const across = (t) => 34 + (276 * t) / places;
  const up = (y) => 106 - (100 * (y - low)) / (high - low);
  const foot = make("div");
  foot.append(named({ added: "score, added", turned: "score with RoPE" }));
  const label = "Both scores where the query has been";
  const chart = draw(foot, "svg", { viewBox: "0 0 320 130", role: "img", "aria-label": label });
  draw(chart, "line", { x1: 34, x2: 310, y1: up(0), y2: up(0), class: "axis" });
  for (const y of [low, 0, high])
    draw(chart, "text", { x: 26, y: up(y) + 4, "text-anchor": "end" }, `${y}`.replace("-", "−"));
  draw(chart, "text", { x: 34, y: 127 }, "0");
  const end = { x: 310, y: 127, "text-anchor": "end" };
  draw(chart, "text", end, `place of the query → ${places}`);
  const curves = cards.map(({ name }, i) => ({
    line: draw(chart, "polyline", { class: `curve ${name}` }),
    dot: draw(chart, "circle", { r: 7 - 3 * i, class: name }), // both are seen where they meet
  }));
  const told = set(make("p"), { role: "status", class: "told" });
  stage.append(pair, foot, make("div", {}, told));

  let seen = []; // the places where the query has been at this distance, and those between
  function update(moved) {
    const [t, n] = [where.value, apart.value];
    where.value = t; // it tells the key's place, too
    if (moved === "apart") seen = [];
    const [from, to] = [Math.min(t, ...seen), Math.max(t, ...seen)];
    seen = all.slice(from, to + 1);
    const spans = cards.map(({ name, angle, hands, arrows, cells }, i) => {
      const tips = both(name, t, n);
      tips.forEach((tip, who) => {
        const word = [query, key][who];
        set(arrows[who], { d: arrow([0, 0], tip) });
        const hand = tip.map((number, j) => number - word[j]);
        if (name === "added") set(hands[who], { d: arrow(word, hand) });
      });
      const lengths = tips.map((tip) => Math.hypot(...tip));
      const [[a, b], [c, d]] = tips.map((tip, who) => tip.map((x) => (0.4 * x) / lengths[who]));
      const between = Math.atan2(b * c - a * d, a * c + b * d); // clockwise
      set(angle, { d: `M0 0L${a} ${-b}A.4 .4 0 0 ${Number(between > 0)} ${c} ${-d}Z` });
      const score = dot(...tips);
      cells[2].head.textContent = `× cosine of ${Math.round((Math.abs(between) * 180) / Math.PI)}°`;
      [...lengths, Math.cos(between), score].forEach((number, row) => {
        cells[row].cell.textContent = two(number);
      });
      const along = scores(name, n);
      set(curves[i].line, { points: seen.map((s) => `${across(s)},${up(along[s])}`).join(" ") });
      set(curves[i].dot, { cx: across(t), cy: up(score) });
      const been = seen.map((s) => along[s]);
      return [Math.min(...been), Math.max(...been), score].map(two);
    });
    const [[least, most], [, , turned]] = spans;
    told.textContent = {
      begin: "Move both. Which score stays?",
      both: `RoPE: lengths and angle stay, and with them the score, ${turned}. Added: all of them change; so far the score went from ${least} to ${most}.`,
      apart: `Now ${n ? `${n} place${n > 1 ? "s" : ""} apart` : "at one place"}: both scores are new. Move both again. Which stays?`,
    }[moved];
  }
  update("begin");
}
