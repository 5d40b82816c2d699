"""The ways of a piece are one function, and the page says what was measured."""

import re

import pandas as pd
import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from benchmarks import page, pieces, report
from benchmarks.wording import plain
from utils.measure import Peak

CPU, WAYS = torch.device("cpu"), ["as a mask", "in tiles", "FlexAttention", "no window"]


pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


@pytest.fixture(scope="module")
def found():
    """The benchmark at small sizes; FlexAttention as it is without a compiler, which is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "compile_flexible", lambda *_: (flex_attention, []))
        return pieces.compare_pieces(pieces.QUICK, CPU, torch.float32, budget=0.0)


@pytest.fixture
def result(found):
    rows, notes = found
    settings = {"dtype": "float32", "notes": notes, "window": 16, "layers": 1}
    return report.make("pieces", CPU, settings, Peak(1e12, 1e9), {"pieces": rows})


def test_every_piece_has_its_ways_and_they_agree(found):
    rows, notes = found
    assert not notes
    ways = rows.groupby("piece", sort=False)["way"].agg(list)
    assert ways["window"] == WAYS
    assert ways["pages"] == ["in one piece", "pages of 4", "pages of 16"]
    assert ways["guesses"] == ["1 tokens", "4 tokens"]
    assert (rows.groupby("piece")["to_first"].first() == 1).all()
    compared = rows[rows["way"].isin([*WAYS[1:3], "pages of 4", "pages of 16"])]
    assert compared["difference"].max() < 1e-5
    assert rows.drop(compared.index)["difference"].isna().all()


def test_the_window_is_the_one_that_was_asked_for():
    sizes = pieces.Sizes(window=3)
    ways = {way.name: way for way in pieces.windows(sizes, CPU, torch.float64, None, 8)}
    assert set(ways) == {*WAYS} - {"FlexAttention"}
    mask = ways["as a mask"].run.keywords["attn_mask"]
    assert mask.sum(dim=1).tolist() == [1, 2, 3, 3, 3, 3, 3, 3]
    assert mask.diagonal().all()
    assert not ways["no window"].same


def test_a_step_can_be_repeated():
    for way in pieces.pages(pieces.QUICK, CPU, torch.float32, 24):
        assert torch.equal(way.run(), way.run())
    for way in pieces.passes(pieces.QUICK, CPU, torch.float32, 24):
        with torch.no_grad():
            assert torch.equal(way.run(), way.run())


def test_another_function_is_refused():
    one, two = (pieces.Way(f"{n}s", lambda n=n: torch.full((3,), float(n))) for n in (1, 2))
    with pytest.raises(ArithmeticError, match=r"“2s” gives something else than “1s”: 1\.0e"):
        pieces.difference(two, one, 0.5)
    assert pieces.difference(two, one, 1.0) == 1


def test_without_a_compiler_it_says_so(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("No working C++ compiler found\nand a long story")

    monkeypatch.setattr(torch, "compile", lambda _: broken)
    flexible, notes = pieces.compile_flexible(CPU, torch.float32)
    assert flexible is None
    assert notes == [
        "FlexAttention did not compile here: RuntimeError: No working C++ compiler found"
    ]


def test_the_page_says_what_was_found(result):
    text, figures = page.make_part("pieces", result, "cpu")
    rows = pd.DataFrame(result["tables"]["pieces"]).set_index(["piece", "way"])
    caption = figures["pieces-cpu"].caption
    for way in WAYS:
        assert f"{plain(rows['ms'].loc['window', way])} ms" in caption
    assert f"{rows['to_first'].loc['guesses', '4 tokens']:.2f} times as long" in caption
    assert len(re.findall(r"^\| ", text, re.MULTILINE)) == 3 * 2 + len(rows)
    assert "nothing has been measured" not in text


def test_without_flexattention_the_page_is_whole(result):
    kept = [row for row in result["tables"]["pieces"] if row["way"] != "FlexAttention"]
    result["tables"]["pieces"] = kept
    result["settings"]["notes"] = ["FlexAttention did not compile here: no compiler"]
    text, figures = page.make_part("pieces", result, "cpu")
    assert "did not compile here: no compiler" in text
    assert "FlexAttention" not in figures["pieces-cpu"].caption


@pytest.mark.slow
def test_compiled_it_is_the_same_or_says_why_not():
    flexible, notes = pieces.compile_flexible(CPU, torch.float32)
    assert (flexible is None) == bool(notes)
    if flexible is not None:
        masked, _, compiled, _ = pieces.windows(pieces.QUICK, CPU, torch.float32, flexible, 64)
        assert pieces.difference(compiled, masked, 1e-5) < 1e-5
