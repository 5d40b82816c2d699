"""The built book, opened in a real browser.

The book is built from the tree (or taken from the folder in BOOK_HTML), served from this
machine, and every page of the table of contents is opened at desktop and phone width, light
and dark. Set SCREENSHOTS to a folder to keep a picture of each; set CHROMIUM to the browser's
path where it is not found by itself.
"""

import json
import os
import re
from pathlib import Path
from urllib.parse import urldefrag

import pytest
import yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
VIEWPORTS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


def toc_pages(node):
    """The pages named in a (part of a) table of contents, in order, without their suffix."""
    if isinstance(node, list):
        return [page for entry in node for page in toc_pages(entry)]
    own = [node[key] for key in ("root", "file") if key in node]
    nested = [
        node[key] for key in ("parts", "chapters", "sections", "subtrees", "entries") if key in node
    ]
    return [re.sub(r"\.(md|ipynb)$", "", page) for page in own] + toc_pages(nested)


PAGES = toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))


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
    const missing = images.filter(image => !image.naturalWidth);
    const says = ({alt, src}) =>
        alt.trim() && !src.endsWith(alt.trim()) && !/\.(svg|png|jpe?g|gif|webp)$/i.test(alt.trim());
    const mute = images.filter(image => image.closest('article') && !says(image));
    return [
        ...missing.map(image => 'image did not load: ' + image.src),
        ...mute.map(({alt, src}) => `image has no text alternative (alt is '${alt}'): ${src}`),
    ];
}"""

# A wide thing is allowed inside a box that scrolls; a box that hides its overflow cuts it off.
TOO_WIDE = r"""() => {
    const width = screen.width;
    const scrolls = box => ['auto', 'scroll'].includes(getComputedStyle(box).overflowX);
    const inOwnBox = e => {
        for (let box = e.parentElement; box !== document.body; box = box.parentElement)
            if (scrolls(box)) return true;
        return false;
    };
    const isSeen = e => e.checkVisibility();
    const isWide = e => e.offsetWidth !== 0 && e.getBoundingClientRect().right > width + 1;
    const wide = [...document.querySelectorAll('.bd-article-container *')]
        .filter(e => isWide(e) && isSeen(e) && !inOwnBox(e)).slice(0, 5)
        .map(e => 'wider than the screen: ' + e.cloneNode(false).outerHTML.slice(0, 200));
    const page = document.scrollingElement.scrollWidth;
    if (page > width) wide.unshift(`the page is ${page} px wide on a screen of ${width} px`);
    return wide;
}"""


def has_mathematics(name):
    """Whether the source of a page has a formula in its prose."""
    if (notebook := ROOT / f"{name}.ipynb").exists():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    else:
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return re.search(r"\$\$|\$[^\s$][^$\n]*\$", prose) is not None


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("size", VIEWPORTS)
@pytest.mark.parametrize("name", PAGES)
def test_page(browser, book_url, name, size, mode):
    problems = []

    def on_request(request):
        if not request.url.startswith((book_url, "data:", "blob:")):
            problems.append(f"a request outside the book: {request.url}")

    context = browser.new_context(
        viewport=VIEWPORTS[size], screen=VIEWPORTS[size], color_scheme=mode
    )
    page = context.new_page()
    page.on("request", on_request)
    page.on(
        "requestfailed",
        lambda request: problems.append(f"request failed: {request.url} {request.failure}"),
    )
    page.on(
        "response",
        lambda answer: (
            answer.status < 400 or problems.append(f"status {answer.status}: {answer.url}")
        ),
    )
    page.on(
        "console",
        lambda line: line.type == "error" and problems.append(f"console error: {line.text}"),
    )
    page.on("pageerror", lambda error: problems.append(f"script error: {error}"))
    page.goto(f"{book_url}{name}.html", wait_until="networkidle")

    problems += page.evaluate(MATHEMATICS)
    if has_mathematics(name) and not page.locator("math").count():
        problems.append("the source has mathematics, the page has none")
    problems += page.evaluate(IMAGES)
    problems += page.evaluate(TOO_WIDE)
    if (shown := page.locator("html").get_attribute("data-theme")) != mode:
        problems.append(f"shown in {shown} mode, {mode} was asked for")
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(
            path=Path(folder) / f"{name.replace('/', '-')}-{size}-{mode}.png", full_page=True
        )
    context.close()
    assert not problems, "\n".join([f"{name}, {size}, {mode}:", *problems])


@pytest.mark.parametrize("name", PAGES)
def test_links_resolve(browser, book_url, name):
    """Every link to a page of the book leads somewhere, and the sidebar leads to every page."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{book_url}{name}.html")
    # `href` as a property is the full address.
    links = page.eval_on_selector_all("a[href], link[rel=icon]", "found => found.map(a => a.href)")
    sidebar = page.eval_on_selector_all(
        ".bd-sidebar-primary a[href]", "found => found.map(a => a.href)"
    )
    texts = {}

    def broken(link):
        address, anchor = urldefrag(link)
        if address not in texts:
            answer = context.request.get(address)
            texts[address] = answer.text() if answer.ok else None
        text = texts[address]
        return text is None or (anchor and f'id="{anchor}"' not in text)

    dead = sorted({link for link in links if link.startswith(book_url) and broken(link)})
    context.close()
    assert not dead, f"{name} has links that lead nowhere: {dead}"
    not_listed = {f"{book_url}{page}.html" for page in PAGES} - {
        urldefrag(link).url for link in sidebar
    }
    assert not not_listed, f"the sidebar of {name} does not lead to {sorted(not_listed)}"


def test_first_page(browser, book_url):
    """The book's address leads to its first page."""
    page = browser.new_page()
    page.goto(book_url)
    page.wait_for_url(f"{book_url}{PAGES[0]}.html")
    page.close()
