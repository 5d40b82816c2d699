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
  stage.append(named({ q: "query", k: "key", w: "word, without place" }));

  // Pictures of 3 by 3 units, from this place to the left and above of where all arrows begin.
  const pair = make("div", { className: "pair" });
  const middle = [0, 1].map((i) => (query[i] + key[i]) / 4); // of a clock and of what it reaches
  const cards = [
    ["added", "Added: place (thin) + word (grey)", [middle[0] - 1.5, -middle[1] - 1.5]],
    ["turned", "RoPE: word (grey), turned by its place", [-1.5, -1.5]],
  ].map(([name, title, corner]) => {
    const card = make("div", {}, make("b", { textContent: title }));
    const [adds, viewBox] = [name === "added", [...corner, 3, 3].join(" ")];
    const label = `${name}: the arrows of query and key; the text below has their numbers`;
    const picture = draw(card, "svg", { viewBox, role: "img", "aria-label": label });
    words.forEach((word) => draw(picture, "circle", { r: adds ? 1 : Math.hypot(...word) }));
    const angle = draw(picture, "path", { class: "angle" });
    const [greys, hands, arrows] = ["w ", "hand ", ""].map((kind) =>
      ["q", "k"].map((who) => draw(picture, "path", { class: kind + (kind === "w " ? "" : who) })),
    );
    const grips = words.map((word, who) => {
      const grip = draw(picture, "circle", { r: 0.3, class: "grip angle", opacity: 0 });
      // The place turns to where the arrow is drawn to: the nearest at which it points there.
      drag(picture, grip, ({ x, y }) => {
        const way = adds ? -10 : 10; // the clock's hand turns clockwise; places a radian
        const [from, to] = [both(name, where.value, apart.value)[who], [x, -y]].map(
          ([right, up]) => Math.atan2(up - adds * word[1], right - adds * word[0]),
        );
        const steps = Math.round(way * Math.atan2(Math.sin(to - from), Math.cos(to - from)));
        (who ? apart : where).value += steps;
        if (steps) update(who ? "apart" : "both");
      });
      return grip;
    });
    const product = make("p");
    pair.append(card);
    card.append(product);
    return { name, adds, angle, greys, hands, arrows, grips, product };
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
  const told = set(make("p"), { role: "status" });
  stage.append(pair, foot, make("div", {}, told));

  let seen = []; // the first and the last place where the query has been with the key so far away
  function update(moved) {
    const [t, n] = [where.value, apart.value];
    where.value = t; // it tells the key's place, too
    const before = moved === "apart" ? [] : seen;
    const [from, to] = (seen = [Math.min(t, ...before), Math.max(t, ...before)]);
    const spans = cards.map((card, i) => {
      const { name, adds, angle, greys, hands, arrows, grips, product } = card;
      const tips = both(name, t, n);
      tips.forEach((tip, who) => {
        const hand = tip.map((number, j) => (adds ? number - words[who][j] : 0));
        set(greys[who], { d: arrow(hand, words[who]) });
        if (adds) set(hands[who], { d: arrow([0, 0], hand) });
        set(arrows[who], { d: arrow([0, 0], tip) });
        set(grips[who], { cx: tip[0], cy: -tip[1] });
      });
      const lengths = tips.map((tip) => Math.hypot(...tip));
      const [[a, b], [c, d]] = tips.map((tip, who) => tip.map((x) => (0.4 * x) / lengths[who]));
      const between = Math.atan2(b * c - a * d, a * c + b * d); // clockwise
      set(angle, { d: `M0 0L${a} ${-b}A.4 .4 0 0 ${Number(between > 0)} ${c} ${-d}Z` });
      const degrees = Math.round((Math.abs(between) * 180) / Math.PI);
      const score = make("b", { textContent: `≈ score ${short(dot(...tips))}` });
      const factors = `lengths ${lengths.map(short).join(" × ")}\n× cosine of ${degrees}°\n`;
      product.replaceChildren(factors, score);
      const along = scores(name, n).slice(from - first, to - first + 1);
      const points = along.map((s, place) => `${across(from + place)},${up(s)}`);
      set(curves[i].line, { points: points.join(" ") });
      set(curves[i].dot, { cx: across(t), cy: up(along[t - from]) });
      return [Math.min(...along), Math.max(...along)].map(short);
    });
    const [[least, most], [same]] = spans;
    const ran = `added, the score ran from ${least} to ${most}; with RoPE it stayed ${same}.`;
    const why =
      "RoPE turns both arrows alike, so lengths and angle stay. Added, places turn and words do not.";
    told.textContent = {
      begin: "Move both, by slider or by the blue arrows. Which of the two scores stays?",
      both: `Same distance, query at ${from} to ${to}: ${ran} ${to - from > 9 ? why : ""}`,
      apart: `Another distance: ${same} with RoPE. Move both: does it stay?`,
    }[moved];
  }
  update("begin");
}
