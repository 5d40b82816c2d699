"""What a page weighs, how wide its lines and tables are, and whether everybody can use it."""

from pathlib import Path

import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
PAGES = [name.removesuffix(".md") for name in parse_toc_yaml(ROOT / "_toc.yml").keys()]  # noqa: SIM118
MOST = 600_000  # bytes of a page without its figures, uncompressed

# Of the page as it is sent: scripts add pictures of their own to what is shown.
FIGURES = """html => {
    const page = new DOMParser().parseFromString(html, 'text/html');
    return [...page.querySelectorAll('figure, .head-view, article svg')]
        .filter(e => !e.parentElement.closest('figure, .head-view'))
        .reduce((sum, e) => sum + new Blob([e.outerHTML]).size, 0);
}"""

TABLES = """() => [...document.querySelectorAll('article table')]
    .filter(e => e.checkVisibility()
        && e.getBoundingClientRect().width > e.closest('article').clientWidth + 1)
    .map(e => e.getBoundingClientRect().width + ' px: ' + e.textContent.trim().slice(0, 60))"""

# Characters in the full lines of long paragraphs.
LINES = """() => [...document.querySelectorAll('article section > p')]
    .filter(p => p.checkVisibility() && p.textContent.length > 240)
    .filter(p => !p.querySelector('math, code'))
    .map(p => {
        const range = document.createRange();
        range.selectNodeContents(p);
        const tops = new Set([...range.getClientRects()].map(r => Math.round(r.bottom / 8)));
        return p.textContent.length / tops.size;
    })"""


def open_page(browser, address, width=1280, mode="light", height=900):
    size = {"width": width, "height": height}
    page = browser.new_context(viewport=size, screen=size, color_scheme=mode).new_page()
    sizes = {}
    page.on("response", lambda answer: sizes.__setitem__(answer.url, answer))
    page.goto(address, wait_until="networkidle")
    return page, sizes


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(browser, book_url, name):
    address = f"{book_url}{name}.html"
    page, answers = open_page(browser, address)
    sizes = {
        url: len(answer.body())
        for url, answer in list(answers.items())
        if "/_images/" not in url and answer.request.resource_type != "image"
    }
    total = sum(sizes.values()) - page.evaluate(FIGURES, answers[address].text())
    page.context.close()
    assert not any("awesome" in url or "bootstrap" in url for url in sizes)
    assert all(answer.ok for answer in answers.values())
    assert len(answers) < 20
    assert total < MOST, sorted(((size, url) for url, size in sizes.items()), reverse=True)[:6]


@pytest.mark.parametrize("name", PAGES)
def test_no_table_is_wider_than_its_page(browser, book_url, name):
    for width in (1440, 1280, 390):
        page, _ = open_page(browser, f"{book_url}{name}.html", width)
        wide = page.evaluate(TABLES)
        page.context.close()
        assert not wide, (width, wide)


def test_a_line_holds_about_seventy_characters(browser, book_url):
    for name in PAGES:
        page, _ = open_page(browser, f"{book_url}{name}.html")
        found = page.evaluate(LINES)
        page.context.close()
        if found:
            assert 58 <= sorted(found)[len(found) // 2] <= 80, name


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(browser, book_url, name, mode):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, _ = open_page(browser, f"{book_url}{name}.html", mode=mode)
    found = axe.run(page).response["violations"]
    page.context.close()
    assert not [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]


def test_formulas_are_no_stop_of_the_tab_key(browser, book_url):
    page, _ = open_page(browser, f"{book_url}notebooks/02-scaled-dot-product.html")
    assert page.locator("math").count() > 20
    page.locator("article h1").click()
    for _ in range(60):
        page.keyboard.press("Tab")
        assert not page.evaluate("!!document.activeElement.closest('.math')")
    page.context.close()


def test_the_switch_of_the_theme_keeps_the_focus(browser, book_url):
    page, _ = open_page(browser, f"{book_url}{PAGES[0]}.html")
    switch = page.locator(".theme-switch-button:visible").first
    switch.focus()
    for _ in range(4):
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.matches('.theme-switch-button')")
    page.context.close()


def test_the_font_of_formulas_is_loaded(browser, book_url):
    page, _ = open_page(browser, f"{book_url}{PAGES[0]}.html")
    faces = page.evaluate(
        "async () => (await document.fonts.load('17px \"STIX Two Math\"', '∑')).length"
    )
    page.context.close()
    assert faces == 1
