"""The heads of a trained layer, in a real browser: the weights are PyTorch's, whatever is typed."""

import random

import pytest
import torch

from chapters.ch03_gap_filler import load_gap_filler
from chapters.live.heads import called_in_panels, live_heads
from tools.notebooks import ROOT

TEXT = "can you can that"
MOST = 24
ODD = ["", "🙂", "👍🏽", "naïve", "ÀÉÎ", "東京", "नमस्ते", "½", "ﬁ", "_", "é", "\xa0", "\t", "ΣΑΣ"]
# Names of the script are those of the page here, so that a test can use them.
READ = """text => {
    const figure = document.querySelector("[data-live=heads]");
    const { state, merges, numHeads } = JSON.parse(figure.dataset.given);
    const vocabulary = new BytePairs(merges);
    const ids = vocabulary.encode(asRead(text));
    const weights = new GapFiller(state, numHeads).weights(ids);
    return [ids, ids.map((id) => called(vocabulary, id)), weights.map(({ data }) => [...data])];
}"""


@pytest.fixture(scope="module")
def kept():
    return load_gap_filler(ROOT / "notebooks" / "results")


@pytest.fixture(scope="module")
def file(kept, save):
    figure = live_heads("They look. So.", filler=kept, text=TEXT)
    return save(figure._repr_html_(), figure.code(".js"))


@torch.no_grad()
def weights_of(kept, text):
    return kept.model.weights(torch.tensor([kept.encode(text)[:MOST]]))[0]  # (H, T, T)


def test_tokens_names_and_weights_are_those_of_python(open_file, file, kept):
    page, draw = open_file(file), random.Random(0)
    for text in (TEXT, "The cat saw the dog, and the dog saw it.", "x", "naïve 東京 🙂"):
        *_, found = page.evaluate(READ, text)
        expected = weights_of(kept, text)
        found = torch.tensor(found, dtype=torch.float32).view(expected.shape)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    files = sorted((ROOT / "utils").rglob("*.py"))
    lines = [line for file in files for line in file.read_text("utf-8").split("\n") if line]
    odd = [" ".join(draw.choices(ODD, k=4)) for _ in range(50)]
    for text, (ids, names) in zip(
        texts := [*draw.sample(lines, 100), *odd],
        page.evaluate(f"texts => texts.map((text) => ({READ})(text).slice(0, 2))", texts),
        strict=True,
    ):
        assert ids == kept.encode(text)
        assert names == [called_in_panels(kept.vocabulary, i) for i in ids]


def told(page):
    return page.locator("[role=status]").inner_text()


def assert_shows(page, kept, text, picked=None):
    """The lines of one token, with the numbers of the large ones, weakest first; or all lines."""
    panels, weights = page.locator(".panel").all(), weights_of(kept, text)
    for panel, head in zip(panels, weights, strict=True):
        row = head if picked is None else head[picked]
        assert panel.locator("line").count() == int((row >= 0.04).sum())
        found = [float(x) for x in panel.locator("text.number").all_text_contents()]
        large = torch.tensor([]) if picked is None else row[row >= 0.1].sort().values
        torch.testing.assert_close(torch.tensor(found), large, atol=0.0051, rtol=0)


def test_by_keyboard(open_file, file, kept):
    page = open_file(file)
    assert_shows(page, kept, TEXT, 1)
    for panel, (name, share) in zip(
        page.locator(".panel").all(), kept.recipe["called"], strict=True
    ):
        said = f"{name}: on average {share:.2f} of its weight".lower()
        assert said in panel.locator("p").last.inner_text().lower()
    for key in ("Tab", "Tab", "ArrowRight", "ArrowRight", "Space"):  # the tokens are one stop
        page.keyboard.press(key)
    assert_shows(page, kept, TEXT, 2)
    assert told(page).startswith("can (3) is hidden. Most weight: ")
    page.keyboard.press("Enter")  # and let go
    assert_shows(page, kept, TEXT)
    tokens = ["can (1)", "you", "can (3)", "that"]
    for panel, head in zip(page.locator(".panel").all(), weights_of(kept, TEXT), strict=True):
        label = panel.locator("svg").get_attribute("aria-label")
        for token, row in zip(tokens, head, strict=True):
            assert f"{token} to {tokens[row.argmax()]} {row.max():.2f}" in label
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('.picks button')")


def test_by_finger_whatever_is_typed(open_file, file, kept):
    page = open_file(file, 390)
    page.locator(".picks button").nth(3).tap()
    assert_shows(page, kept, TEXT, 3)
    box = page.locator(".panel svg").last.bounding_box()
    page.locator(".panel svg").last.tap(position={"x": 20, "y": box["height"] * 3.5 / 5})
    assert_shows(page, kept, TEXT, 2)
    for text, words in (
        (" \t ", "nothing to read"),
        ("the word " * 5000, f"first {MOST} tokens"),
        ("x" * 50_000, f"first {MOST} tokens"),
        ("🙂 नमस्ते", "byte by byte"),
        ("<script>alert(1)</script>", "pieces of words"),
        ("I", "One token has no others"),
    ):
        page.locator("input").fill(text)
        assert words in told(page)
        count = min(len(kept.encode(text[:2000])), MOST)
        assert page.locator(".picks button").count() == count
        assert page.locator(".panels").is_visible() == (count > 0)
        if count:
            page.locator(".picks button").last.tap()
            assert_shows(page, kept, text[:2000], count - 1)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_it_serves_everybody(serves_everybody, file):
    serves_everybody(file, lambda page: page.locator(".picks button").first.click())
