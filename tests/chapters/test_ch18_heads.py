"""Where heads look, on weights made by hand, and on tokens that are repeated."""

import pytest
import torch

from chapters.ch18_heads import prefix_matching, previous_token

B, H, n = 2, 3, 4
T = 2 * n


def weights_at(offset):
    """Weights of head 1 that go to the key ``offset`` places from the query, where there is one."""
    weights = torch.full((B, H, T, T), 1 / T)
    weights[:, 1] = 0.0
    for t in range(T):
        weights[:, 1, t, t + offset if 0 <= t + offset < T else 0] = 1.0
    return weights


def test_a_head_that_looks_at_the_token_before_scores_one():
    assert previous_token(weights_at(-1)).tolist() == pytest.approx([1 / T, 1, 1 / T])
    assert previous_token(weights_at(-2))[1] == pytest.approx(1 / (T - 1)), "query 1 looks at key 0"


def test_a_head_that_looks_behind_the_first_copy_scores_one_in_the_mean_over_texts():
    two = torch.cat([weights_at(1 - n)[:1], weights_at(0)[:1]])
    assert prefix_matching(two)[1] == previous_token(weights_at(-1) / 2)[1] == 0.5
    assert prefix_matching(weights_at(1 - n)).tolist() == pytest.approx([1 / T, 1, 1 / T])
    for offset in (-n, -n - 1, -1, 0):  # the copy itself and its neighbours do not count
        assert prefix_matching(weights_at(offset))[1] == 0


def test_weights_that_cannot_be_scored_are_refused():
    for shape in ((H, T, T), (B, H, T, T + 2), (B, H, 1, 1)):
        for measure in (previous_token, prefix_matching):
            with pytest.raises(ValueError, match="expected"):
                measure(torch.rand(shape))
    for count in (2, 5):
        with pytest.raises(ValueError, match="half"):
            prefix_matching(torch.rand(B, H, count, count))
