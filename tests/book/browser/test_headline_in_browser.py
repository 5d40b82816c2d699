"""The classifier in the page: its tokenizer, its probabilities, and whatever a reader may type."""

import random
import re

import pytest
import torch

from tools.notebooks import ROOT
from utils.attention import MultiHeadAttention
from utils.data import train_tokenizer
from utils.figures import live
from utils.figures.drawings import draw_reading
from utils.figures.live_figure import STATIC, scripts
from utils.models import TextClassifier

pytestmark = pytest.mark.slow
CLASSES = ["business", "sport", "tech"]
TEXT = "The new phone is thinner than the old one."
STRANGE = """naïve ÀÉÎ straße İstanbul 東京 日本語 🙂👍🏽 тест ` ^ $ <b> don't ﬁ ½ ـ नमस्ते""".split()  # noqa: SIM905
STRANGE += ["a\u200bb", "x\x00y", "\ufffd"]
SPECIAL = re.compile(r"\[[A-Z]+\]")  # typed, the library takes it for its token, the page for text


@pytest.fixture(scope="module")
def sentences():
    """A thousand: lines of this package, and whatever a keyboard has."""
    files = sorted((ROOT / "utils").rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    every = [line for text in texts for line in text.splitlines()]
    lines = [line for line in every if len(line) > 40 and not SPECIAL.search(line)]
    draw = random.Random(0)
    odd = [" ".join(draw.choices([*STRANGE, *lines[:50]], k=6)) for _ in range(200)]
    return [*draw.sample(lines, 800), *odd]


@pytest.fixture(scope="module")
def tokenizer(sentences):
    return train_tokenizer(sentences, vocab_size=600)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    layer = MultiHeadAttention(16, 4)
    model = TextClassifier(len(tokenizer), 16, len(CLASSES), layer)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
        parameter.data = parameter.data.half().float()  # what the page has
    return model.eval()


@pytest.fixture(scope="module")
def address(tokenizer, model, tmp_path_factory):
    still = draw_reading(["a", "b"], [1.0, 2.0], "Weight")
    given = {"model": model, "tokenizer": tokenizer, "classes": CLASSES, "text": TEXT}
    figure = live("headline", "It reads. So.", **given, still=still)._repr_html_()
    own = "".join((STATIC / name).read_text("utf-8") for name in scripts("headline"))
    file = tmp_path_factory.mktemp("headline") / "page.html"
    file.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Live</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<main><h1>Live</h1>{figure}</main><script>{own}</script></html>",
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.fixture
def page(browser, address):
    page, problems = browser.new_page(viewport={"width": 390, "height": 900}), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: request.url == address or problems.append(request.url))
    page.goto(address)
    yield page
    page.close()
    assert not problems


def test_the_tokens_are_the_librarys(page, tokenizer, sentences):
    vocabulary = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    run = """([sentences, vocabulary]) => {
        const known = new Map(vocabulary.map((token, id) => [token, id]));
        return sentences.map((text) => splitWords(text).flatMap((w) => tokenize(w, known)));
    }"""
    found = page.evaluate(run, [sentences, vocabulary])
    expected = [tokenizer.tokenize(text) for text in sentences]
    assert len(sentences) == 1000
    assert found == expected


def shares(page):
    cells = page.locator("td.bar").all_inner_texts()
    return torch.tensor([float(text) for text in cells])


@torch.no_grad()
def expected(model, tokenizer, text):
    return model(tokenizer(text, return_tensors="pt")["input_ids"]).softmax(dim=-1)[0]


@pytest.mark.parametrize("text", [TEXT, "Can you can that?", "phone " * 100, "naïve 東京", "x"])
def test_the_probabilities_are_the_models(page, model, tokenizer, text):
    page.locator("textarea").fill(text)
    theirs = expected(model, tokenizer, text)
    torch.testing.assert_close(shares(page), theirs, atol=0.0051, rtol=0)


def test_a_word_is_taken_out_and_put_back_by_keyboard(page, model, tokenizer):
    before = shares(page)
    page.locator(".words button", has_text="phone").focus()
    page.keyboard.press("Space")
    without = expected(model, tokenizer, TEXT.replace("phone ", ""))
    torch.testing.assert_close(shares(page), without, atol=0.0051, rtol=0)
    assert "with all words it is" in page.locator("[role=status]").inner_text()
    page.keyboard.press("Enter")
    assert shares(page).equal(before)


def test_under_each_word_stand_its_weight_and_what_is_lost_without_it(page, model, tokenizer):
    words = TEXT.split()
    share, best = expected(model, tokenizer, TEXT).max(dim=-1)
    buttons = page.locator(".words button")
    page.wait_for_function("document.querySelector('.words button:last-child').dataset.lost")
    found = buttons.evaluate_all("all => all.map(e => [e.dataset.weight, e.dataset.lost])")
    assert 0.5 < sum(float(weight) for weight, _ in found) < 1  # the rest is on [CLS] and [SEP]
    for n, (_, lost) in enumerate(found):
        without = expected(model, tokenizer, " ".join(words[:n] + words[n + 1 :]))[best]
        got = float(lost.replace("−", "-"))
        assert got == pytest.approx((share - without).item(), abs=0.0051)
    page.locator(".words button", has_text="phone").click()
    page.wait_for_function("document.querySelector('.words button:last-child').dataset.lost")
    assert page.locator(".words button", has_text="phone").get_attribute("data-lost") == "–"


def test_each_head_colours_the_words(page):
    def colours():
        return page.locator(".words button").evaluate_all(
            "all => all.map(e => Number(e.style.getPropertyValue('--share')))"
        )

    seen = []
    for n in range(5):
        page.get_by_label("Colour by").select_option(index=n)
        assert max(colours()) == 1
        seen.append(tuple(colours()))
    assert len(set(seen)) == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "There is nothing to read"),
        (" \n\t ", "There is nothing to read"),
        ("🦄 🦄🦄", "knows none of this"),
        ("word " * 5000, "Only 120 words are read"),
        ("a" * 50_000, "knows none of this"),
        ("<script>alert(1)</script>", "Take a word out"),
    ],
)
def test_whatever_is_typed_is_answered_by_a_sentence(page, text, told):
    page.locator("textarea").fill(text)
    assert told in page.locator("[role=status]").inner_text()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    if re.search("nothing|none", told):
        assert page.locator("td.bar").all_inner_texts() == ["–"] * len(CLASSES)
    else:
        assert shares(page).sum().item() == pytest.approx(1, abs=0.02)


def test_without_a_word_there_is_no_answer(page):
    page.locator("textarea").fill("new phone")
    for name in ("new", "phone"):
        page.locator(".words button", has_text=name).click()
    assert page.locator("td.bar").all_inner_texts() == ["–"] * len(CLASSES)
    assert page.locator("[role=status]").inner_text().startswith("No word is left to read")
    assert page.locator(".tokens").inner_text() == "Tokens: none"
    page.locator(".words button", has_text="phone").click()
    assert shares(page).sum().item() == pytest.approx(1, abs=0.02)
    assert "new" not in page.locator(".tokens").inner_text()


def test_arrows_go_from_word_to_word(page):
    page.locator("textarea").fill("a new phone")
    page.locator(".words button").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "phone"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.textContent") == "new"
    assert page.locator(".words [tabindex='0']").all_inner_texts() == ["new"]
    for box in page.locator(".words button").all():
        assert min(box.bounding_box()["width"], box.bounding_box()["height"]) >= 24


def test_axe_finds_nothing(page, violations):
    page.locator("textarea").fill("The camera sees in the dark. " * 20)  # what is long scrolls
    assert not violations(page)
