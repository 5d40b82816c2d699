"""The heads of a trained layer, in a real browser: the weights are PyTorch's, whatever is typed."""

import random
from functools import partial

import pytest
import torch

from tools.notebooks import ROOT
from utils.figures import live
from utils.figures.live_figure import STATIC, scripts
from utils.figures.live_heads import _called
from utils.models import load_gap_filler

pytestmark = pytest.mark.slow
TEXT = "can you can that"
MOST = 24
TEXTS = [
    TEXT,
    "The cat saw the dog, and the dog saw the cat.",
    "x",
    "naïve 東京 🙂",
    " ".join(["this is what the function returns"] * 4),
]
# Names of the script are those of the page here, so that a test can use them.
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Heads</title>'
    '<meta name="viewport" content="width=device-width">'
    "<style>html{{color-scheme:light dark;background:Canvas}}</style><style>{style}</style>"
    "<main><h1>Heads</h1>{figure}</main><script>{scripts}</script></html>"
)


@pytest.fixture(scope="module")
def kept():
    return load_gap_filler(ROOT / "notebooks" / "results")


@pytest.fixture(scope="module")
def figure(kept):
    return live("heads", "They look. So.", filler=kept, text=TEXT)._repr_html_()


@pytest.fixture(scope="module")
def address(figure, tmp_path_factory):
    style = (ROOT / "book" / "_static" / "figures.css").read_text("utf-8")
    own = "".join((STATIC / name).read_text("utf-8") for name in scripts("heads"))
    file = tmp_path_factory.mktemp("heads") / "page.html"
    page = PAGE.format(style=style, figure=figure, scripts=own)
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def open_page(open_file, address):
    return partial(open_file, address)


READ = """text => {
    const figure = document.querySelector("[data-live=heads]");
    const { state, merges, numHeads } = JSON.parse(figure.dataset.given);
    const vocabulary = new BytePairs(merges);
    const ids = vocabulary.encode(asRead(text));
    const weights = new GapFiller(state, numHeads).weights(ids);
    return [ids, ids.map((id) => called(vocabulary, id)), weights.map(({ data }) => [...data])];
}"""


@torch.no_grad()
def weights_of(kept, text):
    ids = kept.encode(text)[:MOST]
    return kept.model.weights(torch.tensor([ids]))[0]  # (H, T, T)


@pytest.mark.parametrize("text", TEXTS)
def test_the_weights_are_those_of_pytorch(open_page, kept, text):
    ids, _, found = open_page().evaluate(READ, text)
    assert ids == kept.encode(text)
    with torch.no_grad():
        expected = kept.model.weights(torch.tensor([ids]))[0]
    found = torch.tensor(found, dtype=torch.float32).view(expected.shape)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_hundreds_of_texts_have_the_tokens_and_names_that_python_gives(open_page, kept):
    draw = random.Random(0)
    files = sorted((ROOT / "utils").rglob("*.py"))
    lines = [line for file in files for line in file.read_text("utf-8").split("\n") if line]
    odd = [
        "",
        "🙂",
        "👍🏽",
        "naïve",
        "ÀÉÎ",
        "東京",
        "नमस्ते",
        "½",
        "ﬁ",
        "_",
        "é",
        "\xa0",
        "\t",
        "ΣΑΣ",
    ]
    texts = [*draw.sample(lines, 250), *(" ".join(draw.choices(odd, k=4)) for _ in range(50))]
    page = open_page()
    run = f"texts => texts.map((text) => ({READ})(text).slice(0, 2))"
    found = page.evaluate(run, texts)
    assert [ids for ids, _ in found] == [kept.encode(text) for text in texts]
    expected = [[_called(kept.vocabulary, i) for i in kept.encode(text)] for text in texts]
    assert [names for _, names in found] == expected


def told(page):
    return page.locator("[role=status]").inner_text()


def numbers(page):
    """The numbers at the lines, of each head."""
    panels = page.locator(".panel").all()
    return [[float(x) for x in p.locator("text.number").all_text_contents()] for p in panels]


def assert_shows(page, kept, text, picked):
    """The lines of one token, with the numbers of the large ones, weakest first."""
    weights = weights_of(kept, text)[:, picked]  # (H, T)
    for found, row in zip(numbers(page), weights, strict=True):
        expected = row[row >= 0.1].sort().values
        torch.testing.assert_close(torch.tensor(found), expected, atol=0.0051, rtol=0)
    for panel, row in zip(page.locator(".panel").all(), weights, strict=True):
        assert panel.locator("line").count() == int((row >= 0.04).sum())


def test_at_first_one_word_is_hidden(open_page, kept):
    page = open_page()
    assert_shows(page, kept, TEXT, 1)
    assert told(page).startswith("you is hidden. Most weight: ")


def test_once_it_is_let_go_all_lines_are_drawn(open_page, kept):
    page = open_page()
    page.locator(".picks button").nth(1).click()
    weights = weights_of(kept, TEXT)
    assert page.locator(".panel").count() == len(weights)
    for panel, head in zip(page.locator(".panel").all(), weights, strict=True):
        assert panel.locator("line").count() == int((head >= 0.04).sum())
    assert not any(numbers(page))
    assert told(page).startswith("4 tokens")
    assert page.locator(".picks button").all_inner_texts() == TEXT.split()


def test_each_head_is_called_after_what_it_looks_at(open_page, kept):
    page = open_page()
    called = kept.recipe["called"]
    for panel, (name, share) in zip(page.locator(".panel").all(), called, strict=True):
        assert (
            f"{name}: on average {share:.2f} of its weight".lower()
            in panel.locator("p").last.inner_text().lower()
        )


def test_a_token_is_picked_by_keyboard(open_page, kept):
    page = open_page()
    page.keyboard.press("Tab")  # the sentence
    page.keyboard.press("Tab")  # the tokens are one stop
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert_shows(page, kept, TEXT, 2)
    assert told(page).startswith("can (3) is hidden. Most weight: ")
    assert page.locator("[aria-pressed=true]").inner_text() == "can"
    page.keyboard.press("Enter")  # and let go
    assert not any(numbers(page))
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('.picks button')")


def test_a_sentence_is_typed_by_keyboard(open_page, kept):
    page = open_page()
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("Can I see it")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert_shows(page, kept, "Can I see it", 0)


def test_a_token_is_picked_with_a_finger(open_page, kept):
    page = open_page(390)
    page.locator(".picks button").nth(3).tap()
    assert_shows(page, kept, TEXT, 3)
    box = page.locator(".panel svg").last.bounding_box()
    page.locator(".panel svg").last.tap(position={"x": 20, "y": box["height"] * 3.5 / 5})
    assert_shows(page, kept, TEXT, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "There is nothing to read"),
        (" \t ", "There is nothing to read"),
        ("the word " * 5000, f"Only the first {MOST} tokens are read."),
        ("x" * 50_000, f"Only the first {MOST} tokens are read."),
        ("🙂 東京", "reads other letters byte by byte"),
        ("नमस्ते тест", "reads other letters byte by byte"),
        ("<script>alert(1)</script>", "tokens, whole words or pieces of words"),
        ("I", "One token has no others"),
    ],
)
def test_whatever_is_typed_is_answered_by_a_sentence(open_page, kept, text, words):
    page = open_page(390, motion="reduce")
    page.locator("input").fill(text)
    assert words in told(page)
    count = min(len(kept.encode(text[:2000])), MOST)
    assert page.locator(".picks button").count() == count
    if count:
        page.locator(".picks button").last.tap()
        assert_shows(page, kept, text[:2000], count - 1)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_lines_are_as_wide_as_their_panel_has_room(open_page):
    page = open_page(500)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            """() => [...document.querySelectorAll(".panel svg")].every((svg) =>
                Math.abs(svg.viewBox.baseVal.width - svg.clientWidth) < 1)"""
        )
        for panel in page.locator(".panel").all():
            box = panel.locator("svg").bounding_box()
            assert panel.locator("line").last.bounding_box()["width"] > box["width"] - 165


def test_without_tokens_there_are_no_panels(open_page):
    page = open_page()
    page.locator("input").fill("")
    assert not page.locator(".panels").is_visible()
    page.locator("input").fill("see it")
    assert page.locator(".panels").is_visible()


def test_lines_say_in_words_what_they_show(open_page, kept):
    page = open_page()
    page.locator(".picks button").nth(1).click()
    weights = weights_of(kept, TEXT)
    tokens = ["can (1)", "you", "can (3)", "that"]
    for panel, head in zip(page.locator(".panel").all(), weights, strict=True):
        label = panel.locator("svg").get_attribute("aria-label")
        for token, row in zip(tokens, head, strict=True):
            assert f"{token} to {tokens[row.argmax()]} {row.max():.2f}" in label


@pytest.mark.parametrize(("width", "shown"), [(1000, ".wide"), (390, ".narrow")])
def test_without_a_script_there_is_the_picture(open_page, width, shown):
    page = open_page(width, scripts=False)
    assert page.locator(f"{shown} svg").is_visible()
    assert page.locator(".stage").count() == 0


def test_on_paper_there_is_the_picture(open_page):
    page = open_page()
    assert not page.locator(".wide svg").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".wide svg").is_visible()
    assert not page.locator(".stage").is_visible()


SMALLEST = """() => Math.min(...[...document.querySelectorAll('.stage svg text')].map(
    e => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a))"""


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_is_wider_than_its_page_or_too_small(open_page, too_small, width):
    page = open_page(width)
    page.locator("input").fill(TEXTS[1])
    page.locator(".picks button").nth(3).click()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert too_small(page) == 0
    assert page.evaluate(SMALLEST) >= 12


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_page, violations, theme):
    page = open_page(theme=theme)
    assert not violations(page)
    page.locator(".picks button").first.click()
    assert not violations(page)


def test_the_figure_is_light(figure):
    assert len(figure.encode()) < 300_000
