"""The live figures in a real browser, from a saved file: by keyboard, mouse, finger."""

import itertools
import re

import pytest
import torch

from chapters.live.mask import live_mask
from chapters.live.query import live_query
from chapters.live.turn import live_turn
from tools.notebooks import ROOT
from utils.positions import RotaryPositionalEncoding, SinusoidalPositionalEncoding

KEYS = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])  # (S, D)
PRICES = torch.tensor([[2.0], [3.0], [5.0]])  # (S, D_value)
START = torch.tensor([1.0, 1.0])
TOKENS = ["can", "you", "?", "[PAD]", "<b>"]
X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [1.0, -1.0]])  # (T, D)
ARROWS = torch.tensor([[1.6, 1.2], [-0.5, 1.2]])  # of a query and a key: right, up
LENGTH, PLACES = 3, torch.arange(5)
MASKS = {
    "none": torch.ones(5, 5, dtype=torch.bool),
    "padding": (PLACES < LENGTH).expand(5, 5),
    "causal": PLACES[:, None] >= PLACES,
    "both": (PLACES < LENGTH) & (PLACES[:, None] >= PLACES),
}
TIPS = r"all => all.map(e => /L(\S+) ([^l]+)/.exec(e.getAttribute('d'))).map(d => [+d[1], -d[2]])"
READERS = {"F.scaled_dot_product_attention(mask)": "may be read"}
READERS |= dict.fromkeys(["nn.MultiheadAttention(mask)", "nn.MultiheadAttention(~mask)"], "blocked")


@pytest.fixture(scope="module")
def file(save):
    """A page with all of them, as somebody would save it."""
    given = {"keys": KEYS, "names": ["tea", "coffee", "cake"], "start": START}
    given |= {"dims": ["bitter", "sweet"], "values": PRICES, "unit": " €"}
    figures = {
        "query": live_query("It moves. So.", **given),
        "mask": live_mask("It blocks. So.", tokens=TOKENS, x=X, length=LENGTH),
        "turn": live_turn("It turns. So.", *ARROWS),
    }
    shown = "".join(f'<section class="{n}">{f._repr_html_()}</section>' for n, f in figures.items())
    return save(shown, (ROOT / "book" / "_static" / "figures.js").read_text(encoding="utf-8"))


@pytest.fixture
def page(open_file, file):
    return open_file(file)


def test_they_serve_everybody(serves_everybody, file):
    serves_everybody(file, lambda page: page.locator(".mask td button").first.click())


def told(page, figure):
    return page.locator(f".{figure} [role=status]").inner_text().replace("−", "-")


def slider(page, figure, name):
    return page.locator(f".{figure} label", has_text=name).locator("input")


def asked(page):
    """The query that the sliders of the figure say."""
    return torch.tensor(page.locator(".query input").evaluate_all("all => all.map(e => +e.value)"))


def assert_answers(page, query):
    """The table has the scores and weights of this query, and the sentence the price."""
    rows = page.locator(".query tbody tr").all_inner_texts()[:3]
    found = [re.findall(r"(−?) ?([.\d]+)", row) for row in rows]
    shown = torch.tensor([[float(n) * (-1 if minus else 1) for minus, n in row] for row in found])
    terms = torch.stack([query.expand(3, 2), KEYS], dim=-1).flatten(1)  # (S, 2 * D)
    scores = KEYS @ query  # (S,)
    weights = scores.softmax(dim=-1)
    expected = torch.column_stack([terms, scores, scores.exp(), weights])
    torch.testing.assert_close(shown, expected, atol=0.0051, rtol=0)
    assert told(page, "query").endswith(f" ≈ {(weights @ PRICES).item():.2f} €")


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, *places):
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()


def swipe(page, start, end):
    """Move a finger over the glass."""
    client = page.context.new_cdp_session(page)
    for kind, at in (("touchStart", start), ("touchMove", end), ("touchEnd", None)):
        points = [{"x": at[0], "y": at[1]}] if at else []
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_query_moves_by_keyboard(page):
    assert_answers(page, START)
    assert told(page, "query").startswith("Price: 0.212 · 2 + 0.576 · 3 + 0.212 · 5 ≈ ")
    for key in ("Tab", "Home", "Tab", *["ArrowRight"] * 4):  # "bitter", then "sweet"
        page.keyboard.press(key)
    assert slider(page, "query", "sweet").get_attribute("aria-valuetext") == "1.40"
    assert_answers(page, torch.tensor([-1.5, 1.4]))


def test_a_query_is_dragged_by_mouse_and_finger_and_stays_on_the_plane(open_file, file):
    page = open_file(file)
    tip = page.locator(".query circle.query")
    x, y = middle(tip)
    drag(page, (x, y), (x - 40, y - 60))
    assert asked(page)[0] < 1 < asked(page)[1]
    assert_answers(page, asked(page))
    assert middle(tip) == pytest.approx((x - 40, y - 60), abs=8)
    drag(page, middle(tip), (1, 1))
    assert asked(page).tolist() == pytest.approx([-1.5, 1.7])

    page = open_file(file, 390)
    tip = page.locator(".query circle.query")
    before, (x, y) = page.evaluate("scrollY"), middle(tip)
    swipe(page, (x, y), (x - 50, y - 50))
    assert asked(page)[0] < 1 < asked(page)[1]
    assert_answers(page, asked(page))
    assert page.evaluate("scrollY") == before


def assert_masks(page, read, meant, given):
    """The cells have what is given and these weights; what is against what is meant is marked."""
    cells = [text.split("\n") for text in page.locator(".mask td button").all_inner_texts()]
    assert torch.tensor([cell[0] != "False" for cell in cells]).view(5, 5).equal(given)
    wrong = torch.tensor(["!" in shown for *_, shown in cells]).view(5, 5)
    assert wrong.equal(read != meant)
    weights = [float(shown.strip("! –").replace("0/0", "") or 0) for *_, shown in cells]
    scores = (X @ X.T * 2**-0.5).masked_fill(~read, -torch.inf)
    expected = scores.softmax(dim=-1).nan_to_num()  # a row without keys has none
    torch.testing.assert_close(torch.tensor(weights), expected.flatten(), atol=0.0051, rtol=0)
    parts = page.locator(".mask .shares >> nth=1").locator("span")
    shares = parts.evaluate_all("all => all.map(e => +e.style.flexGrow)")
    assert shares == pytest.approx(expected[0].tolist(), abs=1e-5)
    assert ("other way round" in told(page, "mask")) == bool(wrong.any())


def test_a_mask_means_the_opposite_to_the_layer_and_its_opposite_cures_it(open_file, file):
    page = open_file(file, 390)
    for (name, mask), (who, means) in itertools.product(MASKS.items(), READERS.items()):
        page.locator(".mask .buttons button").get_by_text(name, exact=True).tap()
        page.get_by_label(who, exact=True).tap()
        turned, swapped = (name != "none" and end in who for end in ("headAttention(mask", "~"))
        assert_masks(page, ~mask if turned else mask, mask, ~mask if swapped else mask)
        pressed = page.locator(".mask [aria-pressed=true]").all_inner_texts()
        assert pressed == [name, who.split("(")[1].strip(")")]
        caption = page.locator(".mask caption").inner_text()
        assert (f"True = {means}" in caption) == (name != "none")


def test_a_mask_of_ones_own(open_file, file):
    page = open_file(file, 390)
    assert "0.40" not in told(page, "mask")  # the prose asks for it
    page.get_by_text("padding", exact=True).tap()
    assert "“can” 0.223 / 0.555 ≈ 0.40" in told(page, "mask")
    page.locator(".mask td button").nth(1).tap()
    page.locator(".mask thead button").first.tap()  # all of a column
    own = MASKS["padding"].clone()
    own[0, 1] = own[:, 0] = False
    assert_masks(page, own, own, own)


def test_added_places_change_lengths_and_angle_turned_ones_do_not(page):
    moves = ("both", "ArrowRight", 51, 41), ("key stands", "Home", 51, 31), ("both", "End", 80, 60)
    for control, key, t, j in moves:
        slider(page, "turn", control).focus()
        page.keyboard.press(key)
        assert f"query {t}, key {j}" in page.locator(".turn label").first.inner_text()
        added = ARROWS + SinusoidalPositionalEncoding(8).table(81)[[t, j], 2:4]
        x = ARROWS.repeat_interleave(4, dim=1)[:, None].expand(2, 81, 8)  # all pairs alike
        turned = RotaryPositionalEncoding(8).rotate(x)[[0, 1], [t, j], 1::4]
        pairs = torch.stack([added, turned])  # ways, query and key, (right, up)
        tips = page.locator(".turn .pair path:is(.q, .k):not(.hand)").evaluate_all(TIPS)
        torch.testing.assert_close(torch.tensor(tips), pairs.flatten(0, 1), atol=1e-5, rtol=0)
        lengths, scores = pairs.norm(dim=-1), pairs.prod(dim=1).sum(dim=-1, keepdim=True)
        angles = (scores / lengths.prod(dim=1, keepdim=True)).acos().rad2deg().round()
        said = page.locator(".turn .pair p").all_inner_texts()
        shown = [[float(x) for x in re.findall(r"-?[\d.]+", t.replace("−", "-"))] for t in said]
        expected = torch.cat([lengths, angles, scores], dim=1)
        torch.testing.assert_close(torch.tensor(shown), expected, atol=0.0051, rtol=0)
    heights = "all => all.map(e => new Set([...e.points].map(p => Math.round(p.y))).size)"
    drawn = page.locator(".turn polyline").evaluate_all(heights)
    assert drawn[0] > drawn[1] == 1
    slider(page, "turn", "key stands").fill("15")
    assert re.search("15 before .* 15 after", told(page, "turn"))


@pytest.mark.parametrize("way", [0, 2], ids=["added", "turned"])
def test_arrows_are_dragged_to_other_places(page, way):
    both, grips = slider(page, "turn", "both"), page.locator(".turn .grip")
    slider(page, "turn", "key stands").fill("5")  # else one lies on the other
    for who, places in enumerate(["query 44, key 49", "query 40, key 49"]):
        both.fill("44")
        there = middle(grips.nth(way + who))
        both.fill("40")
        drag(page, middle(grips.nth(way + who)), there)
        assert places in page.locator(".turn label").first.inner_text()
        assert told(page, "turn").startswith(["Same distance", "With RoPE, key 9 after"][who])
