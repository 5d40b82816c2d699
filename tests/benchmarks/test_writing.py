"""All ways write the same texts, and the page says what was measured and what was not."""

import contextlib
from functools import partial

import pandas as pd
import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import page, report, writer, writing
from benchmarks.limits import Peak
from benchmarks.writing import CALLS, DEFAULT, FLOOR, OURS

CPU, STATIC = torch.device("cpu"), "generate, static cache"


@pytest.fixture(scope="module")
def model():
    return writing.load_model(quick=True)[0]


def a_result(to_default=2.0, to_static=2.5):
    """One text and four, on one thread and on two; ours writes 256 tokens in half a second."""
    rows = []
    for batch in (1, 4):
        for threads in (1, 2):
            slower = {OURS: 1.0, DEFAULT: to_default, STATIC: to_static, FLOOR: 0.25}
            for way, times in slower.items():
                row = {"batch": batch, "threads": threads, "way": way, "rounds": 5}
                row["calls"] = {OURS: 200, DEFAULT: 400, STATIC: 500, FLOOR: 43}[way]
                values = {"seconds": 0.5 * times, "per_second": batch * 512 / times}
                for name, value in (values | {"to_ours": times}).items():
                    row |= {name: value, f"{name}_low": 0.9 * value, f"{name}_high": 1.1 * value}
                rows.append(row)
    settings = {"dtype": "float32", "quick": False, "prompt": 128, "new_tokens": 256}
    settings |= {"notes": [], "trained": True}
    return report.make("writing", CPU, settings, Peak(1e12, 1e9), {"writing": pd.DataFrame(rows)})


def of_page(result, device="cpu"):
    text, figures = page.make_part("writing", result, device)
    return text.replace("\u00a0", " ").replace("\u2060", ""), figures


@pytest.mark.slow
def test_every_way_has_a_row_and_all_write_the_same(model, monkeypatch):
    before = torch.get_num_threads()
    with contextlib.suppress(ZeroDivisionError), writing._threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise ZeroDivisionError
    assert torch.get_num_threads() == before
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)  # said alone: two would wait here
    monkeypatch.setattr(writing, "_threads", contextlib.nullcontext)
    rows, notes = writing.compare_writing(model, writing.QUICK, CPU, budget=0.0)
    assert not notes
    assert rows["way"].tolist() == [OURS, *CALLS, FLOOR] * 4
    places = rows[["batch", "threads"]].drop_duplicates().to_numpy().tolist()
    assert places == [[1, 1], [1, 2], [3, 1], [3, 2]]
    ours = rows[rows["way"] == OURS]
    assert (ours["to_ours"] == 1).all()
    tokens = rows["batch"] * writing.QUICK.new_tokens
    assert rows["per_second_high"].tolist() == pytest.approx(tokens / rows["seconds_low"])
    calls = rows.drop_duplicates("way").set_index("way")["calls"]
    assert calls[FLOOR] == 7 * 2 + 1, "seven matrices a block, and the embedding"
    assert calls[FLOOR] < calls[OURS] < 0.7 * calls[DEFAULT]
    assert ours["calls"].nunique() == 1, "whatever the batch"


def test_another_text_is_refused_and_a_tie_is_told(model, monkeypatch):
    ids = writing.prompts(model, 2, 8)
    assert not torch.equal(ids[0], ids[1])
    ours = writing._ours(model, ids, 5)
    other = ours.clone()
    check = partial(writing.check_texts, model, ids)
    assert check({OURS: ours, DEFAULT: other}) == []
    other[1, 2:] = (ours[1, 2:] + 1) % 300
    monkeypatch.setattr(writing, "TIE", 0.0)
    with pytest.raises(ArithmeticError, match="“generate” writes another text than ours"):
        check({OURS: ours, DEFAULT: other})
    monkeypatch.setattr(writing, "TIE", 99.0)
    (said,) = check({OURS: ours, DEFAULT: other})
    assert said.startswith("After 2 tokens two are equally good, and “generate” takes the other")
    with pytest.raises(ArithmeticError, match="wrote 4 tokens, not 5"):
        check({OURS: ours, DEFAULT: ours[:, :4]})


def test_trained_weights_are_taken_where_they_are(monkeypatch, tmp_path, model):
    monkeypatch.setattr(writer, "RESULTS", tmp_path)
    untrained, (said,) = writing.load_model(quick=False)
    assert "There are no trained weights" in said
    assert untrained.embedding.weight.shape == (2048, 128)
    settings = writer.SETTINGS | writer.QUICK
    writer.save({"settings": settings, "merges": []}, model, tmp_path)
    trained, notes = writing.load_model(quick=False)
    assert not notes
    assert torch.equal(trained.embedding.weight, model.embedding.weight.half().float())
    (tmp_path / "18-writer.safetensors").write_bytes(b"others")
    with pytest.raises(SystemExit, match="not what 18-writer"):
        command.main(["writing", "--device", "cpu"])


def test_the_page_says_what_was_found():
    text, figures = of_page(a_result())
    for said in (
        "ours writes **512 tokens a second** and `generate` 256",
        "so ours is **2.00 (1.80–2.20) times as fast**; on 2 threads",
        "| generate | 1 | 1 | 1.00 (0.90–1.10) | 0.50 (0.45–0.55) | 2.00 (1.80–2.20) | 256 | 512 |",
        "25% with 1 on 1, 25% with 1 on 2, 25% with 4 on 1, 25% with 4 on 2",
        "ours calls 200 operators of PyTorch, `generate` 400, `generate, static cache` 500",
    ):
        assert said in text
    alt = figures["writing-cpu"].alt
    assert "4 at once, generate, threads: 2: 1,024" in alt
    assert FLOOR not in alt
    for default, static, verdict in ((1.6, 1.1, "met"), (1.4, 1.6, "missed"), (1.6, 0.9, "missed")):
        text, _ = of_page(a_result(default, static))
        assert f"no slower than the fastest way, is {verdict}." in text
    result = a_result()
    result["settings"] |= {"trained": False, "notes": ["There are no trained weights."]}
    text, _ = of_page(result, "cuda")
    assert "greedily, with random weights" in text
    assert "There are no trained weights." in text


def test_the_committed_result_is_of_a_whole_run_with_the_trained_weights():
    found, sizes = report.read("writing-cpu"), writing.Sizes()
    if found is None:
        pytest.skip("nothing has been measured yet")
    settings = found["settings"]
    assert (settings["quick"], settings["trained"]) == (False, True)
    assert (settings["prompt"], settings["new_tokens"]) == (sizes.prompt, sizes.new_tokens)
    rows = pd.DataFrame(found["tables"]["writing"])
    assert rows["batch"].unique().tolist() == list(sizes.batches)
    assert set(rows["way"]) == {OURS, *CALLS, FLOOR}
