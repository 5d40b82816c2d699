"""The whole layer in the page: its numbers switch by switch, pointed at, played, broken."""

import itertools
import json
import re

import pytest
import torch

from benchmarks.whole_layer import Reader, found
from chapters.live.layer import PADDING, SENTENCES, kept, live_layer, module_of, rows_of
from tools.notebooks import ROOT

LAYER = kept()
WORDS = SENTENCES[0].split()
PADDED = [*WORDS[:4], PADDING, PADDING]
FAULTS = ("root", "mask", "split", "join", "axis")


@pytest.fixture(scope="module")
def figure():
    return live_layer("It is whole. So.")


@pytest.fixture(scope="module")
def file(figure, save):
    return save(figure._repr_html_(), figure.code(".js"))


@pytest.fixture
def page(open_file, file):
    return open_file(file)


def test_it_serves_everybody(serves_everybody, file):
    def use(page):
        for name in ("causal", "padding", "split by view alone"):
            page.get_by_role("button", name=name).click()
        page.locator("summary").evaluate_all("all => all.forEach(e => e.click())")

    serves_everybody(file, use)


@torch.no_grad()
def opened(words, num_heads, causal, fault):
    """All matrices in torch, with the mistakes as a learner makes them."""
    layer, x = module_of(LAYER, num_heads), rows_of(LAYER, words)
    T, D = x.shape

    def split(x):
        if "split" in fault:
            return x.view(num_heads, T, layer.head_dim)
        return x.view(T, num_heads, layer.head_dim).transpose(0, 1)

    projected = [project(x) for project in (layer.q_proj, layer.k_proj, layer.v_proj)]
    q, k, v = map(split, projected)
    dots = q @ k.mT
    scores = dots if "root" in fault else dots / layer.head_dim**0.5
    blocked = torch.tensor([word == PADDING for word in words]).expand(T, T)
    if causal:
        blocked = blocked | torch.ones(T, T, dtype=torch.bool).triu(1)
    if "mask" not in fault:
        scores = scores.masked_fill(blocked, -torch.inf)
    weights = scores.softmax(dim=-2 if "axis" in fault else -1).nan_to_num()
    heads = weights @ v
    joined = heads.reshape(T, D) if "join" in fault else heads.transpose(0, 1).reshape(T, D)
    made = {"X": x, "J": joined, "O": layer.out_proj(joined)}
    made |= dict(zip("QKV", projected, strict=True))
    for name, x in zip("qkvDSAM", (q, k, v, dots, scores, weights, heads), strict=True):
        made |= {f"{name}{h}": own for h, own in enumerate(x)}
    if not fault:
        masks = {"key_padding_mask": blocked[-1] if PADDING in words else None, "is_causal": causal}
        output, own = layer(made["X"], made["X"], made["X"], average_attn_weights=False, **masks)
        torch.testing.assert_close(made["O"], output)
        torch.testing.assert_close(weights, own)
    return made


OPEN = """([kept, words, how]) => {
    const given = unpack(kept);
    const ids = words.map((w) => w === "[PAD]" ? given.words.length : given.words.indexOf(w));
    const found = openLayer(given, ids, how);
    return Object.fromEntries(Object.entries(found).map(([n, m]) => [n, [...m.data].map(String)]));
}"""


@pytest.mark.parametrize("words", [WORDS, PADDED, ["cat"], [*WORDS, PADDING]])
def test_the_numbers_are_those_of_the_layer_switch_by_switch(page, words):
    several = ((), *((name,) for name in FAULTS), ("split", "join"), FAULTS)
    for num_heads, causal, fault in itertools.product((1, 2, 4, 8), (False, True), several):
        how = {"numHeads": num_heads, "causal": causal, "fault": dict.fromkeys(fault, True)}
        ours = page.evaluate(OPEN, [LAYER, words, how])
        for name, expected in opened(words, num_heads, causal, fault).items():
            numbers = [float(text.replace("Infinity", "inf")) for text in ours[name]]
            found = torch.tensor(numbers).view(expected.shape)
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, msg=f"{how} {name}")


def reaches(words, num_heads, fault):
    """Which output changes with which word under a causal mask, in torch: (T, T)."""
    right, columns = opened(words, num_heads, True, fault)["O"], []
    for s in range(len(words)):
        other = [*words[:s], "river", *words[s + 1 :]]
        change = opened(other, num_heads, True, fault)["O"] - right
        columns.append(change.abs().amax(dim=1) > 1e-6)
    return torch.stack(columns, dim=1)


def shown(page, name):
    """The numbers of a matrix, as the table behind the picture has them."""
    page.locator("details").last.evaluate("e => (e.open = true)")
    page.locator("details select").select_option(value=name)
    texts = page.locator(".numbers td:not(thead td)").all_inner_texts()
    return torch.tensor([float(text.replace("−", "-").replace("∞", "inf")) for text in texts])


@pytest.mark.parametrize("fault", ["", "split", "join", "axis", "mask"])
def test_the_leaks_are_those_of_the_wrong_layer(page, fault):
    page.get_by_role("button", name="causal").click()
    if fault:
        page.locator(".fault button").nth(FAULTS.index(fault)).click()
    seen = reaches(WORDS, 2, (fault,) if fault else ())
    assert shown(page, "R").view(6, 6).bool().equal(seen)
    count = seen.triu(1).sum().item()
    assert bool(count) == bool(fault)
    assert page.locator(".flow .mark").count() == count
    assert page.locator(".links path.path").count() == 5 * bool(count)
    told = f"The future leaks: {count} times" if count else "nothing leaks"
    assert told in page.locator("p.wrong").inner_text()
    why = {  # in the title of the head that the line goes through
        "split": ["head 1: row 1, “hungry” to the mask, holds “chased”"],
        "join": ["head 0: row 2, of “cat”, is put into the row of “hungry”"],
        "axis": ["head 0: softmax adds up columns, later rows too"],
        "mask": ["head 1: nothing hides “cat” from “hungry”"],
    }
    assert page.locator(".lane.noted").all_text_contents() == why.get(fault, [])


def say(page):
    return page.locator(".panel [role=status]").inner_text().replace("−", "-")


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_a_number_is_the_sum_of_what_lights_up_by_keyboard(page):
    page.locator(".flow svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    right = opened(WORDS, 2, False, ())
    assert say(page).startswith("Number 0 of “the”")
    for key in (*["ArrowRight"] * 8, *["ArrowDown"] * 8):  # into a matrix of weights, and below it
        page.keyboard.press(key)
    found = re.match(r"Column (\d) of the (query|key|value) of “(\w+)”", say(page))
    column, name, word = int(found[1]), found[2][0].upper(), WORDS.index(found[3])
    value, *factors = numbers(say(page).splitlines()[-1])
    assert value == pytest.approx(right[name][word, column].item(), abs=0.0051)
    total = sum(a * b for a, b in zip(factors[::2], factors[1::2], strict=True))
    assert total == pytest.approx(value, abs=0.08)  # of rounded numbers
    assert page.locator(".cell.from").count() == 16
    marked = page.locator(".code .marked").all_inner_texts()
    assert [line.split()[0] for line in marked] == [name.lower()]
    page.keyboard.press("Escape")
    assert page.locator(".cell.on").count() == 0


def test_a_line_of_code_lights_up_its_cells_by_keyboard(page):
    page.locator(".code li").first.focus()
    for _ in range(16):
        page.keyboard.press("ArrowDown")
    assert "softmax(dim=-1)" in page.locator(".code .marked").last.inner_text()
    assert page.locator(".cell.on").count() == 2 * 6 * 6
    page.keyboard.press("Tab")
    assert page.locator(".cell.on").count() == 0


def test_a_finger_picks_a_cell_and_what_is_said_does_not_cover_it(open_file, file):
    page = open_file(file, 390)
    cell = page.locator(".flow .cell").nth(500)
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    panel, at = (page.locator(one).bounding_box() for one in (".panel", ".cell.at"))
    assert 0 <= panel["y"] < panel["y"] + panel["height"] <= at["y"] < 900


def played(page):
    """What the steps say, each once."""
    page.get_by_role("button", name="Step ahead").click()
    steps = [say(page)]
    while page.keyboard.press("ArrowRight") or say(page) != steps[-1]:
        steps.append(say(page))
    return steps


def test_play_follows_a_word_whose_heads_read_two_others(page):
    for sentence in SENTENCES:
        page.locator("input").fill(sentence)
        follow = page.locator(".plays select").evaluate("e => e.selectedIndex")
        made, words = opened(sentence.split(), 2, False, ()), sentence.split()
        best = [made[f"A{h}"][follow].argmax().item() for h in range(2)]
        assert len({follow, *best}) == 3
        reads = played(page)[6]
        assert all(f"reads most from “{words[s]}”" in reads for s in best)


@pytest.mark.parametrize("fault", [("split",), ("join",), ("split", "join"), ("axis", "root")])
def test_each_step_is_true_of_a_mistake(page, fault):
    page.get_by_role("button", name="causal").click()
    for name in fault:
        page.locator(".fault button").nth(FAULTS.index(name)).click()
    steps = played(page)  # of "hungry", in row 1
    assert ("Row 1, meant for “hungry”, is “the|chased”:" in steps[3]) == ("split" in fault)
    bold = page.locator(".flow .followed").all_text_contents()
    assert (bold[3:] == ["1: the", "1: the", "1: chased", "1: chased"]) == ("split" in fault)
    wrong = page.locator("p.wrong").inner_text()
    assert ("the mistake to remember" in wrong) == (fault == ("split", "join"))
    assert ("meets every key" in steps[4]) == ("split" not in fault)
    assert ("hides “cat”, “chased”, “a” and “mouse”" in steps[5]) == ("split" not in fault)
    assert ("Divided" in steps[5]) == ("root" not in fault)
    sums = [opened(WORDS, 2, True, fault)[f"A{h}"][1].sum().item() for h in range(2)]
    assert sums == pytest.approx(numbers(steps[6]) if "axis" in fault else [1, 1], abs=0.0051)
    assert (
        steps[8].split("found")[-1]
        == {
            ("split",): ". The future leaks in from “chased”.",
            ("join",): ". The future leaks in from “cat” and “chased”.",
            ("split", "join"): ", among the words of their head alone.",
            ("axis", "root"): "The heads stand side by side again: 8 numbers, 4 from each.",
        }[fault]
    )


def test_play_goes_by_itself_only_where_that_is_wanted(open_file, file):
    page = open_file(file)
    assert not page.get_by_role("button", name="Play").is_visible()
    steps = played(page)
    assert len(steps) == 10
    assert "head 1, which looks for its noun, reads most from “cat”" in steps[6]
    marked = page.locator(".code .marked").all_inner_texts()
    assert [line.strip().split("(")[0] for line in marked] == ["return self.out_proj"]
    page = open_file(file, motion="no-preference")
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(9000)
    assert page.locator(".count").inner_text() == "3 of 10"
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(9000)
    assert page.locator(".count").inner_text() == "3 of 10"


def test_any_word_is_read_as_one_of_its_kind(page):
    kinds = page.locator(".slots select")
    for text, read, own in (
        ("The dragon quickly ATE a pizza book!", "the cat quickly ate a apple", 6),
        ("<b>", "man", 1),
        ("my ball", "my ball", 2),
        ("", "my ball", 2),  # until something is typed
    ):
        page.locator("input").fill(text)
        assert (kinds.count(), page.locator("input").input_value()) == (own, text)
        expected = opened(read.split(), 2, False, ())["O"]
        torch.testing.assert_close(shown(page, "O"), expected.flatten(), atol=0.0051, rtol=0)
    page.locator("input").fill("the constructor ate books yesterday")
    chosen = kinds.evaluate_all("all => all.map(e => e.value)")
    assert chosen == ["article", "thing", "verb", "thing", "adverb"]
    assert "“constructor” like “ball”, “books” like “book”" in page.locator(".heard").inner_text()
    kinds.nth(1).select_option("person")
    expected = opened(["the", "man", "ate", "book", "again"], 2, False, ())["O"]
    torch.testing.assert_close(shown(page, "O"), expected.flatten(), atol=0.0051, rtol=0)


def test_the_code_is_that_of_the_chapters(page):
    text = ""
    for chapter in ("02-*", "04-*"):
        (path,) = (ROOT / "notebooks").glob(f"{chapter}.ipynb")
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text += "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    known = {line.strip().split("  #")[0] for line in text.splitlines()}
    lines = page.evaluate("CODE.flatMap(([text, , , instead]) => [text, instead ?? ''])")
    own = {line.strip().split("  #")[0] for line in lines} - {""}
    assert {line for line in own - known if not line.startswith("#")} == {
        "scores = dots",
        "scores = scores.masked_fill(blocked, -math.inf)",
        "weights = scores.softmax(dim=-2)",
        "return weights @ v",  # chapter 2 gives the weights as well
    }


def test_each_head_finds_its_word_in_new_sentences():
    model = Reader()
    model.attention = module_of(LAYER)
    with torch.no_grad():
        model.words.weight.copy_(torch.tensor(LAYER["hundredths"]["vectors"]) / 100)
        model.places.copy_(torch.tensor(LAYER["hundredths"]["places"]) / 100)
    measured = found(model, count=300, seed=2)
    assert all(share > 0.99 for name, share in measured.items() if "most" in name)
    assert all(share > 0.7 for name, share in measured.items() if "weight" in name)
