"""All ways write the same texts, and the page says what was measured."""

from functools import partial

import pytest
import torch

from benchmarks import page, report, writer, writing
from benchmarks.writing import CALLS, DEFAULT, FLOOR, OURS

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model():
    return writer.build(writer.QUICK).eval()


@pytest.mark.slow
def test_every_way_has_a_row_and_all_write_the_same(model, monkeypatch):
    taken = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)  # said alone: two would wait here
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    rows = writing.compare_writing(model, writing.QUICK, CPU, budget=0.0)
    assert rows["way"].tolist() == [OURS, *CALLS, FLOOR] * 4
    places = rows[["batch", "threads"]].drop_duplicates().to_numpy().tolist()
    assert places == [[1, 1], [1, 2], [3, 1], [3, 2]]
    assert taken == [1, 2, 1, 2, 2]
    ours = rows[rows["way"] == OURS]
    assert (ours["to_ours"] == 1).all()
    tokens = rows["batch"] * writing.QUICK.new_tokens
    assert rows["per_second_high"].tolist() == pytest.approx(tokens / rows["seconds_low"])
    calls = rows.drop_duplicates("way").set_index("way")["calls"]
    assert calls[FLOOR] == 7 * 2 + 1, "seven matrices a block, and the embedding"
    assert calls[FLOOR] < calls[OURS] < 0.7 * calls[DEFAULT]
    assert ours["calls"].nunique() == 1, "whatever the batch"


def test_another_text_is_refused_and_a_tie_is_not(model, monkeypatch):
    ids = writing.prompts(model, 2, 8)
    assert not torch.equal(ids[0], ids[1])
    ours = writing._ours(model, ids, 5)
    other = ours.clone()
    check = partial(writing.check_texts, model, ids)
    check({OURS: ours, DEFAULT: other})
    other[1, 2:] = (ours[1, 2:] + 1) % 300
    monkeypatch.setattr(writing, "TIE", 0.0)
    with pytest.raises(ArithmeticError, match="“generate” writes another text than ours"):
        check({OURS: ours, DEFAULT: other})
    monkeypatch.setattr(writing, "TIE", 99.0)
    check({OURS: ours, DEFAULT: other})
    with pytest.raises(ArithmeticError, match="wrote 4 tokens, not 5"):
        check({OURS: ours, DEFAULT: ours[:, :4]})


def test_the_page_says_what_was_found():
    found = report.read("writing-cpu")
    for row in found["tables"]["writing"]:  # ours writes 512 tokens in a second
        times = {OURS: 1.0, DEFAULT: 2.0, FLOOR: 0.25}.get(row["way"], 2.5)
        values = {"seconds": 0.5 * times, "per_second": row["batch"] * 512 / times}
        for name, value in (values | {"to_ours": times}).items():
            row |= {name: value, f"{name}_low": 0.9 * value, f"{name}_high": 1.1 * value}
        row["calls"] = {OURS: 200, DEFAULT: 400, FLOOR: 43}.get(row["way"], 500)
    text, figure = page.make_part("writing", found, "cpu")
    text = text.replace("\u00a0", " ").replace("\u2060", "")
    for said in (
        "One text at a time: on one thread ours writes **512 tokens a second** and `generate` 256",
        "so ours is **2.00 (1.80–2.20) times as fast**; on 2 threads",
        "| generate | 1 | 1 | 1.00 (0.90–1.10) | 0.50 (0.45–0.55) | 2.00 (1.80–2.20) | 256 | 512 |",
        "25% with 1 on 1, 25% with 1 on 2, 25% with 16 on 1, 25% with 16 on 2",
        "ours calls 200 operators of PyTorch, `generate` 400, `generate, static cache` 500",
    ):
        assert said in text
    assert "16 texts at once, generate 4,096" in figure.alt
    assert FLOOR not in figure.alt
