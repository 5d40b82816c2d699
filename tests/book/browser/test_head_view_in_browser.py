"""The interactive view of heads, in a real browser on a page of its own."""

import pytest
import torch

from utils.figures import HeadView

T, H = 4, 3
pytestmark = pytest.mark.slow
TOKENS = ["can", "you", "<b>that", "averyveryverylongtoken"]


FIRST = 2  # the choice whose weights are furthest from even: head 1


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with two equal views."""
    weights = torch.rand(H, T, T, generator=torch.Generator().manual_seed(0)) / 2 + 0.1
    weights[FIRST - 1] = 0.1 + 0.8 * torch.eye(T)
    view = HeadView(weights, TOKENS, TOKENS, "A view of <heads>")._repr_html_()
    file = tmp_path_factory.mktemp("view") / "page.html"
    file.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width">'
        f'<body><div class="first">{view}</div><div class="second">{view}</div></body>',
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.fixture
def open_page(browser, address):
    """Open the page; no script may run, no request may leave, nothing may be complained of."""
    opened, problems = [], []

    def open_page(width=800, mode="light"):
        size = {"width": width, "height": 900}
        context = browser.new_context(
            viewport=size, screen=size, color_scheme=mode, java_script_enabled=False
        )
        page = context.new_page()
        page.on("console", lambda line: problems.append(line.text))
        page.on("request", lambda request: request.url == address or problems.append(request.url))
        page.goto(address)
        opened.append(context)
        return page

    yield open_page
    for context in opened:
        context.close()
    assert not problems


# A level line has no height, so it is asked for its style and not for its box.
LINES = """paths => paths.filter(path => [path, path.closest('.layer')].every(
        part => getComputedStyle(part).display !== 'none'))
    .map(path => [path.closest('.layer').classList[1], ...path.classList])
    .map(names => names.map(name => Number(name.slice(1))))"""


def seen(page, view="first"):
    """The lines that are shown: (layer, query, key)."""
    return {tuple(line) for line in page.eval_on_selector_all(f".{view} path", LINES)}


def all_of(layer):
    return {(layer, q, k) for q in range(T) for k in range(T)}


def test_at_first_the_head_is_seen_that_says_most(open_page):
    assert seen(open_page()) == all_of(FIRST)


def weights_shown(page):
    return page.eval_on_selector_all(
        ".first .weight",
        """texts => texts.filter(text => [text, text.closest('.layer')].every(
            part => getComputedStyle(part).display !== 'none')).map(text => text.textContent)""",
    )


def test_numbers_stand_by_the_strongest_lines_and_by_those_of_the_token_pointed_at(open_page):
    page = open_page()
    assert weights_shown(page) == ["0.90"] * 3
    page.locator(f".first .h{FIRST} .token.q1").hover()
    assert sorted(weights_shown(page)) == ["0.10"] * 3 + ["0.90"]


def luminance(colour):
    parts = [int(part) / 255 for part in colour]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_line_stands_out_from_its_ground(open_page, mode):
    page = open_page(mode=mode)
    found = page.eval_on_selector_all(
        ".first path",
        """paths => paths.map(path => [getComputedStyle(path).stroke,
            getComputedStyle(path).strokeOpacity,
            getComputedStyle(path.closest('.head-view')).backgroundColor])""",
    )
    for stroke, opacity, ground in found:
        line, paper = (
            [int(n) for n in colour.removeprefix("rgb(").rstrip(")").split(", ")]
            for colour in (stroke, ground)
        )
        seen = [
            float(opacity) * a + (1 - float(opacity)) * b for a, b in zip(line, paper, strict=True)
        ]
        dark, light = sorted([luminance(seen), luminance(paper)])
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_another_head_changes_the_lines_of_its_view_alone(open_page):
    page = open_page()
    page.locator(".first").get_by_label("0", exact=True).check()
    assert seen(page) == all_of(1)
    assert seen(page, "second") == all_of(FIRST)
    page.locator(".second").get_by_label("2", exact=True).check()
    assert seen(page) == all_of(1)
    assert seen(page, "second") == all_of(3)
    page.locator(".first").get_by_label("mean", exact=True).check()
    assert seen(page) == all_of(0)


def test_pointing_at_a_token_leaves_its_lines(open_page):
    page = open_page()
    page.locator(".first .h2 .token.q1").hover()
    assert seen(page) == {(2, 1, k) for k in range(T)}
    assert seen(page, "second") == all_of(FIRST)
    page.locator(".first .h2 .token.k3").hover()
    assert seen(page) == {(2, q, 3) for q in range(T)}
    page.mouse.move(790, 5)
    assert seen(page) == all_of(FIRST)


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    page.mouse.move(790, 5)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert seen(page) == all_of(3)
    page.keyboard.press("Enter")  # the form has nothing to send
    assert seen(page) == all_of(3)
    page.keyboard.press("Tab")
    assert seen(page) == {(3, 0, k) for k in range(T)}
    for _ in range(T):
        page.keyboard.press("Tab")
    assert seen(page) == {(3, q, 0) for q in range(T)}
    page.locator(".first .h3 .token.k2").hover()  # pointing goes before focus
    assert seen(page) == {(3, q, 2) for q in range(T)}
    for _ in range(T):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".first li").first.is_visible()


def test_a_screen_reader_hears_the_chosen_head_alone(open_page):
    page = open_page()
    tokens = page.locator(".first").get_by_role("img")
    assert tokens.count() == 2 * T
    assert tokens.first.get_attribute("aria-label").startswith("query can, head 1, to: ")
    page.locator(".first").get_by_label("mean", exact=True).check()
    assert tokens.count() == 2 * T
    assert tokens.first.get_attribute("aria-label").startswith("query can, mean, to: ")
    assert page.get_by_role("group", name="A view of <heads>").count() == 2
    assert page.locator(".first").get_by_role("radio").count() == H + 1


def brightness(colour):
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(", "))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_its_surface(browser, address, mode):
    page = browser.new_page(color_scheme=mode)
    page.goto(address)
    surface = page.eval_on_selector(".head-view", "e => getComputedStyle(e).backgroundColor")
    text = page.eval_on_selector(".token text", "e => getComputedStyle(e).fill")
    page.close()
    dark, light = sorted([brightness(surface), brightness(text)])
    assert light - dark > 600
    assert (brightness(surface) < 100) == (mode == "dark")


@pytest.mark.parametrize("width", [375, 320])
def test_a_phone_shows_all_of_it(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(address)
    assert page.evaluate("document.scrollingElement.scrollWidth") == width
    size = page.eval_on_selector(
        f".h{FIRST} .token text", "e => e.getBoundingClientRect().height"
    )  # of a line of text
    reach = page.eval_on_selector_all(
        ".head-view *", "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    )
    page.close()
    assert size >= 12
    assert reach <= width
