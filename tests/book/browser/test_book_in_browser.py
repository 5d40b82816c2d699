"""Every page of the built book, opened once, with all that is asked of it.

It is looked at in light and in dark, at the width of a desk, a phone and a sheet of paper.
"""

import json
import struct
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[3]
PAGES = [name.removesuffix(".md") for name in parse_toc_yaml(ROOT / "_toc.yml").keys()]  # noqa: SIM118
CHAPTERS = [name for name in PAGES if name.startswith("notebooks/")]
TITLE = "Multi-Head Attention, Measured"
WIDTHS = {"desk": 1280, "wide desk": 1440, "paper": 680, "phone": 390}
MOST = 600_000  # bytes, uncompressed: of a page, and of all it loads without its figures

# What each check runs in the page returns a list of what is wrong, empty where all is well.
MATHEMATICS = r"""() => {
    const formulas = [...document.querySelectorAll('.math')];
    const isSet = e => e.querySelector('math')?.getBoundingClientRect().width > 0;
    const raw = formulas.filter(formula => formula.checkVisibility() && !isSet(formula));
    const prose = document.querySelector('article').cloneNode(true);
    prose.querySelectorAll('pre, code, script, style').forEach(e => e.remove());
    const left = prose.textContent.match(
        /\\\(|\\\[|\$\$|\\begin\{|\$(?=[^\s$])[^$\n]*\\[a-z]+[^$\n]*\$/g) || [];
    return [
        ...raw.map(e => 'not rendered: ' + e.textContent),
        ...left.map(text => 'raw mathematics left in the text: ' + text),
    ];
}"""

IMAGES = r"""async () => {
    const images = [...document.images];
    images.forEach(image => { image.loading = 'eager'; });
    await Promise.all(images.map(image => image.decode().catch(() => null)));
    return images.filter(e => !e.naturalWidth).map(e => 'image did not load: ' + e.src);
}"""

# A wide thing is allowed inside a box that scrolls (a table is not); a box that hides its overflow
# cuts it off.
TOO_WIDE = r"""() => {
    const width = screen.width;
    const scrolls = box => ['auto', 'scroll'].includes(getComputedStyle(box).overflowX);
    const inOwnBox = e => {
        for (let box = e.parentElement; box !== document.body; box = box.parentElement)
            if (scrolls(box)) return true;
        return false;
    };
    const isWide = e => e.offsetWidth !== 0 && e.getBoundingClientRect().right > width + 1;
    const wide = [...document.querySelectorAll('.bd-article-container *')]
        .filter(e => isWide(e) && e.checkVisibility() && !inOwnBox(e)).slice(0, 5)
        .map(e => 'wider than the screen: ' + e.cloneNode(false).outerHTML.slice(0, 200));
    const tables = [...document.querySelectorAll('article table')]
        .filter(e => e.checkVisibility() && e.offsetWidth > e.closest('article').clientWidth + 1)
        .map(e => 'a table is wider than its page: ' + e.textContent.trim().slice(0, 60));
    const page = document.scrollingElement.scrollWidth;
    if (page > width) wide.unshift(`the page is ${page} px wide on a screen of ${width} px`);
    return [...wide, ...tables];
}"""

# Of the page as it is sent: scripts add pictures of their own to what is shown.
FIGURES = """html => {
    const page = new DOMParser().parseFromString(html, 'text/html');
    return [...page.querySelectorAll('figure, article svg')]
        .filter(e => !e.parentElement.closest('figure'))
        .reduce((sum, e) => sum + new Blob([e.outerHTML]).size, 0);
}"""

ON_PAPER = """() => {
    const seen = e => e.checkVisibility();
    const all = s => [...document.querySelectorAll(s)].filter(seen);
    const light = c => c.match(/[\\d.]+/g).slice(0, 3).every(n => n > 200);
    const wide = all('.bd-article :is(pre, table, img, svg)')
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1
            || (e.tagName === 'PRE' && e.scrollWidth > e.clientWidth + 1));
    const dark = all('body, .bd-article pre').filter(e => {
        const { backgroundColor: c } = getComputedStyle(e);
        return !c.endsWith(', 0)') && !light(c);
    });
    const pale = all('.bd-article :is(p, li, h1, h2, pre, pre span)')
        .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
        .filter(e => light(getComputedStyle(e).color));
    const closed = [...document.querySelectorAll('.bd-article .tag_solution .cell_input')]
        .filter(e => !seen(e) || !e.getBoundingClientRect().height);
    const clicks = all('button, .bd-sidebar-primary, .bd-sidebar-secondary, .headerlink, .stage');
    const say = what => e => `${what}: ${e.outerHTML.slice(0, 150)}`;
    return [
        ...wide.map(say('wider than the paper')), ...dark.map(say('dark ground')),
        ...pale.map(say('pale words')), ...closed.map(say('a solution is closed')),
        ...clicks.map(say('asks for a click')),
    ].slice(0, 10);
}"""

METAS = """all => Object.fromEntries(
    all.map(m => [m.getAttribute('property') || m.name, m.content]))"""


@pytest.fixture(scope="module")
def tab(browser):
    """One page for all pages of the book, what it asked for, and what it complained of."""
    size = {"width": WIDTHS["desk"], "height": 900}
    context = browser.new_context(viewport=size, screen=size, reduced_motion="reduce")
    page, asked, problems = context.new_page(), set(), []
    page.on("request", lambda request: asked.add(request.url))
    page.on("requestfailed", lambda request: problems.append(f"request failed: {request.url}"))
    page.on(
        "response",
        lambda got: got.status < 400 or problems.append(f"status {got.status}: {got.url}"),
    )
    page.on("console", lambda line: line.type == "error" and problems.append(line.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page, asked, problems
    context.close()


def switch(page, width, mode="light", media="screen"):
    page.set_viewport_size({"width": WIDTHS[width], "height": 900})
    page.emulate_media(color_scheme=mode, media=media)
    page.wait_for_function("mode => document.documentElement.dataset.theme === mode", arg=mode)


def too_heavy(page, asked, book_html, book_url):
    files = [book_html / unquote(urlsplit(url.removeprefix(book_url)).path) for url in asked]
    files = [file for file in files if "_images" not in file.parts and file.suffix != ".svg"]
    sizes = sorted(((file.stat().st_size, str(file)) for file in files), reverse=True)
    html = page.evaluate("fetch(location.href).then((answer) => answer.text())")
    total = sum(size for size, _ in sizes) - page.evaluate(FIGURES, html)
    if total >= MOST or len(html) >= MOST or len(asked) >= 20:
        yield f"{len(asked)} files, {total} bytes without figures: {sizes[:6]}"


def wrongly_described(name, page):
    told = page.locator("head meta[content]").evaluate_all(METAS)
    sentence = told.get("description", "")
    if not (40 <= len(sentence) <= 300 and sentence[-1] in ".?!" and "Colab" not in sentence):
        yield f"no sentence describes the page: {sentence!r}"
    if told.get("og:description") != sentence:
        yield "a shared link says something else than a search engine"
    if not page.title().endswith(TITLE) or (page.title() == TITLE) != (name == PAGES[0]):
        yield f"the title is {page.title()!r}"


@pytest.mark.parametrize("name", PAGES)
def test_page(tab, book_html, book_url, violations, name):
    page, asked, noted = tab
    asked.clear()
    noted.clear()
    switch(page, "desk") if page.url.startswith("http") else None
    page.goto(f"{book_url}{name}.html")
    loaded = {url for url in asked if not url.startswith(("data:", "blob:"))}
    problems = [f"a request leaves the book: {u}" for u in loaded if not u.startswith(book_url)]
    if not problems:
        problems += too_heavy(page, loaded, book_html, book_url)
    problems += page.evaluate(MATHEMATICS)
    problems += page.evaluate(IMAGES)
    if name in (PAGES[0], *CHAPTERS):
        problems += wrongly_described(name, page)

    problems += [f"axe, light: {found}" for found in violations(page)]
    switch(page, "desk", "dark")
    problems += [f"axe, dark: {found}" for found in violations(page, contrast_alone=True)]
    switch(page, "paper", "dark", "print")
    problems += [f"on paper: {found}" for found in page.evaluate(ON_PAPER)]
    switch(page, "wide desk")
    problems += page.evaluate(TOO_WIDE)
    for width in ("desk", "phone"):
        switch(page, width)
        problems += page.evaluate(TOO_WIDE)
    problems += noted
    problems += [
        f"asked for later: {url}" for url in asked - loaded if not url.startswith(book_url)
    ]
    assert not problems, "\n".join([f"{name}:", *problems])


def test_the_switch_of_the_theme_and_the_fonts(browser, book_url):
    page = browser.new_page()
    page.goto(book_url)  # which leads to the first page
    page.wait_for_url(f"{book_url}{PAGES[0]}.html")
    button = page.locator(".theme-switch-button:visible").first
    button.focus()
    seen = set()
    for _ in range(4):
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.matches('.theme-switch-button')")
        seen.add(page.locator("html").get_attribute("data-theme"))
    assert seen == {"light", "dark"}
    faces = "document.fonts.load('17px \"STIX Two Math\"', '∑').then((faces) => faces.length)"
    assert page.evaluate(faces) == 1
    page.close()


def test_a_word_of_the_glossary(browser, book_url):
    """A first tap tells what it means, a second one leads there; the letters lead to the words."""
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{book_url}{CHAPTERS[0]}.html")
    word = page.locator("a.glossary-word").first
    said = "e => [getComputedStyle(e, '::after').content, e.title]"
    assert word.evaluate(said)[0] == "none"
    word.tap()
    shown, meaning = word.evaluate(said)
    assert json.loads(shown) == meaning != ""
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    word.tap()
    page.wait_for_url(f"{book_url}book/glossary.html#term-*")
    letters = page.locator(".letters a")
    assert "".join(letters.all_inner_texts()).startswith("ABC")
    letters.first.tap()
    page.wait_for_url("**#term-A*")
    context.close()


LABELS = """() => [...document.querySelectorAll('article svg text')].map(
    e => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a)"""


def test_the_landing_page(tab, book_html, book_url):
    """Its first screen, its map, its pictures, and what a shared link shows."""
    page, *_ = tab
    switch(page, "desk") if page.url.startswith("http") else None
    page.goto(f"{book_url}{PAGES[0]}.html")
    first = ["h1", ".hero-words > p:first-child", ".start", ".colab", ".hero-picture"]
    targets = page.locator("article :is(.buttons a, .findings a, .tile, .pages a)")
    for width, height in (("desk", 900), ("phone", 844)):
        switch(page, width)
        for selector in first:
            box = page.locator(f"article {selector}").bounding_box()
            assert box["width"] * box["height"] > 0, selector
            assert box["x"] + box["width"] <= WIDTHS[width], selector
            assert box["y"] + box["height"] <= height, selector
        assert min(page.evaluate(LABELS)) >= 11
        boxes = targets.evaluate_all("all => all.map(e => e.getBoundingClientRect())")
        assert min(min(box["width"], box["height"]) for box in boxes) >= 24
    switch(page, "desk")

    assert page.locator(".start").evaluate("a => a.href") == f"{book_url}{CHAPTERS[0]}.html"
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    there = f"/github{urlsplit(config['repository']['url']).path}/blob/main/{CHAPTERS[0]}.ipynb"
    assert page.locator(".colab").get_attribute("href").endswith(there)
    tiles = page.locator(".tile").evaluate_all("all => all.map(a => a.href)")
    assert tiles == [f"{book_url}{name}.html" for name in CHAPTERS[:8]]
    further = page.locator(".further a").evaluate_all("all => all.map(a => a.href)")
    assert further[: len(CHAPTERS) - 8] == [f"{book_url}{name}.html" for name in CHAPTERS[8:]]

    told = page.locator("head meta[content]").evaluate_all(METAS)
    assert told["og:title"] == TITLE
    assert told["twitter:card"] == "summary_large_image"
    card = book_html / "_static" / told["og:image"].rpartition("/_static/")[2]
    assert struct.unpack(">II", card.read_bytes()[16:24]) == (1200, 630)
