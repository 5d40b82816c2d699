"""The live figures in a real browser, from a file in a plain folder: by keyboard, mouse, finger."""

import re
from functools import partial

import pytest
import torch

from tools.notebooks import ROOT
from utils.figures import live

pytestmark = pytest.mark.slow
STYLES = [ROOT / "book" / "_static" / name for name in ("figures.css", "figures.js")]

KEYS = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # (S, D)
PRICES = torch.tensor([[2.0], [3.0], [5.0]])  # (S, D_value)
START = torch.tensor([1.0, 1.0, 1.0])
TOKENS = ["can", "you", "?", "[PAD]", "<b>"]
X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [1.0, -1.0]])  # (T, D)
LENGTH = 3


def figures():
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    dims = ["warm", "bitter", "sweet"]
    given = {"keys": KEYS, "names": ["tea", "coffee", "cake"], "dims": dims, "start": START}
    return {
        "query": live("query", "It moves. So.", **given, values=PRICES, unit=" €"),
        "plane": live("query", "It is within.", keys=X, names=TOKENS, dims=["a", "b"], start=X[2]),
        "mask": live("mask", "It blocks. So.", tokens=TOKENS, x=X, length=LENGTH),
        "turn": live("turn", "It turns. So.", query=q, key=k),
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with all of them, as somebody would save it."""
    shown = "".join(
        f'<section class="{name}">{figure._repr_html_()}</section>'
        for name, figure in figures().items()
    )
    style, script = (file.read_text(encoding="utf-8") for file in STYLES)
    file = tmp_path_factory.mktemp("live") / "page.html"
    file.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Live</title>'
        '<meta name="viewport" content="width=device-width">'
        "<style>html{color-scheme:light dark;background:Canvas}</style>"
        f"<style>{style}</style><main><h1>Live</h1>{shown}</main><script>{script}</script></html>",
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.fixture
def open_page(open_file, address):
    return partial(open_file, address)


def numbers(page, selector):
    """The numbers in the cells of a table; a cell without a key counts as 0."""
    texts = page.locator(selector).all_inner_texts()
    return torch.tensor([float(t.replace("−", "-")) if t != "–" else 0.0 for t in texts])


def weights_of(query, scale=1.0):
    return (scale * KEYS @ query).softmax(dim=-1)


def assert_shows(page, query, scale=1.0):
    """The table has the weights of this query, and the sentence its output."""
    weights = weights_of(query, scale)
    shown = numbers(page, ".query td.bar")
    torch.testing.assert_close(shown, weights, atol=0.0051, rtol=0)
    told = page.locator(".query [role=status]").inner_text()
    assert f"Output: {(weights @ PRICES).item():.2f} €." in told


def slider(page, figure, name):
    return page.locator(f".{figure} label", has_text=name).locator("input")


def test_each_figure_takes_the_place_of_its_picture(open_page):
    page = open_page()
    assert page.locator(".stage").count() == len(figures())
    for picture in page.locator(":is(.wide, .narrow) > svg").all():
        assert not picture.is_visible()
    assert page.locator("figcaption").first.inner_text() == "It moves. So."  # nothing to enlarge


@pytest.mark.parametrize(("width", "shown"), [(1000, ".wide"), (390, ".narrow")])
def test_without_a_script_there_is_the_picture(open_page, width, shown):
    page = open_page(width, scripts=False)
    assert page.locator(".stage").count() == 0
    for name in figures():
        assert page.locator(f".{name} {shown} svg").is_visible()


def test_on_paper_there_is_the_picture(open_page):
    page = open_page()
    page.emulate_media(media="print")
    for name in figures():
        assert page.locator(f".{name} .wide svg").is_visible()
        assert not page.locator(f".{name} .stage").is_visible()


def test_a_query_moves_by_keyboard(open_page):
    page = open_page()
    assert_shows(page, START)
    page.keyboard.press("Tab")  # to "warm"
    page.keyboard.press("Home")
    assert_shows(page, torch.tensor([0.0, 1.0, 1.0]))
    page.keyboard.press("Tab")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert_shows(page, torch.tensor([0.0, 1.08, 1.0]))
    slider(page, "query", "scale").focus()
    page.keyboard.press("Home")
    assert_shows(page, torch.zeros(3))
    page.keyboard.press("End")
    assert_shows(page, torch.tensor([0.0, 1.08, 1.0]), scale=8)
    assert slider(page, "query", "bitter").get_attribute("aria-valuetext") == "1.08"


def test_a_score_is_written_as_its_sum(open_page):
    page = open_page()
    counted = page.locator(".query table + p")
    assert counted.inner_text() == "Score of coffee: 1·1 + 1·1 + 1·0 = 2."
    slider(page, "query", "scale").fill("0.5")
    slider(page, "query", "warm").fill("0.5")
    assert counted.inner_text() == "Score of coffee: 0.5·(0.5·1 + 1·1 + 1·0) = 0.75."


def test_keys_that_weigh_the_same_are_named_together(open_page):
    page = open_page()
    told = page.locator(".query [role=status]")
    assert told.inner_text().startswith("Most weight: coffee, 0.58. ")
    slider(page, "query", "bitter").fill("0")
    assert told.inner_text().startswith("Most weight: all alike, 0.33 each. ")
    slider(page, "query", "sweet").fill("0")
    assert told.inner_text().startswith("Most weight: tea and coffee, 0.42 each. ")


def asked(page):
    """The query that the sliders of the figure say."""
    found = page.locator(".query input").evaluate_all("all => all.map(e => Number(e.value))")
    return torch.tensor(found[:3])


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_query_is_dragged_with_the_mouse(open_page):
    page = open_page()
    x, y = middle(page.locator(".query circle.tip").bounding_box())
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y - 60, steps=4)
    page.mouse.up()
    page.mouse.move(x, y)  # let go, it stays
    query = asked(page)
    assert query[0] == 1
    assert query[1] < 1 < query[2]
    assert_shows(page, query)
    x_now, y_now = middle(page.locator(".query circle.tip").bounding_box())
    assert abs(x_now - (x - 40)) < 8
    assert abs(y_now - (y - 60)) < 8


def swipe(page, start, end):
    """Move a finger over the glass."""
    client = page.context.new_cdp_session(page)
    for kind, at in (("touchStart", start), ("touchMove", end), ("touchEnd", None)):
        points = [{"x": at[0], "y": at[1]}] if at else []
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_query_is_dragged_with_a_finger_and_the_page_stays(open_page):
    page = open_page(390)
    page.locator(".query svg[role=img]").last.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    x, y = middle(page.locator(".query circle.tip").bounding_box())
    swipe(page, (x, y), (x - 50, y - 50))
    query = asked(page)
    assert query[1] < 1 < query[2]
    assert_shows(page, query)
    assert page.evaluate("scrollY") == before


def test_a_query_stays_on_the_plane(open_page):
    page = open_page()
    x, y = middle(page.locator(".query circle.tip").bounding_box())
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(1, 1, steps=3)
    page.mouse.up()
    assert asked(page).tolist() == [1, 0, 2]


@pytest.mark.parametrize("where", ["query", "plane"])
def test_names_of_keys_leave_one_another_free(open_page, where):
    """Two keys of the plane are one point."""
    names = KEYS.shape[0] if where == "query" else X.shape[0]
    labels = open_page().locator(f".{where} svg > circle.key + text")
    assert labels.count() == names
    boxes = [labels.nth(n).bounding_box() for n in range(names)]
    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            gaps = [
                max(one[at] - other[at] - other[size], other[at] - one[at] - one[size])
                for at, size in (("x", "width"), ("y", "height"))
            ]
            assert max(gaps) > -2, (one, other)  # a box is higher than its letters


def test_vectors_as_values_are_answered_by_a_vector(open_page):
    page = open_page()
    output = (X @ X[2]).softmax(dim=-1) @ X
    told = page.locator(".plane [role=status]").inner_text().replace("−", "-")
    assert f"Output: ({output[0]:.2f},\u00a0{output[1]:.2f}), the diamond." in told


PLACES = torch.arange(5)
MASKS = {
    "everything": torch.ones(5, 5, dtype=torch.bool),
    "lengths": (PLACES < LENGTH).expand(5, 5),
    "causal": PLACES[:, None] >= PLACES,
    "both": (PLACES < LENGTH) & (PLACES[:, None] >= PLACES),
}


def masked_weights(allowed):
    """What a mask makes of the scores, (T, T); a row without keys has none."""
    scores = (X @ X.T * 2**-0.5).masked_fill(~allowed, -torch.inf)
    return scores.softmax(dim=-1).nan_to_num()


def assert_weighs(page, allowed):
    """The second grid has the weights of this mask."""
    shown = numbers(page, ".mask td:not(:has(button)):not(thead td)").view(5, 5)
    torch.testing.assert_close(shown, masked_weights(allowed), atol=0.0051, rtol=0)


def words(page):
    """What the cells of the mask say: True or False."""
    found = page.locator(".mask td button").all_inner_texts()
    return torch.tensor([text == "True" for text in found]).view(5, 5)


def tap(page, name):
    page.locator(".mask .buttons").get_by_role("button", name=name, exact=True).tap()


def test_masks_in_both_conventions_by_finger(open_page):
    page = open_page(390)
    assert_weighs(page, MASKS["both"])
    for name, allowed in MASKS.items():
        tap(page, name)
        assert words(page).equal(allowed)
        assert_weighs(page, allowed)
    page.get_by_label("True means").select_option(index=1)
    assert words(page).equal(MASKS["both"])  # the same mask, given to the layer
    assert_weighs(page, ~MASKS["both"])
    tap(page, "causal")
    assert words(page).equal(~MASKS["causal"])
    assert_weighs(page, MASKS["causal"])
    tap(page, "turn every cell round")
    assert_weighs(page, ~MASKS["causal"])
    told = page.locator(".mask [role=status]")
    assert told.inner_text().startswith("Blocked everywhere: <b>.")
    zeros = "layer gives zeros for it, nn.MultiheadAttention by default nan."
    assert zeros in told.inner_text()
    page.get_by_label("True means").select_option(index=0)
    page.locator(".mask td button").first.tap()
    assert told.inner_text().startswith("Blocked everywhere: can.")
    assert "The function gives zeros for it." in told.inner_text()


def test_padding_that_is_read_is_told(open_page):
    page = open_page()
    told = page.locator(".mask [role=status]")
    assert told.inner_text() == "Each row shares a weight of 1 among the keys it may attend to."
    page.get_by_label("True means").select_option(index=1)
    most = masked_weights(~MASKS["both"])[:LENGTH, LENGTH:].sum(dim=-1).max().item()
    assert f"Padding is read: it gets {most:.2f} of the weight of a word." in told.inner_text()
    page.get_by_role("button", name="lengths").click()
    assert "Padding" not in told.inner_text()


def chosen(page):
    return page.locator(".mask .buttons [aria-pressed=true]").all_inner_texts()


def test_the_chosen_mask_is_marked_in_either_convention(open_page):
    page = open_page(390)
    assert chosen(page) == ["both"]
    for index in range(2):
        page.get_by_label("True means").select_option(index=index)
        for name in MASKS:
            tap(page, name)
            assert chosen(page) == [name]
        page.locator(".mask td button").first.tap()
        assert chosen(page) == []


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_blocked_row_of_pytorchs_layer_is_nan_by_default(need_weights):
    layer = torch.nn.MultiheadAttention(2, 1, batch_first=True)
    blocked = torch.ones(5, 5, dtype=torch.bool)
    default = {} if need_weights else {"need_weights": False}
    output, _ = layer(X[None], X[None], X[None], attn_mask=blocked, **default)
    assert output.isnan().all() == need_weights


def test_cells_of_a_mask_by_keyboard(open_page):
    page = open_page()
    page.locator(".mask .buttons button").last.focus()
    page.keyboard.press("Tab")  # into the grid, which is one stop
    page.keyboard.press("ArrowUp")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expected = MASKS["both"].clone()
    expected[1, 2] = True
    assert words(page).equal(expected)
    assert_weighs(page, expected)
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "query you 1, key ? 2: True"
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('td button')")


def test_only_the_added_positions_change_with_the_place(open_page):
    page = open_page()
    rows = page.locator(".turn tbody tr")
    before = [rows.nth(n).locator("td").all_inner_texts() for n in range(3)]
    slider(page, "turn", "query at place").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    after = [rows.nth(n).locator("td").all_inner_texts() for n in range(3)]
    assert after[:2] == before[:2]
    assert [row[1] for row in after[:2]] == ["the same"] * 2
    assert after[2][0] != before[2][0]
    assert after[2][1] == before[2][1] != "the same"
    assert page.locator(".turn [role=status]").inner_text() == "Query at 13, key at 15."


def test_two_clocks_have_named_hands(open_page):
    page = open_page()
    assert page.locator(".turn .face").count() == 2
    assert page.locator(".turn .legend").inner_text().strip() == "query key"

    def arcs():
        ends = page.locator(".turn .arc").evaluate_all("all => all.map(e => e.getTotalLength())")
        return torch.tensor(ends)

    before = arcs()
    told = page.locator(".turn p", has_text="These pairs give")
    said = told.inner_text()
    parts = [float(x) for x in re.findall(r"-?\d\.\d+", said.replace("−", "-"))]
    assert sum(parts[:3]) == pytest.approx(parts[3])
    assert parts[3] == numbers(page, ".turn tbody td:nth-child(2)")[0]
    slider(page, "turn", "query at place").fill("20")
    assert told.inner_text() == said
    torch.testing.assert_close(arcs(), before, atol=0.05, rtol=0)  # both turned
    slider(page, "turn", "key, places").fill("3")
    assert (arcs() - before).abs().min() > 0.5


def test_places_alone_do_not_know_left_from_right(open_page):
    page = open_page()
    found = {}
    for n in (-3, 3):
        slider(page, "turn", "key, places").fill(str(n))
        found[n] = numbers(page, ".turn tbody td:nth-child(2)")
    assert found[3][1] == found[-3][1]
    assert found[3][0] != found[-3][0]


@pytest.mark.parametrize("width", [1000, 390])
def test_the_first_hand_is_turned(open_page, width):
    page = open_page(width)
    face = page.locator(".turn .face").first
    face.scroll_into_view_if_needed()
    box = face.bounding_box()
    x, y = middle(box)
    r = box["width"] / 2 - 3
    if width == 1000:
        page.mouse.move(x, y - r)
        page.mouse.down()
        page.mouse.move(x + r, y)
        page.mouse.move(x, y + r)  # half a turn: 3.14 places
        page.mouse.up()
        assert "Query at 11," in page.locator(".turn [role=status]").inner_text()
    else:
        swipe(page, (x, y - r), (x + r, y))  # a quarter: 1.57
        assert "Query at 10," in page.locator(".turn [role=status]").inner_text()


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_is_wider_than_its_page_or_too_small_for_a_thumb(open_page, too_small, width):
    page = open_page(width)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert too_small(page) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_page, violations, theme):
    assert not violations(open_page(theme=theme))


def test_a_figure_is_light():
    for figure in figures().values():
        assert len(figure._repr_html_().encode()) < 300_000
