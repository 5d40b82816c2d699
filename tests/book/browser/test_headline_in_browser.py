"""The classifier in the page: its tokenizer, its probabilities, and whatever a reader may type."""

import random
import re

import pytest
import torch

from chapters.live.headline import live_headline
from tools.notebooks import ROOT
from utils.attention import MultiHeadAttention
from utils.figures import draw_reading
from utils.models import TextClassifier
from utils.text import train_tokenizer

CLASSES = ["business", "sport", "tech"]
TEXT = "The new phone is thinner than the old one."
STRANGE = """naïve ÀÉÎ straße İstanbul 東京 日本語 🙂👍🏽 тест ` ^ $ <b> don't ﬁ ½ ـ नमस्ते""".split()  # noqa: SIM905
STRANGE += ["a\u200bb", "x\x00y", "\ufffd"]
SPECIAL = re.compile(r"\[[A-Z]+\]")  # typed, the library takes it for its token, the page for text
READ = "document.querySelector('.words button:last-child').dataset.gain"


@pytest.fixture(scope="module")
def sentences():
    """Lines of this package, and whatever a keyboard has."""
    files = sorted((ROOT / "utils").rglob("*.py"))
    every = [line for file in files for line in file.read_text("utf-8").splitlines()]
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
    model = TextClassifier(len(tokenizer), 16, len(CLASSES), MultiHeadAttention(16, 4))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
        parameter.data = parameter.data.half().float()  # what the page has
    return model.eval()


@pytest.fixture(scope="module")
def file(tokenizer, model, save):
    still = draw_reading(["a", "b"], [1.0, 2.0], "Weight", "It reads. So.")
    given = {"model": model, "tokenizer": tokenizer, "classes": CLASSES, "text": TEXT}
    figure = live_headline(**given, still=still)
    return save(figure._repr_html_(), figure.code(".js"))


@pytest.fixture
def page(open_file, file):
    return open_file(file, 390)


def test_the_tokens_are_the_librarys(page, tokenizer, sentences):
    vocabulary = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    run = """([sentences, vocabulary]) => {
        const known = new Map(vocabulary.map((token, id) => [token, id]));
        return sentences.map((text) => splitWords(text).flatMap((w) => tokenize(w, known)));
    }"""
    found = page.evaluate(run, [sentences, vocabulary])
    assert found == [tokenizer.tokenize(text) for text in sentences]


def told(page):
    return page.locator("[role=status]").inner_text()


@torch.no_grad()
def expected(model, tokenizer, text):
    return model(tokenizer(text, return_tensors="pt")["input_ids"]).softmax(dim=-1)[0]


def assert_reads(page, shares):
    found = [float(text) for text in page.locator("td.bar").all_inner_texts()]
    torch.testing.assert_close(torch.tensor(found), shares, atol=0.0051, rtol=0)


def test_the_probabilities_and_what_each_word_does_to_them_are_the_models(page, model, tokenizer):
    for text in ("Can you can that?", "phone " * 100, "naïve 東京", TEXT):
        page.locator("textarea").fill(text)
        assert_reads(page, expected(model, tokenizer, text))
    words, buttons = TEXT.split(), page.locator(".words button")
    share, best = expected(model, tokenizer, TEXT).max(dim=-1)
    page.wait_for_function(READ)
    found = buttons.evaluate_all("all => all.map(e => [e.dataset.weight, e.dataset.gain])")
    of_pieces = [len(tokenizer.tokenize(word)) for word in words]
    given = sum(n * float(weight) for n, (weight, _) in zip(of_pieces, found, strict=True))
    assert 0.5 < given < 1.05  # the rest is on [CLS] and [SEP]; weights are rounded
    for n, (_, gain) in enumerate(found):
        without = expected(model, tokenizer, " ".join(words[:n] + words[n + 1 :]))[best]
        assert float(gain.replace("−", "-")) == pytest.approx((without - share).item(), abs=0.0051)


def test_a_word_is_taken_out_and_put_back_by_keyboard(page, model, tokenizer):
    page.locator(".words button").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Space"):
        page.keyboard.press(key)
    assert_reads(page, expected(model, tokenizer, TEXT.replace("phone ", "")))
    assert "With all words: " in told(page)
    page.keyboard.press("Enter")
    assert_reads(page, expected(model, tokenizer, TEXT))
    page.locator("textarea").fill("phone")
    page.locator(".words button").tap()
    assert told(page).startswith("No word is left")
    assert page.locator("td.bar").all_inner_texts() == ["–"] * len(CLASSES)


def test_whatever_is_typed_is_answered_by_a_sentence(page):
    for text, words in (
        (" \n\t ", "nothing to read"),
        ("🦄 🦄🦄", "knows none of this"),
        ("a" * 50_000, "knows none of this"),
        ("word " * 5000, "Only 120 words"),
        ("<script>alert(1)</script>", "Take a word out"),
    ):
        page.locator("textarea").fill(text)
        assert words in told(page)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_it_serves_everybody(serves_everybody, file):
    long = "The camera sees in the dark. " * 20  # what is long scrolls
    serves_everybody(file, lambda page: page.locator("textarea").fill(long))
