"""The model that writes in the page: its tokens, logits and texts are PyTorch's; and its desk."""

import random

import pytest
import torch

from chapters.ch18_sampling import apply_temperature, keep_top_p, write
from chapters.ch18_writer import load_writer
from chapters.live.writer import live_writer, weights_script
from tools.notebooks import ROOT
from utils.byte_pairs import END_OF_TEXT
from utils.models import recorded_weights

PROMPT = "Return the"
ODD = ["🙂", "👍🏽", "👨\u200d👩\u200d👧", "naïve", "東京", "тест", "नमस्ते", "½", "٣", "Ⅷ", "ﬁ"]
ODD += ["_", "__x", "\u200b", "\ufeff", "'", "é", "\x85", "\x1c"]
BLANKS = [" ", "  ", "\n", "\n\n    ", "\t", "\xa0", "\u2003 ", "\u3000", "\x1c"]


@pytest.fixture(scope="module")
def kept():
    return load_writer(ROOT / "notebooks" / "results")


@pytest.fixture(scope="module")
def folder(kept, save, tmp_path_factory):
    """A book in a plain folder: a page, the weights among the styles, and a page saved alone."""
    folder = tmp_path_factory.mktemp("writer")
    figure = live_writer("It writes. So.", writer=kept, text=PROMPT, written=" index.")
    for name in ("notebooks", "_static", "alone/saved"):
        (folder / name).mkdir(parents=True)
        save(figure._repr_html_(), figure.code(".js"), folder / name)
    (folder / "_static" / "writer-weights.js").write_text(weights_script(kept), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def library(browser, folder):
    """A page whose model is loaded, for its numbers alone."""
    page = browser.new_page()
    page.goto((folder / "notebooks" / "page.html").as_uri())
    load = "fetchWriter().then(LanguageModel.load).then((made) => { globalThis.model = made; })"
    page.evaluate(load)
    page.evaluate("() => { globalThis.vocabulary = new BytePairs(courseWriter.merges); }")
    return page


def ids_of(kept, text):
    return torch.tensor([[END_OF_TEXT, *kept.vocabulary.encode(text)]])


def test_tokens_their_names_and_bytes_are_those_of_python(library, kept):
    draw, vocabulary = random.Random(0), kept.vocabulary
    files = sorted((ROOT / "utils").rglob("*.py"))
    lines = [x for file in files for x in file.read_text("utf-8").split("\n") if len(x) > 30]
    odd = [[x + draw.choice(BLANKS) for x in draw.choices([*ODD, *lines[:40]], k=5)] for _ in lines]
    texts = ["", " ", " " * 100, "a" * 500, *draw.sample(lines, 300), *map("".join, odd[:300])]
    found = library.evaluate("texts => texts.map((text) => vocabulary.encode(text))", texts)
    assert found == [vocabulary.encode(text) for text in texts]
    rows = [draw.choices(range(len(vocabulary)), k=12) for _ in range(200)]  # not letters all
    back = library.evaluate("all => all.map((ids) => vocabulary.decode(ids))", [*found, *rows])
    assert back == [*texts, *map(vocabulary.decode, rows)]
    names = library.evaluate("() => vocabulary.pieces.map((_, id) => vocabulary.name(id))")
    assert names == [vocabulary.name(token) for token in range(len(vocabulary))]


def logits_without(model, ids, block, head, start):
    mask = torch.ones(*ids.shape, 4, 32)
    mask[:, start:, head] = 0
    output = model.blocks[block].mha.out_proj
    hook = output.register_forward_pre_hook(lambda _, x: x[0] * mask.flatten(2))
    logits = model(ids)[0, -1]
    hook.remove()
    return logits


@torch.no_grad()
def test_logits_weights_and_greedy_texts_are_those_of_pytorch(library, kept):
    run = """([ids, count]) => {
        model.rewind([]);
        const [all, written] = [ids.map((id) => (model.step(id), [...model.logits()])), []];
        const less = HEADS.map(([b, h]) => [b, h, [...model.without([b, h], ids.length - 1)]]);
        for (let n = 0; n < count; n++) {
            written.push(drawToken(nextTokens(model.logits(), 0, 1)));
            model.step(written.at(-1));
        }
        const weigh = (one) => [0, 1, 2, 3].map((h) => [...model.weigh(one, h, all.length - 1)]);
        return [all, less, written, model.blocks.map(weigh)]; // of a place that is past
    }"""
    for prompt in (PROMPT, "", "naïve 東京 🙂", "Parameters\n----------\nx : array_like ('a"):
        ids = ids_of(kept, prompt)
        logits, less, written, found = library.evaluate(run, [ids[0].tolist(), 40])
        with recorded_weights(kept.model) as records:
            expected = kept.model(ids)[0]
        weights = torch.stack([each[0, :, -1] for (each,) in records])  # (L, H, T)
        torch.testing.assert_close(torch.tensor(found).float(), weights, atol=1e-4, rtol=0)
        torch.testing.assert_close(torch.tensor(logits), expected, atol=1e-3, rtol=0)
        for block, head, found in less:
            expected = logits_without(kept.model, ids, block, head, ids.shape[1] - 1)
            torch.testing.assert_close(torch.tensor(found), expected, atol=1e-3, rtol=0)
        assert written == [int(i) for i in write(kept.model, ids, 40, temperature=None)]


def test_heads_do_what_the_page_says_of_them(library, kept):
    run = """ids => {
        model.rewind([]);
        ids.forEach((id) => model.step(id));
        const names = ids.map((id) => vocabulary.name(id));
        return HEADS.map(([block, head, , find]) => ids.flatMap((_, t) => {
            const weights = model.weigh(model.blocks[block], head, t);
            const sought = find(names.slice(0, t + 1)).map((n) => weights[n]);
            return sought.length ? [[sought.reduce((a, b) => a + b), names[t + 1]]] : [];
        }));
    }"""
    texts = [ids_of(kept, sample["text"])[0, :256] for sample in kept.recipe["samples"]]
    found = zip(*(library.evaluate(run, ids.tolist()) for ids in texts), strict=True)
    opened, heading, back = ([row for rows in each for row in rows] for each in found)
    opened = [row for row in opened if row[1] == ")"]
    for rows, least in ((heading, 0.95), (opened, 0.6), (back, 0.6)):
        assert sum(weight for weight, _ in rows) > least * len(rows) > 0
    marks = {"f(x[y": [3], "f(x)": [], "don't": [], "('a": [1], "``x": [0], "``x``": [], "(⏎⏎": []}
    found = library.evaluate("all => all.map((text) => lastOpen([...text]))", [*marks])
    assert found == [*marks.values()]


def test_the_chances_are_those_of_the_course_and_tokens_are_drawn_by_them(library):
    logits = torch.randn(500, generator=torch.Generator().manual_seed(0)).mul(3)
    run = "([x, t, p]) => [...nextTokens(x, t, p).chances]"
    for temperature, p in ((1, 1), (0.8, 0.95), (2, 0.5), (0.1, 0.05)):
        found = torch.tensor(library.evaluate(run, [logits.tolist(), temperature, p]))
        expected = keep_top_p(apply_temperature(logits, temperature), p).softmax(dim=-1)
        torch.testing.assert_close(found.float(), expected, atol=1e-5, rtol=0)
    run = """() => Array.from({ length: 1000 }, (_, n) => {  // even draws: no chance decides
        Math.random = () => (n + 0.5) / 1000;
        return drawToken(nextTokens(Float32Array.of(0, 1, 2), 1, 1));
    })"""
    found = torch.tensor(library.evaluate(run)).bincount() / 1000
    torch.testing.assert_close(found, torch.arange(3.0).softmax(dim=0), atol=0.002, rtol=0)


def started(page):
    page.set_default_timeout(120_000)
    press(page, "Tab", "Enter")
    wait_for_status(page, "A sample: 2 tokens")
    return page


def wait_for_status(page, words):
    page.locator("[role=status]", has_text=words).wait_for()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_it_serves_everybody(serves_everybody, folder):
    serves_everybody(folder / "notebooks" / "page.html", started, folder)


def test_a_page_saved_alone_says_what_it_lacks_and_takes_the_weights_beside_it(open_file, folder):
    page = open_file(folder / "alone" / "saved" / "page.html", folder=folder)
    press(page, "Tab", "Enter")
    wait_for_status(page, "The model is not beside this page")
    assert page.locator(".wide svg").is_visible()
    (folder / "alone/saved/writer-weights.js").symlink_to(folder / "_static/writer-weights.js")
    press(page, "Enter")
    wait_for_status(page, "A sample: 2 tokens")


def test_it_writes_by_keyboard_what_pytorch_writes(open_file, folder, kept):
    page = started(open_file(folder / "notebooks" / "page.html", folder=folder))
    text, looks = page.locator(".text"), page.locator("[aria-live]")
    assert text.text_content() == PROMPT + " index."
    logits = apply_temperature(kept.model(ids_of(kept, PROMPT + " index"))[0, -1].detach(), 0.8)
    chance = keep_top_p(logits, 0.95).softmax(dim=-1)[kept.vocabulary.encode(".")[0]]
    press(page, *["Tab"] * 6, "End")  # to the text, and to its last token
    looks.filter(has_text=f"came “.”, drawn with probability {chance:.2f}").wait_for()
    press(page, "Tab", "Tab", "Space", *["Shift+Tab"] * 4, "Home")  # no head; temperature 0
    looks.filter(has_text=f"{chance:.2f}. Nothing is open here; its highest").wait_for()
    assert "Without this head, “.” still has 0.00: nothing changes." in looks.inner_text()
    press(page, *["Shift+Tab"] * 5, "Control+A")
    page.keyboard.type("x : str, default 'None")
    ids = ids_of(kept, "x : str, default 'None")
    for _ in range(20):  # without this head, the quote stays open
        ids = torch.cat([ids, logits_without(kept.model, ids, 5, 0, 0).argmax().view(1, 1)], dim=1)
    press(page, *["Tab"] * 3, "Enter", "Shift+Tab", "Space")  # "One token", "Fast"
    wait_for_status(page, "“")
    assert text.text_content().startswith(kept.vocabulary.decode(ids[0, 1:].tolist()))
    press(page, *["Tab"] * 5, "End")
    looks.filter(has_text="without the head that finds the open bracket or quote.").wait_for()


def test_whatever_is_typed_is_gone_on_with(open_file, folder):
    page = started(open_file(folder / "notebooks" / "page.html", width=390, folder=folder))
    page.evaluate("Math.random = () => 0")  # the best token
    odd = "<script>alert(1)</script> 🙂 नमस्ते \n\t "
    for prompt, words in (("", "the prompt: 0"), (odd, "in"), ("word " * 20_000, "last 128")):
        page.locator("textarea").fill(prompt)
        wait_for_status(page, words)
        page.get_by_role("button", name="Write").tap()
        wait_for_status(page, "“")  # what to do now that it is over, or full
        assert prompt[-60:] in page.locator(".text").text_content()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
