"""The translator in the page: its logits and weights are PyTorch's; and whatever is typed.

The figure is that of its chapter, kept but for its scripts, so the model has learnt what is asked.
"""

import base64
import json
import re
from html import unescape

import nbformat
import numpy as np
import pytest
import torch

from chapters.live.figure import SHARED, STATIC, in_halves
from tools.notebooks import chapters
from utils.models import recorded_weights
from utils.text import CharacterVocabulary

SCRIPTS = [STATIC / name for name in (*SHARED[:2], "dates.js")]
DATE = "Sunday, April 18, 1920"
TRANSLATED = "Sonntag, 18. April 1920"


@pytest.fixture(scope="module")
def figure():
    """The figure as its chapter shows it."""
    cells = (cell for path in chapters([]) for cell in nbformat.read(path, as_version=4).cells)
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    shown = (output.get("data", {}).get("text/html", "") for output in outputs)
    return next(html for html in shown if 'data-live="dates"' in html)


@pytest.fixture(scope="module")
def given(figure):
    return json.loads(unescape(re.search(r'data-given="([^"]*)"', figure)[1]))


@pytest.fixture(scope="module")
def vocabulary(given):
    return CharacterVocabulary(given["characters"])


def shaped(model, state):
    numbers = {name: np.frombuffer(base64.b64decode(x), "<f2") for name, x in state.items()}
    weights = {
        name: torch.from_numpy(numbers[name].astype(np.float32)).view(weight.shape)
        for name, weight in model.state_dict().items()
    }
    model.load_state_dict(weights)
    return model.eval()


@pytest.fixture(scope="module")
def model(given, Transformer):
    return shaped(Transformer(len(given["characters"]) + 3), given["state"])


@pytest.fixture(scope="module")
def file(figure, save):
    code = "".join(file.read_text("utf-8") for file in SCRIPTS)  # as it is now
    return save(f"{figure.split('<script>')[0]}</figure>", f"{code}begin(dates);")


@pytest.fixture(scope="module")
def library(browser):
    """A page with the functions of the script, for their numbers alone."""
    page = browser.new_page()
    for file in SCRIPTS:
        page.add_script_tag(path=file)
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


def run(model, source, target):
    """Logits, and each head's weights of the last cross-attention."""
    with torch.no_grad(), recorded_weights(model) as records:
        logits = model.decode(target, model.encode(source), source)
    return logits[0], records[-1][0][0]


def test_logits_and_weights_are_pytorchs(library, Transformer):
    D, H = 24, 4
    model = Transformer(30, D, H, L=3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    shaped(model, in_halves(model))
    library.evaluate(LOAD, [in_halves(model), H])
    for S, T in ((1, 1), (9, 4), (31, 40)):
        source, target = (torch.randint(1, 30, (1, length)) for length in (S, T))
        expected = run(model, source, target)
        found = library.evaluate(READ, [source[0].tolist(), target[0].tolist()])
        for ours, theirs in zip(found, expected, strict=True):
            ours = torch.tensor(ours, dtype=torch.float32).view(theirs.shape)
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def told(page):
    return page.locator("[role=status]").inner_text()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_it_serves_everybody(serves_everybody, file):
    serves_everybody(file, lambda page: page.get_by_role("button", name="Write").click())


def test_a_date_is_written_by_keyboard(open_file, file):
    page = open_file(file)
    press(page, "Tab", "Control+A")
    page.keyboard.type(DATE)
    assert told(page).startswith("Nothing is written yet. Next: “S”, ")
    off = page.locator(".buttons [aria-disabled=true]")
    assert off.all_inner_texts() == ["One back"]
    press(page, "Tab", "Tab", "Enter", "Enter", "Enter")  # "One letter"
    assert told(page).startswith("Written: “Son”. Next: “n”, ")
    press(page, "Tab", "Space")  # back
    assert told(page).startswith("Written: “So”. Next: “n”, ")
    press(page, "Shift+Tab", "Shift+Tab", "Enter")
    assert told(page) == f"Written: “{TRANSLATED}”, which is right."
    assert off.all_inner_texts() == ["One letter"]


def test_bars_and_lines_are_the_models(open_file, file, model, vocabulary):
    page = open_file(file, 390)
    page.locator("input").fill(DATE)
    page.get_by_role("button", name="One letter").tap()
    source, target = vocabulary.encode([DATE]), vocabulary.encode(["S"])[:, :2]
    logits, heads = run(model, source, target)
    chances, heads = logits[-1].softmax(dim=-1), heads[:, -1]  # (V,), (H, S)
    cells = [float(text) for text in page.locator("td.bar:visible").all_inner_texts()]
    expected = chances[chances >= 0.005].sort(descending=True).values[:6]
    torch.testing.assert_close(torch.tensor(cells), expected, atol=0.0051, rtol=0)
    for n, weights in enumerate([heads.mean(dim=0), *heads]):
        page.get_by_label("Lines by").select_option(index=n)
        widths = page.locator("path.look").evaluate_all(
            "all => all.map(e => Number(e.getAttribute('stroke-width')))"
        )
        drawn = 1 + 6 * weights[weights >= 0.01]
        torch.testing.assert_close(torch.tensor(widths), drawn, atol=1e-3, rtol=0)
        assert f"{weights.max():.2f}." in told(page)


def test_a_letter_that_is_written_can_be_pointed_at(open_file, file, model, vocabulary):
    page = open_file(file)
    page.locator("input").fill(DATE)
    button = page.get_by_role("button", name="One letter")
    for _ in range(4):
        button.click()
    letter = page.locator(".lines rect[fill=transparent]").nth(1)
    letter.hover(force=True)
    assert told(page).startswith("Letter 2: “o”, ")
    _, heads = run(model, vocabulary.encode([DATE]), vocabulary.encode(["So"])[:, :2])
    weights = heads[page.get_by_label("Lines by").evaluate("e => e.selectedIndex") - 1, -1]
    assert page.locator("path.look").count() == (weights >= 0.01).sum()
    page.locator("input").hover()
    assert told(page).startswith("Written: “Sonn”. Next: “t”, ")
    letter.hover(force=True)
    button.click()  # what is pressed counts
    assert told(page).startswith("Written: “Sonnt”. Next: “a”, ")


def test_whatever_is_typed_is_answered_by_a_sentence(open_file, file):
    page = open_file(file, 390)
    for text, words in (
        (" \t  ", "nothing to read"),
        ("🙂" * 50_000, "none of these characters"),
        ("Friday, Maï 25, 2001 🙂", "never seen “ï”, “🙂”"),
        ("May 25, 2001", "never seen a date in this form"),
        ("Sunday, February 31, 2099", "no such day"),
        ("<b>", "reads what is left"),
        ("Sunday, April 18, 1920, " * 3000, "only its first 40 characters"),
    ):
        page.locator("input").fill(text)
        for name in ("One letter", "One back", "Write"):
            page.get_by_role("button", name=name).tap(force=True)  # even with nothing to do
        assert words in told(page)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
