"""The interactive view of heads, in a real browser on a page of its own."""

import pytest
import torch

from utils.figures import HeadView

T, H = 4, 3
pytestmark = pytest.mark.slow
TOKENS = ["can", "you", "<b>that", "averyveryverylongtoken"]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with two equal views."""
    weights = torch.rand(H, T, T, generator=torch.Generator().manual_seed(0)) / 2 + 0.1
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


def test_at_first_the_mean_is_seen(open_page):
    assert seen(open_page()) == all_of(0)


def test_another_head_changes_the_lines_of_its_view_alone(open_page):
    page = open_page()
    page.locator(".first").get_by_label("1", exact=True).check()
    assert seen(page) == all_of(2)
    assert seen(page, "second") == all_of(0)
    page.locator(".second").get_by_label("2", exact=True).check()
    assert seen(page) == all_of(2)
    assert seen(page, "second") == all_of(3)
    page.locator(".first").get_by_label("mean", exact=True).check()
    assert seen(page) == all_of(0)


def test_pointing_at_a_token_leaves_its_lines(open_page):
    page = open_page()
    page.locator(".first .h0 .token.q1").hover()
    assert seen(page) == {(0, 1, k) for k in range(T)}
    assert seen(page, "second") == all_of(0)
    page.locator(".first .h0 .token.k3").hover()
    assert seen(page) == {(0, q, 3) for q in range(T)}
    page.mouse.move(790, 5)
    assert seen(page) == all_of(0)


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    page.mouse.move(790, 5)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert seen(page) == all_of(1)
    page.keyboard.press("Enter")  # the form has nothing to send
    assert seen(page) == all_of(1)
    page.keyboard.press("Tab")
    assert seen(page) == {(1, 0, k) for k in range(T)}
    for _ in range(T):
        page.keyboard.press("Tab")
    assert seen(page) == {(1, q, 0) for q in range(T)}
    page.locator(".first .h1 .token.k2").hover()  # pointing goes before focus
    assert seen(page) == {(1, q, 2) for q in range(T)}
    for _ in range(T):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".first li").first.is_visible()


def test_a_screen_reader_hears_the_chosen_head_alone(open_page):
    page = open_page()
    tokens = page.locator(".first").get_by_role("img")
    assert tokens.count() == 2 * T
    assert tokens.first.get_attribute("aria-label").startswith("query can, mean, to: ")
    page.locator(".first").get_by_label("1", exact=True).check()
    assert tokens.count() == 2 * T
    assert tokens.first.get_attribute("aria-label").startswith("query can, head 1, to: ")
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
        ".token text", "e => e.getBoundingClientRect().height"
    )  # of a line of text
    reach = page.eval_on_selector_all(
        ".head-view *", "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    )
    page.close()
    assert size >= 12
    assert reach <= width
