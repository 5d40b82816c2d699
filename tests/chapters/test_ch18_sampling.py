"""What each choice does to a small distribution, and what is written by it."""

import math

import pytest
import torch

from chapters.ch18_model import LanguageModel
from chapters.ch18_sampling import (
    apply_temperature,
    best_token,
    draw_token,
    keep_top_k,
    keep_top_p,
    write,
)

FOUR = torch.tensor([0.4, 0.1, 0.3, 0.2], dtype=torch.float64).log()  # (V,)


def kept(logits):
    return logits.isfinite().nonzero().flatten().tolist()


def test_the_best_are_kept_as_they_are():
    cases = {
        keep_top_k: [(1, [0]), (2, [0, 2]), (99, [0, 1, 2, 3])],
        keep_top_p: [
            (1e-9, [0]),
            (0.39, [0]),
            (0.41, [0, 2]),
            (0.71, [0, 2, 3]),
            (1, [0, 1, 2, 3]),
        ],
    }
    for keep, pairs in cases.items():
        for size, expected in pairs:
            found = keep(FOUR, size)
            assert kept(found) == expected
            assert torch.equal(found[expected], FOUR[expected])
    assert kept(keep_top_k(torch.tensor([1.0, 3.0, 1.0, 0.0]), 2)) == [0, 1, 2], "all equals"
    assert kept(keep_top_p(torch.zeros(4), 0.5)) == [0, 1], "the first of equals"
    logits = torch.tensor([0.0, -200.0, -30.0])
    assert torch.equal(keep_top_p(logits, 1.0), logits)
    rows = torch.stack([FOUR, FOUR.flip(0)])  # each by itself
    assert kept(keep_top_p(rows, 0.41)[1]) == kept(keep_top_k(rows, 2)[1]) == [1, 3]
    torch.testing.assert_close(apply_temperature(rows, 0.5), 2 * rows)


def test_tokens_are_drawn_as_often_as_they_are_probable():
    generator = torch.Generator().manual_seed(0)
    drawn = draw_token(FOUR.expand(20_000, -1), generator)
    shares = drawn.bincount(minlength=4) / 20_000
    torch.testing.assert_close(shares, FOUR.exp().float(), atol=0.02, rtol=0)  # 5 deviations
    assert draw_token(FOUR).shape == best_token(FOUR).shape == ()
    assert best_token(FOUR) == 0
    assert set(draw_token(keep_top_k(FOUR, 2).expand(200, -1)).tolist()) == {0, 2}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = LanguageModel(23, 16, 4, 2, 24, 2).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


START = torch.tensor([[3, 1, 4], [1, 5, 9]])


def written(*arguments, **options):
    return torch.stack(list(write(*arguments, **options)), dim=1)  # (B, T)


def test_greedy_takes_the_best_each_time(model):
    found = written(model, START, 12, temperature=None)
    logits = model(torch.cat([START, found], 1))[:, 2:-1]
    assert torch.equal(found, logits.argmax(-1))


def test_all_choices_together_are_what_they_are_one_by_one(model):
    found = written(model, START, 8, 0.7, top_k=5, top_p=0.8, seed=3)
    generator, ids = torch.Generator().manual_seed(3), START
    for _ in range(8):
        logits = apply_temperature(model(ids)[:, -1].detach(), 0.7)
        logits = keep_top_p(keep_top_k(logits, 5), 0.8)
        ids = torch.cat([ids, draw_token(logits, generator).unsqueeze(1)], dim=1)
    assert torch.equal(found, ids[:, 3:])
    assert not torch.equal(found, written(model, START, 8, 0.7, top_k=5, seed=4))
    assert torch.equal(written(model, START, 8, seed=3), written(model, START, 8, 1.0, seed=3))


def test_a_text_that_has_ended_has_nothing_but_ends(model):
    free = written(model, START, 12, None)
    end = free[0, 2].item()
    found = written(model, START, 12, None, end=end)
    for row, before in zip(found.tolist(), free.tolist(), strict=True):
        cut = before.index(end) if end in before else 12
        assert row[:cut] == before[:cut][: len(row)]
        assert set(row[cut:]) <= {end}
    alone = written(model, START[:1], 12, None, end=end)
    assert alone.shape[1] == free[0].tolist().index(end) + 1, "it stops when all have ended"


def test_tokens_come_one_by_one_and_each_is_computed_once(model):
    tokens, calls = write(model, START, 5, None), []
    embed = model.embedding.register_forward_pre_hook(lambda _, ids: calls.append(ids[0].shape[1]))
    next(tokens)
    assert calls == [3]
    assert len(list(tokens)) == 4
    embed.remove()
    assert calls == [3, 1, 1, 1, 1]


def test_what_cannot_be_is_refused_before_anything_is_written(model):
    given = {"model": model, "ids": START, "max_new_tokens": 3}
    for options, message in [
        ({"max_new_tokens": 0}, "one to write; got 3 and 0"),
        ({"temperature": 0.0}, "best_token"),
        ({"top_k": 0}, "k=0"),
        ({"top_p": 1.5}, "got 1.5"),
        ({"ids": START[:, :0]}, "got 0 and 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            write(**given | options)
    for refused, value in [(apply_temperature, math.nan), (keep_top_p, 0.0)]:
        with pytest.raises(ValueError, match=f"got {value}"):
            refused(FOUR, value)
