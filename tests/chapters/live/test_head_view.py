"""The interactive view: what it draws, what it says, and that tokens cannot break out of it."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.live.head_view import FAINT, HeadView


def view(H=2, T=3, S=4, names=None, title="A title"):
    weights = (2 * torch.randn(H, T, S)).softmax(-1)
    queries, keys = names or ([f"query{i}" for i in range(T)], [f"key{j}" for j in range(S)])
    return HeadView(weights, queries, keys, title), weights


def parsed(shown):
    """The view as a tree; it is well-formed XML but for the entity of HTML and bare attributes."""
    html = shown._repr_html_().replace("&nbsp;", " ")
    return ET.fromstring(re.sub(r"(<input[^>]*?)( checked)?>", r"\1/>", html))


def layers(tree):
    return [g for g in tree.iter("g") if "layer" in g.get("class", "").split()]


def lines(layer):
    """From (query, key) to the width."""
    found = {}
    for path in layer.iter("path"):
        q, k = re.fullmatch(r"q(\d+) k(\d+)", path.get("class")).groups()
        found[int(q), int(k)] = float(path.get("stroke-width"))
    return found


def numbers(layer, class_="weight"):
    """From (query, key) to what is written by the line."""
    return {
        tuple(int(end) for end in re.findall(r"[qk](\d+)", text.get("class"))): text.text
        for text in layer.iter("text")
        if class_ in text.get("class", "").split()
    }


def test_a_line_is_the_stronger_the_larger_the_weight_and_says_its_number():
    shown, weights = view()
    for layer, head in zip(layers(parsed(shown)), [weights.mean(dim=0), *weights], strict=True):
        found = lines(layer)
        assert set(found) == {(i, j) for i, j in (head >= FAINT * head.max()).nonzero().tolist()}
        for (i, j), width in found.items():
            share = (head[i, j] / head.max()).item()
            assert width == pytest.approx(0.5 + 5 * share, abs=0.06)
        assert numbers(layer) == {(i, j): f"{head[i, j]:.2f}" for i, j in found}
        strongest = head.flatten().argsort(descending=True)[:3].tolist()
        assert set(numbers(layer, "top")) == {divmod(p, 4) for p in strongest}


def test_it_opens_on_the_head_whose_weights_are_furthest_from_even_or_that_is_asked_for():
    even, sharp = torch.full((2, 2), 0.5), torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    for head, opens_on in ((1, None), (0, 0), (2, 2)):
        options = {} if opens_on is None else {"opens_on": opens_on}
        shown = HeadView(torch.stack([even, sharp, even]), "ab", "cd", "title", **options)
        seen = [layer.get("display") for layer in layers(parsed(shown))]
        assert [i for i, display in enumerate(seen) if display == "inline"] == [head + 1]
        assert seen.count("none") == 3
        assert re.findall(r'class="c(\d)" checked', shown._repr_html_()) == [str(head + 1)]
    with pytest.raises(ValueError, match="opens_on is 4; there are heads 0 to 2"):
        HeadView(torch.stack([even, sharp, even]), "ab", "cd", "title", opens_on=4)


def test_every_choice_and_token_has_a_name_and_the_heads_are_told_in_words():
    shown, weights = view()
    tree = parsed(shown)
    labels = ["".join(label.itertext()).strip() for label in tree.iter("label")]
    assert labels == ["mean", "0", "1"]
    assert tree.find(".//svg").get("aria-label") == "A title"
    tokens = [g for g in layers(tree)[1].iter("g") if "token" in g.get("class", "")]
    assert [(token.get("tabindex"), token.get("role")) for token in tokens] == [("0", "img")] * 7
    best = weights[0, 0].argsort(descending=True)[:3].tolist()
    pairs = ", ".join(f"key{j} {weights[0, 0, j]:.2f}" for j in best)
    assert tokens[0].get("aria-label") == f"query query0, head 0, to: {pairs}"
    i = int(weights[0, :, 3].argmax())
    from_query = f"key key3, head 0, from: query{i} {weights[0, i, 3]:.2f}"
    assert tokens[-1].get("aria-label").startswith(from_query)
    title, mean, first, second = repr(shown).splitlines()
    i, j = divmod(int(weights[0].argmax()), 4)
    assert (title, mean[:11]) == ("A title", "mean: query")
    assert first.startswith(f"head 0: query{i} to key{j} {weights[0].max():.2f}, ")
    assert [li.text for li in tree.iter("li")] == [mean, first, second]
    assert not re.search(r"<script|\bon\w+=|https?:|\bid=|\bsrc=", shown._repr_html_())


# Everything but what XML cannot hold, which no tokenizer gives.
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(max_examples=20)
@given(names=st.lists(texts, min_size=2, max_size=2), title=texts)
def test_any_text_is_text(names, title):
    names = [*names, "</style><script>alert('1')</script>"]
    tree = parsed(view(H=1, T=3, S=3, names=(names, names), title=title)[0])
    assert tree.find("strong").text == title
    tokens = [g for g in layers(tree)[0].iter("g") if "token" in g.get("class", "")]
    shortened = [n if len(n) <= 13 else f"{n[:12]}…" for n in names]
    assert [token.find("text").text for token in tokens] == shortened * 2
    assert "script" not in {element.tag for element in tree.iter()}


def test_weights_of_zero_draw_no_line_and_those_of_half_precision_are_taken():
    shown = HeadView(torch.tensor([[[0.0, 1.0], [0.0, 0.0]]]), "ab", "cd", "zeros")
    assert [list(lines(layer)) for layer in layers(parsed(shown))] == [[(0, 1)], [(0, 1)]]
    assert not lines(layers(parsed(HeadView(torch.zeros(1, 1, 1), "a", "b", "nothing")))[0])
    half = torch.full((1, 1, 2), 0.5, dtype=torch.float16, requires_grad=True)
    assert "a to b 0.50" in repr(HeadView(half, "a", "bc", "half"))


@pytest.mark.parametrize(
    ("weights", "word"),
    [
        *[(torch.ones(shape), "do not fit") for shape in ((2, 3), (1, 4, 3), (1, 3, 3))],
        (torch.full((1, 3, 4), -0.1), "negative"),
        (torch.full((1, 3, 4), torch.nan), "negative"),
        (torch.ones(0, 3, 4), "needs weights"),
    ],
)
def test_impossible_weights_are_refused(weights, word):
    with pytest.raises(ValueError, match=word):
        HeadView(weights, "abc", "defg", "title")
