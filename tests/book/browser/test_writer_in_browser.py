"""The model that writes in the page: its tokens, logits and texts are PyTorch's; and its desk."""

import random
import re

import pytest
import torch

from tools.notebooks import ROOT
from utils.data import END_OF_TEXT
from utils.figures import live
from utils.figures.live_figure import STATIC, scripts
from utils.figures.live_writer import weights_script
from utils.models import apply_temperature, keep_top_p, load_writer, write

pytestmark = pytest.mark.slow
PROMPT = "Return the"
PROMPTS = [
    PROMPT,
    "",
    "naïve 東京 🙂👍🏽",
    "Parameters\n----------\nx : array_like\n    ",
    "x = [1, 2]",
]
# Names of the script are those of the page here, so that a test can use them.
PAGE = (
    '<!doctype html><html lang="en" data-content_root="../"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>Writer</title>'
    "<style>html{{color-scheme:light dark;background:Canvas}}</style><style>{style}</style>"
    "<main><h1>Writer</h1>{figure}</main><script>{scripts}</script></html>"
)
ODD = [
    "🙂",
    "👍🏽",
    "👨\u200d👩\u200d👧",
    "naïve",
    "ÀÉÎ",
    "東京",
    "日本語",
    "тест",
    "नमस्ते",
    "½",
    "²",
    "٣",
    "Ⅷ",
    "ﬁ",
    "_",
    "__x",
    "\u200b",
    "\ufeff",
    "'",
    "é",
    "ß",
    "\x85",
    "\x1c",
]
BLANKS = [" ", "  ", "\n", "\n\n    ", "\t", "\xa0", "\u2003 ", "\u3000", "\x1c"]


@pytest.fixture(scope="module")
def kept():
    return load_writer(ROOT / "notebooks" / "results")


@pytest.fixture(scope="module")
def folder(kept, tmp_path_factory):
    """A book in a plain folder: a page, and the weights among the styles."""
    folder = tmp_path_factory.mktemp("writer")
    for name in ("notebooks", "_static", "alone/saved"):
        (folder / name).mkdir(parents=True)
    figure = live("writer", "It writes. So.", writer=kept, text=PROMPT, written=" index.")
    own = "".join((STATIC / name).read_text("utf-8") for name in scripts("writer"))
    style = (ROOT / "book" / "_static" / "figures.css").read_text("utf-8")
    page = PAGE.format(style=style, figure=figure._repr_html_(), scripts=own)
    for name in ("notebooks", "alone/saved"):
        (folder / name / "page.html").write_text(page, encoding="utf-8")
    (folder / "_static" / "writer-weights.js").write_text(weights_script(kept), encoding="utf-8")
    return folder


@pytest.fixture
def open_page(open_file, folder):
    def open_page(name="notebooks", **how):
        page = open_file((folder / name / "page.html").as_uri(), folder=folder.as_uri(), **how)
        page.set_default_timeout(120_000)
        return page

    return open_page


@pytest.fixture(scope="module")
def library(browser, folder):
    """A page whose model is loaded, for its numbers alone."""
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto((folder / "notebooks" / "page.html").as_uri())
    page.evaluate(
        """async () => {
            globalThis.make = (tag, has) => Object.assign(document.createElement(tag), has);
            const kept = await fetchWriter("test");
            globalThis.model = await LanguageModel.load(kept);
            globalThis.vocabulary = new BytePairs(kept.merges);
        }"""
    )
    yield page
    page.close()


def started(page):
    page.get_by_role("button", name="Write here").click()
    page.locator(".text").wait_for()
    return page


def ids_of(kept, text):
    return torch.tensor([[END_OF_TEXT, *kept.vocabulary.encode(text)]])


def told(page):
    return page.locator("[role=status]").inner_text()


def wait_for_status(page, words):
    page.locator("[role=status]", has_text=words).wait_for()


def slide(page, name, value):
    page.locator("label", has_text=name).locator("input").fill(str(value))


def test_a_thousand_texts_have_the_tokens_of_the_vocabulary(library, kept):
    draw = random.Random(0)
    every = [
        line
        for file in sorted((ROOT / "utils").rglob("*.py"))
        for line in file.read_text(encoding="utf-8").split("\n")
        if len(line) > 30
    ]
    texts = ["", " ", " " * 100, "a" * 500, *draw.sample(every, 696)]
    for _ in range(300):
        words = draw.choices([*ODD, *every[:40]], k=5)
        texts.append("".join(word + draw.choice(BLANKS) for word in words))
    assert len(texts) == 1000
    found = library.evaluate("texts => texts.map((text) => vocabulary.encode(text))", texts)
    assert found == [kept.vocabulary.encode(text) for text in texts]
    back = library.evaluate("all => all.map((ids) => vocabulary.decode(ids))", found)
    assert back == texts


def test_every_token_has_the_name_that_it_has_in_the_picture(library, kept):
    found = library.evaluate("() => vocabulary.pieces.map((_, id) => vocabulary.name(id))")
    assert found == [kept.vocabulary.name(token) for token in range(len(kept.vocabulary))]


def test_bytes_that_are_no_letter_are_decoded_as_in_python(library, kept):
    draw = random.Random(1)
    rows = [draw.choices(range(len(kept.vocabulary)), k=12) for _ in range(200)]
    found = library.evaluate("all => all.map((ids) => vocabulary.decode(ids))", rows)
    assert found == [kept.vocabulary.decode(ids) for ids in rows]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_logits_and_greedy_texts_are_those_of_pytorch(library, kept, prompt):
    ids = ids_of(kept, prompt)
    run = """([ids, count]) => {
        model.rewind([]);
        const all = ids.map((id) => (model.step(id), [...model.logits()]));
        const written = [];
        for (let n = 0; n < count; n++) {
            written.push(drawToken(nextTokens(model.scores, 0, 1)));
            model.step(written.at(-1));
            model.logits();
        }
        return [all, written];
    }"""
    logits, written = library.evaluate(run, [ids[0].tolist(), 40])
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), kept.model(ids)[0], atol=1e-3, rtol=0)
    assert written == [int(i) for i in write(kept.model, ids, 40, temperature=None)]


@pytest.mark.parametrize(("temperature", "p"), [(1, 1), (0.8, 0.95), (2, 0.5), (0.1, 0.05)])
def test_the_chances_are_those_of_the_course(library, temperature, p):
    logits = torch.randn(500, generator=torch.Generator().manual_seed(0)).mul(3)
    run = "([x, t, p]) => [...nextTokens(Float32Array.from(x), t, p).chances]"
    found = library.evaluate(run, [logits.tolist(), temperature, p])
    expected = keep_top_p(apply_temperature(logits, temperature), p).softmax(dim=-1)
    found = torch.tensor(found, dtype=torch.float32)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_tokens_are_drawn_as_often_as_they_are_probable(library):
    run = """() => {
        const next = nextTokens(Float32Array.from([0, 1, 2]), 1, 1);
        const counts = [0, 0, 0];
        for (let n = 0; n < 20000; n++) counts[drawToken(next)]++;
        return counts;
    }"""
    found = torch.tensor(library.evaluate(run)) / 20_000
    expected = torch.tensor([0.0, 1.0, 2.0]).softmax(dim=0)
    torch.testing.assert_close(found, expected, atol=0.03, rtol=0)


def test_it_is_quick(library):
    """A number for whoever reads the output; a loaded machine is no reason to fail."""
    run = """() => {
        model.rewind([]);
        const since = performance.now();
        for (let n = 0; n < model.length; n++) {
            model.step(n);
            nextTokens(model.logits(), 0.8, 0.95);
        }
        return (1000 * model.length) / (performance.now() - since);
    }"""
    print(f"{library.evaluate(run):.0f} tokens a second")


@pytest.mark.parametrize(("width", "shown"), [(1000, ".wide"), (390, ".narrow")])
def test_the_picture_stays_until_the_model_is_there(open_page, width, shown):
    page = open_page(width=width)
    assert page.locator(f"{shown} svg").is_visible()
    assert page.locator(":is(.wide, .narrow) > svg:visible").count() == 1
    assert page.locator(".text").count() == 0
    started(page)
    assert page.locator(":is(.wide, .narrow) > svg:visible").count() == 0
    page.emulate_media(media="print")
    assert page.locator(f"{shown} svg").is_visible()
    assert not page.locator(".stage").is_visible()


@pytest.mark.parametrize(("width", "shown"), [(1000, ".wide"), (390, ".narrow")])
def test_without_a_script_there_is_the_picture(open_page, width, shown):
    page = open_page(width=width, scripts=False)
    assert page.locator(f"{shown} svg").is_visible()
    assert page.locator("button").count() == 0


def test_without_the_weights_a_sentence_says_where_it_runs(open_page):
    page = open_page("alone/saved")
    start = page.get_by_role("button", name="Write here")
    for _ in range(2):
        start.click()
        wait_for_status(page, "The model is not beside this page")
    assert page.locator(".wide svg").is_visible()


def test_the_weights_may_lie_beside_a_saved_page(open_page, folder):
    beside = folder / "alone" / "saved" / "writer-weights.js"
    beside.symlink_to(folder / "_static" / "writer-weights.js")
    started(open_page("alone/saved"))
    beside.unlink()


def test_it_writes_by_keyboard_what_pytorch_writes(open_page, kept):
    page = open_page()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for_status(page, "The prompt has 2 tokens")
    assert page.evaluate("document.activeElement.textContent") == "Write"
    page.keyboard.press("Shift+Tab")  # top-p
    page.keyboard.press("Shift+Tab")  # temperature
    page.keyboard.press("Home")
    assert page.locator("td.bar").first.inner_text() == "1.00"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("Compute the mean")
    for _ in range(4):
        page.keyboard.press("Tab")  # to "One token"
    ids = ids_of(kept, "Compute the mean")
    expected = [int(i) for i in write(kept.model, ids, 40, temperature=None, end=END_OF_TEXT)]
    for n in range(3):
        page.keyboard.press("Enter")
        words = kept.vocabulary.decode(expected[: n + 1])
        page.locator(".text span:not(.prompt)", has_text=words).wait_for()
        wait_for_status(page, "Drawn: ")
    assert "probability 1.00" in told(page)
    caption = page.locator("caption").inner_text()
    assert caption == f"The next token, after {kept.vocabulary.name(expected[2])}"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    wait_for_status(page, "a second")
    text = page.locator(".text").evaluate("e => e.textContent")
    assert text.startswith("Compute the mean" + kept.vocabulary.decode(expected))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # begin again
    wait_for_status(page, "The prompt has 3 tokens")
    assert page.locator(".text").evaluate("e => e.textContent") == "Compute the mean"


def test_the_bars_are_the_models(open_page, kept):
    page = started(open_page())
    slide(page, "temperature", 1)
    slide(page, "top-p", 1)
    with torch.no_grad():
        logits = kept.model(ids_of(kept, PROMPT))[0, -1]
    best = logits.softmax(dim=-1).topk(8)
    found = torch.tensor([float(text) for text in page.locator("td.bar").all_inner_texts()])
    torch.testing.assert_close(found, best.values, atol=0.0051, rtol=0)
    names = page.locator("tbody th").all_inner_texts()
    assert names == [kept.vocabulary.decode([i]).replace(" ", "·") for i in best.indices.tolist()]
    slide(page, "top-p", 0.1)
    left = keep_top_p(logits, 0.1).softmax(dim=-1)[best.indices].tolist()
    shown = [f"{share:.2f}" if share else "–" for share in left]
    assert page.locator("td.bar").all_inner_texts() == shown


def test_stop_stops(open_page):
    page = started(open_page())
    slide(page, "temperature", 0)
    page.locator("textarea").fill(PROMPTS[3])
    wait_for_status(page, "The prompt has")
    # Stop as soon as something is written: a machine may be quicker than a driver of browsers.
    page.evaluate(
        """() => {
            const button = [...document.querySelectorAll("button")]
                .find((one) => one.textContent === "Write");
            new MutationObserver((_, seen) => {
                if (document.querySelector(".text span:last-child").textContent.length < 40) return;
                seen.disconnect();
                button.click();
            }).observe(document.querySelector(".text"), { childList: true, subtree: true });
            button.click();
        }"""
    )
    wait_for_status(page, "Stopped after")
    text = page.locator(".text").inner_text()
    page.wait_for_timeout(300)
    assert page.locator(".text").inner_text() == text
    assert page.get_by_role("button", name="Write").is_visible()
    page.get_by_role("button", name="Write").click()  # and it goes on
    wait_for_status(page, "a second")
    assert len(page.locator(".text").inner_text()) > len(text)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", "No prompt: the model begins a text of its own."),
        ("word " * 20_000, "only its last 128 tokens are read"),
        ("x" * 50_000, "only its last 128 tokens are read"),
        ("🙂 東京 नमस्ते", "The prompt has"),
        ("<script>alert(1)</script>", "The prompt has"),
        (" \n\n\t ", "The prompt has"),
    ],
)
def test_whatever_is_typed_is_gone_on_with(open_page, prompt, words):
    page = started(open_page(width=390, motion="reduce"))
    page.locator("textarea").fill(prompt)
    wait_for_status(page, words)
    page.get_by_role("button", name="Write").tap()
    wait_for_status(page, re.compile("come to its end|All 256 places are taken"))
    text = page.locator(".text").evaluate("e => e.textContent")
    assert text.lstrip("…").startswith(prompt[-60:] if len(prompt) > 300 else prompt) or (
        len(prompt) > 300 and "\n" not in text[:100]
    )
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_typing_while_it_writes_begins_again(open_page):
    page = started(open_page())
    wait_for_status(page, "The prompt has")
    page.evaluate(
        """() => {
            [...document.querySelectorAll("button")].find((b) => b.textContent === "Write").click();
            const input = document.querySelector("textarea");
            input.value = "Compute the mean";
            input.dispatchEvent(new Event("input"));
        }"""
    )
    wait_for_status(page, "The prompt has 3 tokens")
    assert page.locator(".text").evaluate("e => e.textContent") == "Compute the mean"
    assert page.get_by_role("button", name="Write").is_visible()


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_is_wider_than_its_page_or_too_small_for_a_thumb(open_page, too_small, width):
    page = open_page(width=width)
    for ready in (lambda: page, lambda: started(page)):
        ready()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert too_small(page) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_page, violations, theme):
    page = open_page(theme=theme)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    for ready in (lambda: page, lambda: started(page)):
        assert not violations(ready())


def test_the_figure_is_light(folder):
    text = (folder / "notebooks" / "page.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
