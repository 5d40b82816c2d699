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


@pytest.fixture
def open_page(open_file, folder):
    def open_page(name="notebooks", **how):
        page = open_file(folder / name / "page.html", folder=folder, **how)
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


def ids_of(kept, text):
    return torch.tensor([[END_OF_TEXT, *kept.vocabulary.encode(text)]])


def test_tokens_their_names_and_bytes_are_those_of_python(library, kept):
    draw, vocabulary = random.Random(0), kept.vocabulary
    files = sorted((ROOT / "utils").rglob("*.py"))
    lines = [x for file in files for x in file.read_text("utf-8").split("\n") if len(x) > 30]
    texts = ["", " ", " " * 100, "a" * 500, *draw.sample(lines, 300)]
    for _ in range(300):
        words = draw.choices([*ODD, *lines[:40]], k=5)
        texts.append("".join(word + draw.choice(BLANKS) for word in words))
    found = library.evaluate("texts => texts.map((text) => vocabulary.encode(text))", texts)
    assert found == [vocabulary.encode(text) for text in texts]
    rows = [draw.choices(range(len(vocabulary)), k=12) for _ in range(200)]  # not letters all
    back = library.evaluate("all => all.map((ids) => vocabulary.decode(ids))", [*found, *rows])
    assert back == [*texts, *map(vocabulary.decode, rows)]
    names = library.evaluate("() => vocabulary.pieces.map((_, id) => vocabulary.name(id))")
    assert names == [vocabulary.name(token) for token in range(len(vocabulary))]


def test_logits_weights_and_greedy_texts_are_those_of_pytorch(library, kept):
    run = """([ids, count]) => {
        model.rewind([]);
        const [all, written] = [ids.map((id) => (model.step(id), [...model.logits()])), []];
        for (let n = 0; n < count; n++) {
            written.push(drawToken(nextTokens(model.scores, 0, 1)));
            [model.step(written.at(-1)), model.logits()];
        }
        const weigh = (one) => [0, 1, 2, 3].map((h) => [...model.weigh(one, h, all.length - 1)]);
        return [all, written, model.blocks.map(weigh)]; // of a place that is past
    }"""
    for prompt in (PROMPT, "", "naïve 東京 🙂", "Parameters\n----------\nx : array_like\n    "):
        ids = ids_of(kept, prompt)
        logits, written, found = library.evaluate(run, [ids[0].tolist(), 40])
        with torch.no_grad(), recorded_weights(kept.model) as records:
            expected = kept.model(ids)[0]
        weights = torch.stack([each[0, :, -1] for (each,) in records])  # (L, H, T)
        torch.testing.assert_close(torch.tensor(found).float(), weights, atol=1e-4, rtol=0)
        torch.testing.assert_close(torch.tensor(logits), expected, atol=1e-3, rtol=0)
        assert written == [int(i) for i in write(kept.model, ids, 40, temperature=None)]


def test_heads_do_what_the_page_says_of_them(library, kept):
    heading, opened, back = found = [], [], []  # weights on what each head is said to look at
    for sample in kept.recipe["samples"]:
        ids = ids_of(kept, sample["text"])[:, :256]
        names = [*map(kept.vocabulary.name, ids[0].tolist())]
        with torch.no_grad(), recorded_weights(kept.model) as records:
            kept.model(ids)
        rows = [records[block][0][0, head] for block, head, _ in library.evaluate("HEADS")]
        for t in range(20, len(names) - 1):
            line = max((i for i in range(t) if names[i][0] == "⏎"), default=0) + 1
            if names[t] == "⏎" and line < t and set(names[t + 1]) == {"-"}:
                heading.append(rows[0][t, line:t].sum())
            at = [i for i in range(t + 1) if "(" in names[i]]
            if names[t + 1] == ")" and at:
                opened.append(rows[1][t, at[-1]])
            back.append(rows[2][t, t - 2 : t].sum())
    shares = [float(torch.stack(weights).mean()) for weights in found]
    assert min(torch.tensor(shares) - torch.tensor([0.95, 0.6, 0.6])) > 0, shares


def test_the_chances_are_those_of_the_course_and_tokens_are_drawn_by_them(library):
    logits = torch.randn(500, generator=torch.Generator().manual_seed(0)).mul(3)
    run = """([x, t, p]) => {
        const { before, chances } = nextTokens(Float32Array.from(x), t, p);
        return [[...before], [...chances]];
    }"""
    for temperature, p in ((1, 1), (0.8, 0.95), (2, 0.5), (0.1, 0.05)):
        found = torch.tensor(library.evaluate(run, [logits.tolist(), temperature, p]))
        warm = apply_temperature(logits, temperature)
        expected = torch.stack([warm, keep_top_p(warm, p)]).softmax(dim=-1)
        torch.testing.assert_close(found.float(), expected, atol=1e-5, rtol=0)
    # Chance itself is given, so that none decides: 1000 even draws.
    run = """() => {
        const next = nextTokens(Float32Array.of(0, 1, 2), 1, 1);
        let [n, counts] = [0, [0, 0, 0]];
        Math.random = () => (n + 0.5) / 1000;
        for (; n < 1000; n++) counts[drawToken(next)]++;
        return counts;
    }"""
    found = torch.tensor(library.evaluate(run)) / 1000
    torch.testing.assert_close(found, torch.arange(3.0).softmax(dim=0), atol=0.002, rtol=0)


def started(page):
    page.get_by_role("button", name="Write here").click()
    page.locator(".text").wait_for()
    return page


def wait_for_status(page, words):
    page.locator("[role=status]", has_text=words).wait_for()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def written(page):
    return page.locator(".text").evaluate("e => e.textContent")


def test_it_serves_everybody(serves_everybody, folder):
    serves_everybody(folder / "notebooks" / "page.html", started, folder)


def test_a_page_saved_alone_says_what_it_lacks_and_takes_the_weights_beside_it(open_page, folder):
    page = open_page("alone/saved")
    page.get_by_role("button", name="Write here").click()
    wait_for_status(page, "The model is not beside this page")
    assert page.locator(".wide svg").is_visible()
    beside = folder / "alone" / "saved" / "writer-weights.js"
    beside.symlink_to(folder / "_static" / "writer-weights.js")
    started(open_page("alone/saved"))
    beside.unlink()


def test_it_writes_by_keyboard_what_pytorch_writes(open_page, kept):
    page = open_page()
    press(page, "Tab", "Enter")
    wait_for_status(page, "A sample: 2 tokens")
    assert written(page) == PROMPT + " index."
    assert page.evaluate("document.activeElement.textContent") == "Write"
    logits = kept.model(ids_of(kept, PROMPT + " index"))[0, -1].detach()
    chances = keep_top_p(apply_temperature(logits, 0.8), 0.95).softmax(dim=-1)
    press(page, *["Tab"] * 4, "ArrowLeft")  # to the text, and to its last token
    said = f"came “.”, probability {chances[kept.vocabulary.encode('.')[0]]:.2f}."
    page.locator("[aria-live]", has_text=said).wait_for()
    press(page, *["Shift+Tab"] * 6, "Home", "Shift+Tab", "Control+A")  # temperature 0
    page.keyboard.type("Compute the mean")
    press(page, *["Tab"] * 5)  # to "One token"
    ids = ids_of(kept, "Compute the mean")
    expected = [int(i) for i in write(kept.model, ids, 40, temperature=None, end=END_OF_TEXT)]
    for n in range(2):
        page.keyboard.press("Enter")
        page.locator(".prompt+span", has_text=kept.vocabulary.decode(expected[: n + 1])).wait_for()
    press(page, "Shift+Tab", "Space")  # "Fast"
    wait_for_status(page, "“")
    assert written(page).startswith("Compute the mean" + kept.vocabulary.decode(expected))
    press(page, "Tab", "Tab", "Enter")  # begin again
    wait_for_status(page, "Tokens in the prompt: 3")
    assert written(page) == "Compute the mean"


def test_whatever_is_typed_is_gone_on_with(open_page):
    page = started(open_page(width=390))
    page.evaluate("Math.random = () => 0")  # the best token
    for prompt, words in (
        ("", "the prompt: 0"),
        ("<script>alert(1)</script> 🙂 नमस्ते \n\t ", "Tokens in"),
        ("word " * 20_000, "last 128 tokens"),
    ):
        page.locator("textarea").fill(prompt)
        wait_for_status(page, words)
        page.get_by_role("button", name="Write").tap()
        wait_for_status(page, "“")  # what to do now that it is over, or full
        before = written(page)
        assert prompt[-60:] in before
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    page.get_by_role("button", name="Write").tap()
    wait_for_status(page, "Writing")
    wait_for_status(page, "“")
    assert written(page).startswith(before)
    assert len(written(page)) > len(before)
