"""A described figure in a real browser: which width is shown, in which colours, and enlarged."""

import matplotlib.pyplot as plt
import pytest

from tools.notebooks import ROOT
from utils.figures import DRAWINGS, DescribedFigure, show_drawing
from utils.palette import FIGURE

SIZES = "all => all.map(e => e.getScreenCTM()).map(m => 11 * Math.hypot(m.c, m.d))"


@pytest.fixture(scope="module")
def file(save):
    """A page with two figures, as the book shows them."""
    shown = []
    for name in ("first", "second"):
        figure, panels = plt.subplots(1, 2, figsize=(8.6, 3))
        for axes in panels:
            axes.plot([1, 2])
            axes.set(xlabel="step", ylabel="loss")
        shown.append(DescribedFigure(figure, name, f"The {name} finding. More.")._repr_html_())
    script = (ROOT / "book" / "_static" / "figures.js").read_text(encoding="utf-8")
    return save("".join(shown), script)


def test_each_width_and_theme_has_its_picture(open_file, file):
    page = open_file(file)
    for width, shown in ((1000, "wide"), (390, "narrow"), (320, "narrow")):
        page.set_viewport_size({"width": width, "height": 800})
        for kind in ("wide", "narrow"):
            seen = page.locator(f".course-figure .{kind} svg").first.is_visible()
            assert seen == (kind == shown)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert width < 390 or min(page.locator(f".{shown} text").evaluate_all(SIZES)) >= 11
    for theme, ink in zip(("light", "dark"), FIGURE["ink"], strict=True):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        colour = page.locator(".wide text").first.evaluate("e => getComputedStyle(e).fill")
        assert colour == "rgb({}, {}, {})".format(*bytes.fromhex(ink[1:]))


def test_a_figure_is_enlarged_and_closed_by_finger_and_keyboard(open_file, file):
    page = open_file(file, 390)
    before = page.locator(".narrow svg").first.bounding_box()["width"]
    for way in ("tap", "keyboard"):
        if way == "tap":
            page.locator(".narrow svg").first.tap()
        else:
            page.keyboard.press("Enter")  # on the button, where closing has left the focus
        dialog = page.locator("dialog[open]")
        assert dialog.locator(".wide svg").bounding_box()["width"] > 1.5 * before
        assert dialog.locator("figcaption").inner_text().startswith("The first finding.")
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")  # not only closed: it goes a moment later
        page.wait_for_function("document.activeElement.className == 'enlarge'")
    assert page.locator("figure").count() == 2


def test_a_drawing_is_legible_on_a_phone_and_every_arrow_follows_the_theme(open_file, save):
    shown = [show_drawing(file.stem, "It is.")._repr_html_() for file in DRAWINGS.glob("*.svg")]
    page = open_file(save("".join(shown)), 390)
    units = "all => all.map(e => e.getScreenCTM().a)"  # the smallest text has 11 of them
    assert min(page.locator(".narrow svg").evaluate_all(units)) >= 1
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    inks = "all => all.flatMap(e => [getComputedStyle(e).fill, getComputedStyle(e).stroke])"
    used = set(page.locator(".course-figure svg *").evaluate_all(inks)) - {"none"}
    assert used <= {"rgb({}, {}, {})".format(*bytes.fromhex(c[1:])) for _, c in FIGURE.values()}
