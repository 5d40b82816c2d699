"""The translator in the page: its logits and texts are PyTorch's; and whatever is typed.

The figure is that of chapter 17, as it is kept, so the model has learnt what it is asked.
"""

import base64
import json
import re
from functools import partial
from html import unescape

import nbformat
import numpy as np
import pytest
import torch

from tools.notebooks import ROOT, chapters
from utils.data import BEGIN, CharacterVocabulary, split_dates, write_dates
from utils.figures.live_dates import model_in_halves
from utils.figures.live_figure import STATIC, scripts
from utils.heads import recorded_weights
from utils.models import Transformer, greedy

pytestmark = pytest.mark.slow
STYLE = ROOT / "book" / "_static" / "figures.css"
MOST = 40  # characters that are read, and tokens that are written
DATE = "Sunday, April 18, 1920"
ODD = ["May 25, 2001", "1920", "x", "Sunday, April 18, 1920" * 2, "18. April 1920", ",,, ,"]


@pytest.fixture(scope="module")
def figure():
    """The figure as chapter 17 shows it."""
    cells = nbformat.read(chapters(["17"])[0], as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = [output.get("data", {}).get("text/html", "") for output in outputs]
    return next(html for html in shown if 'data-live="dates"' in html)


@pytest.fixture(scope="module")
def given(figure):
    return json.loads(unescape(re.search(r'data-given="([^"]*)"', figure)[1]))


@pytest.fixture(scope="module")
def vocabulary(given):
    return CharacterVocabulary(given["characters"])


def shaped(model, state):
    numbers = {name: np.frombuffer(base64.b64decode(x), "<f2") for name, x in state.items()}
    model.load_state_dict(
        {
            name: torch.from_numpy(numbers[name].astype(np.float32)).view(weight.shape)
            for name, weight in model.state_dict().items()
        }
    )
    return model.eval()


@pytest.fixture(scope="module")
def model(given):
    return shaped(
        Transformer(len(given["characters"]) + 3, 64, 4, 128, 1, norm_first=True), given["state"]
    )


@pytest.fixture(scope="module")
def address(figure, tmp_path_factory):
    file = tmp_path_factory.mktemp("dates") / "page.html"
    file.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Live</title>'
        '<meta name="viewport" content="width=device-width">'
        "<style>html{color-scheme:light dark;background:Canvas}</style>"
        f"<style>{STYLE.read_text('utf-8')}</style><main><h1>Live</h1>{figure}</main></html>",
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.fixture
def open_page(open_file, address):
    return partial(open_file, address, motion="reduce")


@pytest.fixture(scope="module")
def library(browser):
    """A page with the functions of the script, for their numbers alone."""
    page = browser.new_page()
    for name in scripts("dates"):
        page.add_script_tag(path=STATIC / name)
    yield page
    page.close()


LOAD = """([state, numHeads]) => {
    const numbers = Object.entries(state).map(([name, text]) => [name, halves(text)]);
    globalThis.model = new Transformer(Object.fromEntries(numbers), numHeads);
}"""
READ = """([source, target]) => {
    const { logits, weights } = model.decode(target, model.encode(source));
    return [[...logits.data], weights.flatMap(({ data }) => [...data])];
}"""
WRITE = """([sources, most]) => sources.map((source) => {
    const [memory, written] = [model.encode(source), []];
    while (written.length < most && written.at(-1) !== 2) {
        const { logits } = model.decode([1, ...written], memory);
        const last = [...logits.row(written.length)];
        written.push(last.indexOf(Math.max(...last)));
    }
    return written;
})"""


@pytest.mark.parametrize(("layers", "D", "H"), [(1, 8, 2), (3, 24, 4)])
def test_logits_and_weights_are_pytorchs(library, layers, D, H):
    torch.manual_seed(layers)
    model = Transformer(30, D, H, 2 * D, layers, norm_first=True)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    shaped(model, model_in_halves(model))
    library.evaluate(LOAD, [model_in_halves(model), H])
    for S, T in ((1, 1), (9, 4), (31, 40)):
        source, target = (torch.randint(1, 30, (1, length)) for length in (S, T))
        with torch.no_grad(), recorded_weights(model) as records:
            expected = model(source, target)[0], records[-1][0][0]
        found = library.evaluate(READ, [source[0].tolist(), target[0].tolist()])
        for ours, theirs in zip(found, expected, strict=True):
            ours = torch.tensor(ours, dtype=torch.float32).view(theirs.shape)
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_three_hundred_dates_are_written_as_pytorch_writes_them(library, given, model, vocabulary):
    dates = split_dates(20_000, 300, seed=2).test
    english, german = (write_dates(dates, language) for language in ("en", "de"))
    sources = [vocabulary.encode([text]) for text in [*english, *ODD[:2], *ODD[3:]]]
    library.evaluate(LOAD, [given["state"], given["numHeads"]])
    found = library.evaluate(WRITE, [[source[0].tolist() for source in sources], MOST])
    assert found == [greedy(model, source, MOST)[0].tolist() for source in sources]
    written = vocabulary.decode(
        torch.nn.utils.rnn.pad_sequence([*map(torch.tensor, found[:300])], True)
    )
    assert sum(map(str.__eq__, written, german)) >= 297
    for source, target in zip(sources[:20], found[:20], strict=True):
        logits, _ = library.evaluate(READ, [source[0].tolist(), [BEGIN, *target[:-1]]])
        with torch.no_grad():
            expected = model(source, torch.tensor([[BEGIN, *target[:-1]]]))[0]
        torch.testing.assert_close(
            torch.tensor(logits).view(expected.shape), expected, atol=1e-4, rtol=0
        )


def told(page):
    return page.locator("[role=status]").inner_text()


def shown(page):
    """The letters below: those that are written, and the one that comes."""
    texts = page.locator(".lines text").evaluate_all(
        "all => all.filter(e => e.getAttribute('y') > 100).map(e => e.textContent)"
    )
    return "".join(texts)


def expected_text(model, vocabulary, text):
    return vocabulary.decode(greedy(model, vocabulary.encode([text]), MOST))[0]


def test_it_opens_with_what_the_picture_shows(open_page, given, model, vocabulary):
    page = open_page()
    written = expected_text(model, vocabulary, given["text"])
    assert page.locator("input").input_value() == given["text"]
    assert given["letters"] == 0
    assert told(page).startswith(f"Nothing is written yet. Next: “{written[0]}”,")
    assert page.get_by_label("Lines by").input_value() == f"head {given['head']}"
    assert not page.locator(".wide svg").is_visible()


def test_a_date_is_written_by_keyboard(open_page, model, vocabulary):
    page = open_page()
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type(DATE)
    assert told(page).startswith("Nothing is written yet. Next: “S”, ")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")  # "One letter"
    for _ in range(3):
        page.keyboard.press("Enter")
    assert shown(page) == "Sonn"  # the last one comes next
    assert told(page).startswith("Written: “Son”. Next: “n”, ")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # back
    assert told(page).startswith("Written: “So”. Next: “n”, ")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert told(page) == f"Written: “{expected_text(model, vocabulary, DATE)}”."
    assert expected_text(model, vocabulary, DATE) == "Sonntag, 18. April 1920"
    assert shown(page) == "Sonntag,·18.·April·1920›"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")  # in the line it writes too
    assert "Written: “" in told(page)


def test_bars_and_lines_are_the_models(open_page, given, model, vocabulary):
    page = open_page(390)
    page.locator("input").fill(DATE)
    page.get_by_label("Lines by").select_option(index=0)
    page.get_by_role("button", name="One letter").tap()
    source, target = vocabulary.encode([DATE]), vocabulary.encode(["S"])[:, :2]
    with torch.no_grad(), recorded_weights(model) as records:
        chances = model(source, target)[0, -1].softmax(dim=-1)
    cells = [float(text) for text in page.locator("td.bar").all_inner_texts()]
    expected = chances.topk(len(cells)).values
    torch.testing.assert_close(torch.tensor(cells), expected, atol=0.0051, rtol=0)
    heads = records[-1][0][0, :, -1]  # (H, S)
    for n, weights in enumerate([heads.mean(dim=0), *heads]):
        page.get_by_label("Lines by").select_option(index=n)
        widths = page.locator("path.look").evaluate_all(
            "all => all.map(e => Number(e.getAttribute('stroke-width')))"
        )
        drawn = weights[weights >= 0.01]
        torch.testing.assert_close(torch.tensor(widths), 1 + 6 * drawn, atol=1e-3, rtol=0)
        assert f"{weights.max():.2f}." in told(page)


def test_it_writes_by_itself_and_stops(open_page, model, vocabulary):
    page = open_page(motion="no-preference")
    page.locator("input").fill(DATE)
    page.get_by_role("button", name="Write").click()
    page.wait_for_function("document.querySelectorAll('.lines text').length > 27")
    assert told(page) == "Writing …"
    page.get_by_role("button", name="Stop").click()
    assert told(page).startswith("Written: “So")
    before = shown(page)
    page.wait_for_timeout(800)
    assert shown(page) == before
    page.get_by_role("button", name="Write").click()  # it goes on, to the end
    page.locator("[role=status]", has_text="Written: “Sonntag, 18. April 1920”.").wait_for()
    assert page.get_by_role("button", name="Write").is_visible()
    page.get_by_role("button", name="Write").click()
    page.locator("input").fill("")  # typing stops it
    assert told(page).startswith("There is nothing to read")
    page.wait_for_timeout(500)
    assert shown(page) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "There is nothing to read"),
        (" \t  ", "There is nothing to read"),
        ("🙂 東京", "It has learnt none of these characters"),
        ("Friday, Maï 25, 2001 🙂", "It has never seen “ï”, “🙂”, and reads what is left."),
        ("May 25, 2001", "It has never seen a date in this form"),
        ("Sunday, April 38, 1920", "It has never seen a date in this form"),
        ("Sunday, February 31, 2099", "The calendar has no such day"),
        ("Monday, April 18, 1920", "The calendar has no such day"),
        ("<b>", "and reads what is left."),
        ("Sunday, April 18, 1920, " * 3000, "only its first 40 characters are read"),
        ("🙂" * 50_000, "It has learnt none of these characters"),
        ("1" * 50_000, "only its first 40 characters are read"),
    ],
)
def test_whatever_is_typed_is_answered_by_a_sentence(open_page, model, vocabulary, text, words):
    page = open_page(390)
    page.locator("input").fill(text)
    assert words in told(page)
    for name in ("One letter", "One back", "Write", "Write"):
        page.get_by_role("button", name=name).tap(force=True)  # even where it has nothing to do
    assert words in told(page)
    read = "".join(one for one in text[:MOST] if one in vocabulary.characters)
    if read.strip():
        assert f"“{expected_text(model, vocabulary, read)}”." in told(page)
    else:
        assert page.locator("td.bar").all_inner_texts() == ["–"] * 6
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


@pytest.mark.parametrize(("width", "shown"), [(1000, ".wide"), (390, ".narrow")])
def test_without_a_script_and_on_paper_there_is_the_picture(open_page, width, shown):
    page = open_page(width, scripts=False)
    assert page.locator(".stage").count() == 0
    assert page.locator(f"{shown} svg").is_visible()
    page = open_page(width)
    page.emulate_media(media="print")
    assert page.locator(f"{shown} svg").is_visible()
    assert not page.locator(".stage").is_visible()


def test_buttons_that_have_nothing_to_do_say_so(open_page):
    page = open_page()

    def off():
        return page.locator(".buttons [aria-disabled=true]").all_inner_texts()

    assert off() == ["One back"]
    page.get_by_role("button", name="One letter").click()
    assert off() == []
    page.get_by_role("button", name="Write").click()
    assert off() == ["One letter"]
    page.locator("input").fill("")
    assert off() == ["Write", "One letter", "One back"]


def test_a_warning_stays_while_it_writes(open_page):
    page = open_page(motion="no-preference")
    page.locator("input").fill("May 25, 2001")
    page.get_by_role("button", name="Write").click()
    assert told(page).startswith("It has never seen a date in this form")
    assert told(page).endswith("Writing …")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_is_wider_than_its_page_or_too_small_for_a_thumb(open_page, too_small, width):
    page = open_page(width)
    for text in (DATE, "Wednesday, September 30, 2026" + "1" * 20):
        page.locator("input").fill(text)
        page.get_by_role("button", name="Write").click()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert too_small(page) == 0


def test_the_lines_use_the_width_that_there_is(open_page):
    page = open_page()
    for width in (1000, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        room = max(340, page.locator(".stage").evaluate("e => e.clientWidth"))
        page.locator(f".lines[viewBox='0 0 {room} 190']").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_page, violations, theme):
    assert not violations(open_page(theme=theme))


def test_the_figure_is_light(figure):
    assert len(figure.encode()) < 300_000
