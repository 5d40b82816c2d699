// The book's search: pagefind's index knows each section, and nothing is loaded before it is used.
// A word's score is pagefind's (BM25, titles count more); a section's score is the sum over words,
// so that a question finds its answer even where not every word of it stands there.
const SHOWN = 12;
const AROUND = 28; // words of an excerpt
const ELSEWHERE = 0.9; // a synonym counts a little less than the word itself
const FITS = 0.5; // a title that is nothing but what was asked for counts half as much again
const NAMED = 4; // what has the very name that was asked for comes first;
const UNNAMED = 0.25; // another entry of the reference comes after what explains
const RANKING = {
  termSimilarity: 2, // exact words before longer ones that begin alike
  pageLength: 0.6,
  metaWeights: { title: 3, page: 1 }, // an address counts 1: its anchor repeats the title
};
const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);

let loaded;
async function load() {
  const pagefind = await import(new URL("pagefind/pagefind.js", root));
  await pagefind.options({ ranking: RANKING });
  await pagefind.init();
  const words = await (await fetch(new URL("pagefind/synonyms.json", root))).json();
  return { pagefind, ignored: new Set(words.ignored.split(/\s+/)), same: words.same };
}

// Small letters, and one space around each word.
function plain(text) {
  const words = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}_.'-]+/gu, " ")} `;
  return words.replace(/[.'-]+(?= )|(?<= )[.']+/g, "");
}

// The words that say something; all of them where none does.
function telling(words, { ignored }, otherwise = words) {
  return words.split(" ").filter((word) => word && !ignored.has(word)).join(" ") || otherwise;
}

// The question's terms, each with its other names.
function terms(question, { ignored, same }) {
  let rest = plain(question);
  const found = [];
  for (const [name, group] of same
    .flatMap((group) => group.map((name) => [name, group]))
    .sort(([a], [b]) => b.length - a.length)) {
    if (!rest.includes(` ${name} `)) continue;
    rest = rest.replaceAll(` ${name} `, "  ");
    found.push([name, ...group.filter((other) => other !== name)]);
  }
  const words = telling(rest, { ignored }, found.length ? "" : rest).split(" ").filter(Boolean);
  return [...found, ...[...new Set(words)].map((word) => [word])];
}

// Whether a text has a word, or one that begins like it.
const has = (text, word) => text.toLowerCase().includes(word.slice(0, Math.max(3, word.length - 3)));

// Where no word begins with the one that was asked for, pagefind takes a shorter one, up to a
// single letter. A found word has to share more than that with the one that was asked for.
async function isFound(name, result) {
  const { content, meta } = await result.data();
  const all = content.split(/\s+/);
  const found = [meta.title, meta.page, ...result.words.map((place) => all[place])].join(" ");
  return name.split(" ").every((word) => has(found, word));
}

// The share of a title that was asked for: "Causal mask" is nearer to it than a long sentence.
function share(title, asked, engine) {
  const words = telling(plain(title), engine).trim().split(/\s+/);
  const names = asked.flat().flatMap((name) => name.split(" "));
  return words.filter((word) => names.some((name) => has(word, name))).length / words.length;
}

// How far a section's title and place speak for it.
function fit({ title, address }, question, asked, engine) {
  const [sought, named] = [question, title].map((text) => telling(plain(text), engine));
  const factor = sought === named ? NAMED : /\/api\/.*#/.test(address) ? UNNAMED : 1;
  return factor * (1 + FITS * share(title, asked, engine));
}

// The sections that answer best, each with the places of the words that were found in it.
async function ask(question) {
  const engine = await (loaded ??= load());
  const asked = terms(question, engine);
  const sections = new Map();
  for (const names of asked) {
    const best = new Map();
    // Last a name's parts, where it does not stand whole: padding_mask in key_padding_mask.
    const parts = names[0].split(/[_.-]+/).join(" ").trim();
    for (const [order, name] of [...names, parts].entries()) {
      if (order === names.length && (best.size || parts === names[0])) continue;
      const { results } = await engine.pagefind.search(telling(name, engine));
      if (results.length && !(await isFound(telling(name, engine), results[0]))) continue;
      for (const result of results) {
        const score = result.score * (order ? ELSEWHERE : 1);
        if (score > (best.get(result.id)?.score ?? 0)) best.set(result.id, { score, result });
      }
    }
    for (const [id, { score, result }] of best) {
      const section = sections.get(id) ?? { score: 0, terms: 0, places: [], result };
      section.score += score;
      section.terms += 1;
      section.places.push(...result.words.map((place) => [place, names[0]]));
      sections.set(id, section);
    }
  }
  const byWorth = (a, b) => b.worth - a.worth;
  for (const section of sections.values()) section.worth = section.score * section.terms;
  const first = [...sections.values()].sort(byWorth).slice(0, 6 * SHOWN);
  const data = await Promise.all(first.map((section) => section.result.data()));
  for (const [i, section] of first.entries()) {
    Object.assign(section, data[i]);
    section.worth *= fit(section.meta, question, asked, engine);
  }
  return first.sort(byWorth).slice(0, SHOWN);
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// The stretch of a section that holds most of the words, with those words marked.
function excerpt({ content, places }) {
  const words = content.split(/\s+/);
  const marked = new Set(places.map(([place]) => place));
  const within = (start) =>
    new Set(places.filter(([p]) => p >= start && p < start + AROUND).map(([, term]) => term)).size;
  const starts = [0, ...[...marked].map((place) => Math.max(0, place - 5))];
  const start = starts.reduce((a, b) => (within(b) > within(a) ? b : a));
  const shown = element("p", {});
  if (start) shown.append("… ");
  words.slice(start, start + AROUND).forEach((word, i) => {
    shown.append(marked.has(start + i) ? element("mark", { textContent: word }) : word, " ");
  });
  if (start + AROUND < words.length) shown.append("…");
  return shown;
}

function hit(section) {
  const { title, page, address } = section.meta;
  const link = element("a", { href: new URL(address, root) }, title);
  if (page !== title) link.append(element("span", { className: "page" }, page));
  return element("li", {}, link, excerpt(section));
}

function attach(form) {
  const input = form.querySelector("input");
  const status = element("p", { role: "status" });
  const list = element("ol", {});
  const results = element("div", { className: "search-hits", hidden: true }, status, list);
  form.after(results);
  let latest = 0;

  async function show() {
    const question = input.value.trim();
    const own = (latest += 1);
    results.hidden = !question;
    if (!question) return;
    let found = [];
    let says = "Search works where the book is served, not from a file: run “make serve”.";
    try {
      found = await ask(question);
      says = found.length ? "Sections that answer best:" : "No section has these words.";
    } catch (problem) {
      loaded = undefined;
      if (location.protocol !== "file:") says = `The search could not be loaded: ${problem.message}`;
    }
    if (own !== latest) return; // something else was typed meanwhile
    status.textContent = says;
    results.dataset.answers = question;
    list.replaceChildren(...found.map(hit));
  }

  let waiting;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  // Arrows lead from the field to the hits and back; Tab does too.
  form.parentElement.addEventListener("keydown", (event) => {
    // In the field the theme does so.
    if (event.key === "Escape" && event.target !== input) form.closest("dialog")?.close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [input, ...list.querySelectorAll("a")];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (!step || !next || !stops.includes(document.activeElement)) return;
    event.preventDefault();
    next.focus();
  });
  list.addEventListener("click", () => form.closest("dialog")?.close());
  if (form.closest("dialog")?.open && input.value) show(); // typed before this script was here
  return { input, show };
}

for (const form of document.querySelectorAll("form.bd-search")) {
  const { input, show } = attach(form);
  const asked = new URLSearchParams(location.search).get("q");
  if (form.closest("dialog")) continue;
  input.value = asked ?? "";
  input.focus();
  show();
}
