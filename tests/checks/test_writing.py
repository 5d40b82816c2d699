"""The checks of writing accept what is right, however it is written, and name what is wrong."""

import numpy as np
import pytest
import torch

from utils.checks import writing


def broken(*_):
    raise RuntimeError("not finished")


# Beams


def with_topk(sums, steps):
    best, places = (sums.unsqueeze(1) + steps).flatten().topk(len(sums))
    return best, places // steps.shape[1], places % steps.shape[1]


def with_sort(sums, steps):
    K, V = steps.shape
    pairs = [(sums[k] + steps[k, i], k, i) for k in range(K) for i in range(V)]
    best = sorted(pairs, key=lambda pair: pair[0].item(), reverse=True)[:K]
    return [torch.tensor([float(row[0]) for row in best])] + [
        torch.tensor([row[j] for row in best]) for j in (1, 2)
    ]


def in_two_steps(sums, steps):
    K = len(sums)
    few = steps.topk(min(K, steps.shape[1]), dim=1)
    best, places = (sums.unsqueeze(1) + few.values).flatten().topk(K)
    width = few.values.shape[1]
    return best, places // width, few.indices.flatten()[places]


@pytest.mark.parametrize("function", [with_topk, with_sort, in_two_steps])
def test_beam_step_accepts(function):
    assert writing.beam_step(function) == "Right."


def each_its_own(sums, steps):
    best, tokens = (sums.unsqueeze(1) + steps).max(1)
    return best, torch.arange(len(sums)), tokens


def change(candidates=torch.add, largest=True, beginning=None, token=None, flip=False):
    """The step with one thing wrong."""

    def function(sums, steps):
        K, V = steps.shape
        best, places = candidates(sums.unsqueeze(1), steps).flatten().topk(K, largest=largest)
        rows = places // V if beginning is None else beginning(places, K, V)
        ids = places % V if token is None else token(places, K, V)
        result = best, rows, ids
        return [x.flip(0) for x in result] if flip else result

    return function


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (each_its_own, "all candidates compete"),
        (change(candidates=lambda sums, steps: steps + 0 * sums), "sums so far are missing"),
        (change(candidates=torch.mul), "added, not multiplied"),
        (change(largest=False), "the worst"),
        (change(flip=True), "best first"),
        (change(beginning=lambda p, K, V: p % V), "exchanged"),
        (change(beginning=lambda p, K, V: p), "divide by V"),
        (change(beginning=lambda p, K, V: p // K), "not of beginnings"),
        (change(token=lambda p, K, V: p % K), "not by the width"),
        (lambda sums, steps: with_topk(sums, steps)[:2], "three things"),
        (broken, "not finished"),
    ],
)
def test_beam_step_names(function, message):
    answer = writing.beam_step(function)
    assert answer.startswith("Not yet:")
    assert message in answer


# Looking ahead


def one_at_a_time(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (1, T))
    before = decode(ids)
    for place in range(1, T):
        changed = ids.clone()
        changed[:, place] = (ids[:, place] + 1) % vocab_size
        if (decode(changed) - before)[:, :place].abs().max() > 1e-5:
            return True
    return False


def beginnings(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (2, T))
    whole = decode(ids)
    return any(not torch.allclose(decode(ids[:, :t]), whole[:, :t], atol=1e-4) for t in range(1, T))


def all_later_ones(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (1, T))
    for place in range(T):
        changed = ids.clone()
        changed[:, place + 1 :] = (changed[:, place + 1 :] + 1) % vocab_size
        if (decode(ids)[:, place] - decode(changed)[:, place]).abs().max() > 1e-3:
            return True
    return False


def in_numpy(*given):
    return np.bool_(one_at_a_time(*given))


@pytest.mark.parametrize("function", [one_at_a_time, beginnings, all_later_ones, in_numpy])
def test_looks_ahead_accepts(function):
    assert writing.looks_ahead(function) == "Right."


def compared(first_output, token, tolerance=1e-5):
    """Compare outputs before or at the changed token, of one token only."""

    def function(decode, T, vocab_size):
        ids = torch.randint(vocab_size, (1, T))
        changed = ids.clone()
        changed[:, token] = (ids[:, token] + 1) % vocab_size
        moved = (decode(changed) - decode(ids))[:, first_output(T)].abs().max()
        return bool(moved > tolerance)

    return function


last_token = compared(lambda T: slice(0, T - 1), -1)


def neighbours(decode, T, vocab_size):
    """Changes every token, and compares the output just before it."""
    tests = [compared(lambda _, t=t: slice(t - 1, t), t) for t in range(1, T)]
    return any(test(decode, T, vocab_size) for test in tests)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *_: False, "has no mask does look ahead"),
        (lambda *_: True, "all that came before does not look ahead"),
        (compared(lambda T: slice(0, T), -1), "does not look ahead"),
        (compared(lambda T: slice(0, T - 1), -1, 0.0), "does not look ahead (beyond rounding)"),
        (compared(lambda T: slice(1, T - 1), -1), "lets only output"),
        (last_token, "lets only output 4 see token 5 does look ahead"),
        (neighbours, "lets only output 4 see token 6 does look ahead"),
        (compared(lambda T: slice(0, 1), 3), "sees one token ahead does look ahead"),
        (lambda *_: torch.tensor(True), "return True or False; got Tensor"),
        (lambda d, T, V: d(torch.full((1, T), V)) is None, "ids should be (B, T), from 0 to 4"),
        (broken, "not finished"),
    ],
)
def test_looks_ahead_names(function, message):
    answer = writing.looks_ahead(function)
    assert answer.startswith("Not yet:")
    assert message in answer
