// A query and a key, their places added or turned in, drawn as they are: [right, up]. Each is the
// second pair of a vector of eight, which turns by 0.1 radians a place: slowly enough to follow.
// Places of the query, first to last: as the key is at most `first` away, it is never below 0.
function turn(stage, { query, key, first, last, begins }) {
  const words = [query, key];
  const clock = new SinusoidalPositionalEncoding(8).table(last + first + 1);
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

  const short = (number) => two(Math.round(100 * number) / 100); // never −0.00
  let apart;
  const say = (t) => `query ${t}, key ${t + (apart ? apart.value : begins)}`;
  const at = { min: first, max: last, step: 1, value: first, say };
  const where = slider(stage, "move both", at, () => update("both"));
  const by = (n) => (n ? `${Math.abs(n)} ${n < 0 ? "before" : "after"} query` : "at the query");
  const far = { ...at, min: -first, max: first, value: begins, say: by };
  apart = slider(stage, "key stands", far, () => update("apart"));
  stage.append(named({ q: "query", k: "key", w: "without place", hand: "hand" }));

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
    const cells = ["query’s length", "× key’s length", "", "≈ score"].map((textContent) => {
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

  const all = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const scores = (name, n) => all.map((t) => dot(...both(name, t, n)));
  const every = cards.flatMap(({ name }) => [0, first].flatMap((n) => scores(name, n)));
  const [low, high] = [Math.min(...every), Math.max(...every)];
  const across = (t) => 20 + (280 * (t - first)) / (last - first);
  const up = (y) => 82 - (74 * (y - low)) / (high - low);
  const foot = make("div", {}, named({ added: "score, added", turned: "score with RoPE" }));
  const label = "Both scores where the query has been";
  const chart = draw(foot, "svg", { viewBox: "0 0 320 104", role: "img", "aria-label": label });
  for (let y = 0; y < high; y += 2) {
    draw(chart, "line", { x1: 20, x2: 300, y1: up(y), y2: up(y), class: "axis" });
    draw(chart, "text", { x: 12, y: up(y) + 4, "text-anchor": "end" }, y);
  }
  [first, "place of the query", last].forEach((text, i) =>
    draw(chart, "text", { x: 20 + 140 * i, y: 101, "text-anchor": "middle" }, text),
  );
  const curves = cards.map(({ name }, i) => ({
    line: draw(chart, "polyline", { class: `curve ${name}` }),
    dot: draw(chart, "circle", { r: 7 - 3 * i, class: `curve ${name}` }), // one in the other
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
        cells[row].cell.textContent = short(number);
      });
      const along = scores(name, n).slice(from - first, to - first + 1);
      const points = along.map((s, place) => `${across(from + place)},${up(s)}`);
      set(curves[i].line, { points: points.join(" ") });
      set(curves[i].dot, { cx: across(t), cy: up(along[t - from]) });
      return `${short(Math.min(...along))} to ${short(Math.max(...along))}`;
    });
    const range = `Scores drawn: added ${spans.join(", RoPE ")}.`;
    const change = n ? "all of them change" : "both lengths change"; // the angle is 0° there
    const why = `RoPE turns both arrows alike: lengths and angle stay. Added, ${change}.`;
    told.textContent = {
      begin: "Move both. Which score stays?",
      both: `${range} ${2 * (to - from) < last - first ? "What stays in the tables?" : why}`,
      apart: to > from ? range : "Move both. Which score stays?",
    }[moved];
  }
  update("begin");
}
