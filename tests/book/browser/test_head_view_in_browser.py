"""The interactive view of heads, in a real browser on a page of its own, without a script."""

import pytest
import torch

from chapters.live.head_view import HeadView

T, H = 4, 3
TOKENS = ["can", "you", "<b>that", "averyveryverylongtoken"]
FIRST = 2  # the choice whose weights are furthest from even: head 1


@pytest.fixture(scope="module")
def file(save):
    """A page with two equal views."""
    weights = torch.rand(H, T, T, generator=torch.Generator().manual_seed(0)) / 2 + 0.1
    weights[FIRST - 1] = 0.1 + 0.8 * torch.eye(T)
    view = HeadView(weights, TOKENS, TOKENS, "A view of <heads>")._repr_html_()
    return save(f'<div class="first">{view}</div><div class="second">{view}</div>')


@pytest.fixture
def page(open_file, file):
    return open_file(file, width=800, scripts=False)


# A level line has no height, so it is asked for its style and not for its box.
SHOWN = """all => all.filter(e => [e, e.closest('.layer')].every(
    part => getComputedStyle(part).display !== 'none'))"""
LINES = f"""all => ({SHOWN})(all).map(e => [e.closest('.layer').classList[1], ...e.classList])
    .map(names => names.map(name => Number(name.slice(1))))"""


def seen(page, view="first"):
    """The lines that are shown: (layer, query, key)."""
    return {tuple(line) for line in page.eval_on_selector_all(f".{view} path", LINES)}


def all_of(layer):
    return {(layer, q, k) for q in range(T) for k in range(T)}


def weights_shown(page):
    return page.eval_on_selector_all(
        ".first .weight", f"all => ({SHOWN})(all).map(e => e.textContent)"
    )


def test_by_mouse(page):
    """At first the head is seen that says most; numbers stand by what is pointed at."""
    assert seen(page) == all_of(FIRST)
    assert weights_shown(page) == ["0.90"] * 3
    page.locator(f".first .h{FIRST} .token.q1").hover()
    assert seen(page) == {(FIRST, 1, k) for k in range(T)}
    assert sorted(weights_shown(page)) == ["0.10"] * 3 + ["0.90"]
    assert seen(page, "second") == all_of(FIRST)
    page.locator(f".first .h{FIRST} .token.k3").hover()
    assert seen(page) == {(FIRST, q, 3) for q in range(T)}
    page.mouse.move(790, 5)
    page.locator(".second").get_by_label("mean", exact=True).check()
    assert (seen(page, "second"), seen(page)) == (all_of(0), all_of(FIRST))


def test_the_keyboard_is_enough(page):
    page.mouse.move(790, 5)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
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


def test_it_fits_a_phone_and_is_legible_in_light_and_dark(open_file, file, violations):
    page = open_file(file)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert not violations(page, contrast_alone=theme == "dark")
    for width in (375, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.scrollingElement.scrollWidth") == width
        boxes = "all => all.map(e => e.getBoundingClientRect())"
        reach = page.locator(".head-view *").evaluate_all(boxes)
        assert max(box["right"] for box in reach) <= width
