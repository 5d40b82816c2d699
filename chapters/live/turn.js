// A query and a key, their places added or turned in, drawn as they are: [right, up]. Each is the
// second pair of a vector of eight, which turns by 0.1 radians a place: slowly enough to follow.
// Places of the query, first to last: as the key is at most `first` away, it is never below 0.
function turn(stage, { query, key, first, last, begins }) {
  const words = [query, key];
  const angles = positionAngles(last + first + 1, 8);
  const placed = (name, who, t) => {
    const [x, y] = words[who];
    const [sin, cos] = [Math.sin, Math.cos].map((f) => f(angles.row(t)[1]));
    return name === "added" ? [x + sin, y + cos] : [x * cos - y * sin, y * cos + x * sin];
  };
  const both = (name, t, n) => [placed(name, 0, t), placed(name, 1, t + n)];
  const score = (name, t, n) => dot(...both(name, t, n));
  const span = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const entry = ([className, textContent]) => make("span", { className, textContent });
  const named = (...texts) => make("p", { className: "legend" }, ...texts.map(entry));

  const minus = (text) => String(text).replace("-", "−");
  const short = (number) => two(Math.round(100 * number) / 100); // never −0.00
  let apart;
  const say = (t) => `query ${t}, key ${t + (apart ? apart.value : begins)}`;
  const at = { min: first, max: last, step: 1, value: (first + last) / 2, say };
  const where = slider(stage, "move both", at, () => update("both"));
  const by = (n) => (n ? `${Math.abs(n)} ${n < 0 ? "before" : "after"} query` : "at the query");
  const far = { ...at, min: -first, max: first, value: begins, say: by };
  apart = slider(stage, "key stands", far, () => update("apart"));
  stage.append(named(["q", "query"], ["k", "key"], ["w", "word, without position"]));

  // Pictures of the same part of the plane: of arrows up to 2 long and positions of length 1.
  const pair = make("div", { className: "pair" });
  const cards = [
    ["added", "Added: word (grey) + position (thin)"],
    ["turned", "RoPE: word (grey), turned by its position"],
  ].map(([name, title]) => {
    const card = pair.appendChild(make("div", {}, make("b", { textContent: title })));
    const [adds, viewBox] = [name === "added", "-2.1 -2.7 4.7 4.8"];
    const label = `${name}: the arrows of query and key; the text below has their numbers`;
    const picture = draw(card, "svg", { viewBox, role: "img", "aria-label": label });
    words.forEach(([x, y]) => {
      draw(picture, "path", { class: "w", d: arrow([0, 0], [x, y]) });
      if (!adds) return;
      draw(picture, "circle", { cx: x, cy: -y, r: 1 });
      const [anchor, style] = ["middle", "font-size: 0.32px"];
      draw(picture, "text", { x, y: -y - 1.15, "text-anchor": anchor, style }, "position");
    });
    const angle = draw(picture, "path", { class: "angle" });
    const [hands, arrows] = ["hand ", ""].map((kind) =>
      ["q", "k"].map((who) => draw(picture, "path", { class: kind + who })),
    );
    const grips = words.map((word, who) => {
      const grip = draw(picture, "path", { class: "grip" });
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
    const product = card.appendChild(make("p"));
    return { name, adds, angle, hands, arrows, grips, product };
  });

  function arrow([x, y], [right, up]) {
    const [tip, size] = [`${x + right} ${-(y + up)}`, 0.12 / Math.hypot(right, up)];
    const barb = (side) => `${size * (side * up - right)} ${size * (up + side * right)}`;
    return `M${x} ${-y}L${tip}l${barb(0.6)}M${tip}l${barb(-0.6)}`;
  }

  // The chart runs over the places of the query or over those of the key: of what is moved.
  const [away, places] = [span(-first, first), span(first, last)];
  const axes = {
    both: [first, "place of the query", last],
    apart: [-first, "key before (−) or after query", first],
  };
  const every = places.flatMap((t) => cards.flatMap((c) => away.map((n) => score(c.name, t, n))));
  const [low, high] = [Math.min(...every), Math.max(...every)];
  const up = (y) => 82 - (74 * (y - low)) / (high - low);
  const foot = make("div", {}, named(["added", "score, added"], ["turned", "score with RoPE"]));
  const label = "Both scores where the query or the key has been";
  const chart = draw(foot, "svg", { viewBox: "0 0 320 104", role: "img", "aria-label": label });
  for (let y = 2 * Math.ceil(low / 2); y < high; y += 2) {
    draw(chart, "line", { x1: 20, x2: 300, y1: up(y), y2: up(y), class: "axis" });
    draw(chart, "text", { x: 16, y: up(y) + 4, "text-anchor": "end" }, minus(y));
  }
  const ticks = [20, 160, 300].map((x) => draw(chart, "text", { x, y: 101, "text-anchor": "middle" }));
  const curves = cards.map(({ name }, i) => ({
    line: draw(chart, "polyline", { class: `curve ${name}` }),
    dot: draw(chart, "circle", { r: 7 - 3 * i, class: `curve ${name}` }), // one in the other
  }));
  const told = set(make("p"), { role: "status" });
  stage.append(pair, foot, make("div", {}, told));

  // What is moved; where it is; the first and the last place where it has been since it is moved.
  let [moves, now, seen] = ["both", { apart: begins }, []];
  function update(moved) {
    if (moved !== moves) seen = [now[moved]];
    [moves, now] = [moved, { both: where.value, apart: apart.value }];
    const { both: t, apart: n } = now;
    where.value = t; // it tells the key's place, too
    const [from, to] = (seen = [Math.min(now[moved], ...seen), Math.max(now[moved], ...seen)]);
    const [start, , end] = axes[moved].map((text, i) => ((ticks[i].textContent = minus(text)), text));
    const across = (x) => 20 + (280 * (x - start)) / (end - start);
    const [[least, most], [same]] = cards.map(({ name, adds, angle, hands, arrows, grips, product }, i) => {
      const tips = both(name, t, n);
      const lengths = tips.map((tip) => Math.hypot(...tip));
      tips.forEach((tip, who) => {
        const [x, y] = words[who];
        const end = `${tip[0]} ${-tip[1]}`;
        const far = angles.row(t + who * n)[1] % (2 * Math.PI) > Math.PI;
        const arc = `M${x} ${-y}A${lengths[who]} ${lengths[who]} 0 ${Number(far)} 0 ${end}`;
        set(hands[who], { d: adds ? arrow([x, y], [tip[0] - x, tip[1] - y]) : arc });
        set(arrows[who], { d: arrow([0, 0], tip) });
        set(grips[who], { d: `M${adds ? `${x} ${-y}` : "0 0"}L${end}` });
      });
      const [[a, b], [c, d]] = tips.map((tip, who) => tip.map((x) => (0.4 * x) / lengths[who]));
      const between = Math.atan2(b * c - a * d, a * c + b * d); // clockwise
      set(angle, { d: `M0 0L${a} ${-b}A.4 .4 0 0 ${Number(between > 0)} ${c} ${-d}Z` });
      const degrees = Math.round((Math.abs(between) * 180) / Math.PI);
      const result = make("b", { textContent: `≈ score ${short(dot(...tips))}` });
      const factors = `lengths ${lengths.map(short).join(" × ")}\n× cosine of ${degrees}°\n`;
      product.replaceChildren(factors, result);
      const along = span(from, to).map((x) => score(name, ...(moved === "both" ? [x, n] : [t, x])));
      set(curves[i].line, { points: along.map((s, x) => [across(from + x), up(s)]).join(" ") });
      set(curves[i].dot, { cx: across(now[moved]), cy: up(dot(...tips)) });
      return [Math.min(...along), Math.max(...along)].map(short);
    });
    const ran = `added, the score ran from ${least} to ${most}; with RoPE it stayed ${same}.`;
    const why = "RoPE turns both words alike: lengths and angle stay. Added, only positions turn.";
    const rope = (n) => `key ${by(n)}: ${short(score("turned", t, n))}`;
    const sides = Math.min(Math.abs(n), -from, to); // so far it has been before and after
    const tried = sides > 0 ? `${rope(-sides)}; ${rope(sides)}` : rope(n);
    const other = n ? "And as far on the other side?" : "And away from it?";
    const ask = sides > 0 ? "The side counts. Move both: does the score stay?" : other;
    told.textContent = {
      begin: "Move both, by slider or by the blue arrows. Which of the two scores stays?",
      both: `Same distance, query at ${from} to ${to}: ${ran} ${to - from > 9 ? why : ""}`,
      apart: `With RoPE, ${tried}. ${ask}`,
    }[from === to ? "begin" : moved];
  }
  update("both");
}
