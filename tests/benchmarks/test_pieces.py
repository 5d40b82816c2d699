"""The ways of a piece are one function, and the page says what was measured."""

import pandas as pd
import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from benchmarks import page, pieces, report
from benchmarks.wording import plain
from utils.costs import Peak

CPU, WAYS = torch.device("cpu"), ["as a mask", "in tiles", "FlexAttention", "no window"]
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


@pytest.fixture(scope="module")
def found():
    """The benchmark at small sizes; FlexAttention as it is without a compiler, which is slow."""
    compiled = torch.compile

    def compile_others(function, **options):  # which FlexAttention needs
        return function if function is flex_attention else compiled(function, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "compile", compile_others)
        return pieces.compare_pieces(pieces.QUICK, CPU, torch.float32, budget=0.0)


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
    mask = pieces.windows(pieces.Sizes(window=3), CPU, torch.float64, flex_attention, 8)[0]
    assert mask.run.keywords["attn_mask"].sum(dim=1).tolist() == [1, 2, 3, 3, 3, 3, 3, 3]


def test_a_step_can_be_repeated():
    with torch.no_grad():
        for ways in (pieces.pages, pieces.passes):
            for way in ways(pieces.QUICK, CPU, torch.float32, 24):
                assert torch.equal(way.run(), way.run())


def test_another_function_is_refused():
    one, two = (pieces.Way(f"{n}s", lambda n=n: torch.full((3,), float(n))) for n in (1, 2))
    with pytest.raises(ArithmeticError, match=r"“2s” gives something else than “1s”: 1\.0e"):
        pieces.difference(two, one, 0.5)
    assert pieces.difference(two, one, 1.0) == 1


def test_the_page_says_what_was_found_and_why_something_is_missing(found, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("No working C++ compiler found\nand a long story")

    rows, _ = found
    settings = {"dtype": "float32", "notes": [], "window": 16, "layers": 1}
    result = report.make("pieces", CPU, settings, Peak(1e12, 1e9), {"pieces": rows})
    text, figures = page.make_part("pieces", result, "cpu")
    by_way, caption = rows.set_index(["piece", "way"]), figures["pieces-cpu"].caption
    for way in WAYS:
        assert f"{plain(by_way['ms'].loc['window', way])} ms" in caption
    assert f"{by_way['to_first'].loc['guesses', '4 tokens']:.2f} times as long" in caption

    monkeypatch.setattr(torch, "compile", lambda _: broken)
    flexible, notes = pieces.compile_flexible(CPU, torch.float32)
    assert flexible is None
    without = pd.DataFrame(result["tables"]["pieces"]).query("way != 'FlexAttention'")
    result["tables"]["pieces"] = without.to_dict("records")
    result["settings"]["notes"] = notes
    text, figures = page.make_part("pieces", result, "cpu")
    assert "did not compile here: RuntimeError: No working C++ compiler found" in text
    assert "FlexAttention" not in figures["pieces-cpu"].caption
