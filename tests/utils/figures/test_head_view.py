"""The interactive view: what it draws, what it says, and that tokens cannot break out of it."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.figures import FAINT, HeadView


def view(H=2, T=3, S=4, seed=0, queries=None, keys=None, title="A title"):
    draw = torch.Generator().manual_seed(seed)
    weights = (2 * torch.randn(H, T, S, generator=draw)).softmax(-1)
    queries = queries or [f"query{i}" for i in range(T)]
    return HeadView(weights, queries, keys or [f"key{j}" for j in range(S)], title), weights


def parsed(shown):
    """The view as a tree; it is well-formed XML but for the entity of HTML and bare attributes."""
    html = shown._repr_html_().replace("&nbsp;", " ")
    return ET.fromstring(re.sub(r"(<input[^>]*?)( checked)?>", r"\1/>", html))


def layers(tree):
    return [g for g in tree.iter("g") if "layer" in g.get("class", "").split()]


def lines(layer):
    """From (query, key) to width and opacity."""
    found = {}
    for path in layer.iter("path"):
        q, k = re.fullmatch(r"q(\d+) k(\d+)", path.get("class")).groups()
        found[int(q), int(k)] = (
            float(path.get("stroke-width")),
            float(path.get("stroke-opacity")),
        )
    return found


def test_a_line_is_the_stronger_the_larger_the_weight():
    shown, weights = view()
    drawn = layers(parsed(shown))
    heads = [weights.mean(dim=0), *weights]
    assert len(drawn) == 3
    for layer, head in zip(drawn, heads, strict=True):
        found = lines(layer)
        assert set(found) == {(i, j) for i, j in (head >= FAINT * head.max()).nonzero().tolist()}
        for (i, j), (width, opacity) in found.items():
            share = (head[i, j] / head.max()).item()
            assert width == pytest.approx(0.5 + 5 * share, abs=0.06)
            assert opacity == pytest.approx(0.8 + 0.2 * share, abs=0.006)


def numbers(layer, class_="weight"):
    """From (query, key) to what is written by the line."""
    return {
        tuple(int(end) for end in re.findall(r"[qk](\d+)", text.get("class"))): text.text
        for text in layer.iter("text")
        if class_ in text.get("class", "").split()
    }


def test_each_line_has_its_number_and_the_strongest_show_it_at_once():
    shown, weights = view()
    for layer, head in zip(layers(parsed(shown)), [weights.mean(dim=0), *weights], strict=True):
        assert numbers(layer) == {(i, j): f"{head[i, j]:.2f}" for i, j in lines(layer)}
        strongest = head.flatten().argsort(descending=True)[:3].tolist()
        assert set(numbers(layer, "top")) == {divmod(p, 4) for p in strongest}
        widest = next(t.text for t in layer.iter("text") if t.get("class") == "widest")
        assert widest == f"widest: {head.max():.2f}"


def test_it_opens_on_the_head_whose_weights_are_furthest_from_even():
    even, sharp = torch.full((2, 2), 0.5), torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    shown = HeadView(torch.stack([even, sharp, even]), "ab", "cd", "sharp in the middle")
    assert [g.get("display") for g in layers(parsed(shown))] == ["none", "none", "inline", "none"]
    assert re.findall(r'class="c(\d)" checked', shown._repr_html_()) == ["2"]


def test_a_line_goes_from_the_row_of_its_query_to_that_of_its_key():
    shown, _ = view(T=1, S=5)
    tree = parsed(shown)
    rows = {}
    for token in layers(tree)[0].iter("g"):
        if token.get("class", "").startswith("token "):
            rect = token.find("rect")
            middle = float(rect.get("y")) + float(rect.get("height")) / 2
            rows[token.get("class").removeprefix("token ")] = middle
    assert rows["q0"] == rows["k2"]  # one query stands in the middle
    for path in layers(tree)[0].iter("path"):
        q, k = path.get("class").split()
        ends = re.fullmatch(r"M\S+ (\S+)L\S+ (\S+)", path.get("d")).groups()
        assert [float(end) for end in ends] == [rows[q], rows[k]]


def test_without_styles_one_head_is_seen_and_nothing_else():
    shown, _ = view(H=3)
    seen = [layer.get("display") for layer in layers(parsed(shown))]
    assert sorted(seen) == ["inline"] + ["none"] * 3
    assert seen[0] == "none"


def test_it_opens_on_the_head_that_is_asked_for():
    weights = torch.eye(3)[None].repeat(4, 1, 1)
    for head in range(4):
        shown = HeadView(weights, "abc", "abc", "A title", opens_on=head)
        seen = [layer.get("display") for layer in layers(parsed(shown))]
        assert seen.index("inline") == head + 1
    with pytest.raises(ValueError, match="opens_on is 4; there are heads 0 to 3"):
        HeadView(weights, "abc", "abc", "A title", opens_on=4)


def test_it_is_whole_in_itself():
    html = view()[0]._repr_html_()
    assert "<script" not in html
    assert not re.search(r"\bon\w+=|https?:|url\(|@import|\bid=|\bsrc=|\bhref=", html)


def test_every_choice_and_token_has_a_name():
    shown, weights = view()
    tree = parsed(shown)
    labels = ["".join(label.itertext()).strip() for label in tree.iter("label")]
    assert labels == ["mean", "0", "1"]
    assert tree.find(".//svg").get("aria-label") == "A title"
    for name, layer in zip(["mean", "head 0", "head 1"], layers(tree), strict=True):
        tokens = [g for g in layer.iter("g") if "token" in g.get("class", "")]
        assert len(tokens) == 7
        for token in tokens:
            assert token.get("tabindex") == "0"
            assert token.get("role") == "img"
            assert f", {name}, " in token.get("aria-label")
    said = layers(tree)[1].findall("g")[1].get("aria-label")
    best = weights[0, 0].argsort(descending=True)[:3].tolist()
    pairs = ", ".join(f"key{j} {weights[0, 0, j]:.2f}" for j in best)
    assert said == f"query query0, head 0, to: {pairs}"
    for j in (0, 3):
        said = layers(tree)[1].findall("g")[4 + j].get("aria-label")
        i = int(weights[0, :, j].argmax())
        assert said.startswith(f"key key{j}, head 0, from: query{i} {weights[0, i, j]:.2f}")


def test_in_words():
    shown, weights = view()
    title, mean, first, _ = repr(shown).splitlines()
    assert title == "A title"
    assert mean.startswith("mean: query")
    i, j = divmod(int(weights[0].argmax()), 4)
    assert first.startswith(f"head 0: query{i} to key{j} {weights[0].max():.2f}, ")
    words = [li.text for li in parsed(shown).iter("li")]
    assert words == repr(shown).splitlines()[1:]


def test_equal_inputs_give_equal_views_and_nothing_is_changed():
    shown, weights = view()
    before = weights.clone()
    assert shown._repr_html_() == view()[0]._repr_html_() == shown._repr_html_()
    assert torch.equal(weights, before)
    assert shown._repr_html_() != view(seed=1)[0]._repr_html_()


# Everything but what XML cannot hold, which no tokenizer gives.
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(max_examples=60)
@given(names=st.lists(texts, min_size=3, max_size=3), title=texts)
def test_any_text_is_text(names, title):
    shown, _ = view(H=1, T=3, S=3, queries=names, keys=names, title=title)
    tree = parsed(shown)
    assert tree.find("strong").text == title
    tokens = [g for g in layers(tree)[0].iter("g") if "token" in g.get("class", "")]
    drawn = [token.find("text").text for token in tokens]
    shortened = [n if len(n) <= 13 else f"{n[:12]}…" for n in names]
    assert drawn == shortened * 2
    assert {element.tag for element in tree.iter()} <= {
        "div", "style", "strong", "form", "fieldset", "legend", "label", "input", "svg", "g",
        "path", "title", "rect", "text", "details", "summary", "ul", "li",
    }  # fmt: skip


def test_a_token_that_is_markup_is_text():
    markup = ['</style><script>alert("1")</script>', "<b>", "a&b", "'\""]
    shown, _ = view(T=4, keys=markup, queries=markup, title=markup[0])
    assert "<script" not in shown._repr_html_()
    assert "<b>" not in shown._repr_html_()


def test_weights_of_zero_draw_no_line():
    shown = HeadView(torch.tensor([[[0.0, 1.0], [0.0, 0.0]]]), "ab", "cd", "zeros")
    assert [list(lines(layer)) for layer in layers(parsed(shown))] == [[(0, 1)], [(0, 1)]]
    nothing = HeadView(torch.zeros(1, 1, 1), "a", "b", "nothing")
    assert not lines(layers(parsed(nothing))[0])


def test_half_precision_and_gradients_are_taken():
    weights = torch.full((1, 1, 2), 0.5, dtype=torch.float16, requires_grad=True)
    assert "a to b 0.50" in repr(HeadView(weights, "a", "bc", "half"))


@pytest.mark.parametrize("shape", [(2, 3), (1, 2, 3, 4), (1, 4, 3), (1, 3, 3)])
def test_names_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match="do not fit"):
        HeadView(torch.ones(shape), "abc", "defg", "title")


@pytest.mark.parametrize("weights", [[[[-0.1]]], [[[float("nan")]]], [[[float("inf")]]]])
def test_impossible_weights_are_refused(weights):
    with pytest.raises(ValueError, match="negative"):
        HeadView(torch.tensor(weights), "a", "b", "title")


def test_no_weights_are_refused():
    with pytest.raises(ValueError, match="needs weights"):
        HeadView(torch.ones(0, 1, 1), "a", "b", "title")
