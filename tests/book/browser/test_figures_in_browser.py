"""A described figure in a real browser: which width is shown, in which colours, and enlarged."""

import matplotlib.pyplot as plt
import pytest

from tools.notebooks import ROOT
from utils.figures import INK, DescribedFigure
from utils.figures.palette import DARK

pytestmark = pytest.mark.slow
STATIC = ROOT / "book" / "_static"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with two figures, as the book shows them."""
    shown = []
    for name in ("first", "second"):
        figure, panels = plt.subplots(1, 2, figsize=(8.6, 3))
        for axes in panels:
            axes.plot([1, 2])
            axes.set(xlabel="step", ylabel="loss")
        shown.append(DescribedFigure(figure, name, f"The {name} finding. More.")._repr_html_())
    style = (STATIC / "figures.css").read_text(encoding="utf-8")
    script = (STATIC / "figures.js").read_text(encoding="utf-8")
    file = tmp_path_factory.mktemp("figures") / "page.html"
    file.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<style>{style}</style><body>{''.join(shown)}<script>{script}</script></body>",
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.fixture
def open_page(browser, address):
    opened = []

    def open_page(width):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(address)
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.close()


@pytest.mark.parametrize(("width", "shown"), [(1000, "wide"), (390, "narrow"), (320, "narrow")])
def test_each_width_has_its_picture(open_page, width, shown):
    page = open_page(width)
    for kind in ("wide", "narrow"):
        seen = page.locator(f".course-figure .{kind} svg").first.is_visible()
        assert seen == (kind == shown)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_labels_are_legible_on_a_phone(open_page):
    heights = open_page(390).eval_on_selector_all(
        ".narrow text",
        "all => all.map(e => e.getScreenCTM()).map(m => 11 * Math.hypot(m.c, m.d))",
    )
    assert heights
    assert min(heights) >= 11


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_are_those_of_the_page(open_page, theme):
    page = open_page(1000)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    colour = page.locator(".wide text").first.evaluate("e => getComputedStyle(e).fill")
    expected = INK if theme == "light" else DARK[INK]
    assert colour == "rgb({}, {}, {})".format(*bytes.fromhex(expected[1:]))


@pytest.mark.parametrize("how", ["tap", "keyboard"])
def test_a_figure_is_enlarged_and_closed(open_page, how):
    page = open_page(390)
    if how == "tap":
        page.locator(".narrow svg").first.click()
    else:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    assert dialog.locator(".wide svg").is_visible()
    assert dialog.locator("figcaption").inner_text().startswith("The first finding.")
    before = page.locator("figure:not(dialog *) .narrow svg").first.bounding_box()["width"]
    assert dialog.locator(".wide svg").bounding_box()["width"] > 1.5 * before
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0
    assert page.evaluate("document.activeElement.className") == "enlarge"
    assert page.locator("figure").count() == 2
