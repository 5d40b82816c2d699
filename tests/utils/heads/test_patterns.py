"""Where heads look, on weights made by hand, and on tokens that are repeated."""

import pytest
import torch

from utils.heads import at_offset, prefix_matching, previous_token, same_token

B, H, n = 2, 3, 4
T = 2 * n


def weights_at(offset):
    """Weights of head 1 that go to the key ``offset`` places from the query, where there is one."""
    weights = torch.full((B, H, T, T), 1 / T)
    weights[:, 1] = 0.0
    for t in range(T):
        weights[:, 1, t, t + offset if 0 <= t + offset < T else 0] = 1.0
    return weights


def test_a_head_that_looks_one_back_scores_one():
    assert previous_token(weights_at(-1)).tolist() == pytest.approx([1 / T, 1, 1 / T])
    assert previous_token(weights_at(-2))[1] == pytest.approx(1 / (T - 1)), "query 1 looks at key 0"


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
def test_a_head_that_looks_so_far_away_scores_one(offset):
    assert at_offset(weights_at(offset), offset).tolist() == pytest.approx([1 / T, 1, 1 / T])
    assert at_offset(weights_at(-1), -1).equal(previous_token(weights_at(-1)))


def test_no_token_is_further_away_than_the_text_is_long():
    with pytest.raises(ValueError, match="none is 8 places"):
        at_offset(weights_at(0), T)


def test_only_tokens_that_stand_twice_ask_for_their_like():
    ids = torch.tensor([[1, 2, 1, 3, 4, 5, 6, 7], [9, 1, 2, 3, 9, 4, 5, 9]])
    weights = torch.full((B, H, T, T), 1 / T)
    weights[0, 1, [0, 2]] = torch.eye(T)[[2, 0]]
    weights[1, 1, [0, 4, 7]] = torch.eye(T)[[4, 7, 1]]  # the last looks elsewhere
    expected = (2 * 1 / T + 3 * 2 / T) / 5
    assert same_token(weights, ids).tolist() == pytest.approx([expected, 4 / 5, expected])
    with pytest.raises(ValueError, match="stands twice"):
        same_token(weights, torch.arange(T).expand(B, T))


def test_a_head_that_looks_behind_the_first_copy_scores_one():
    assert prefix_matching(weights_at(1 - n)).tolist() == pytest.approx([1 / T, 1, 1 / T])


@pytest.mark.parametrize("offset", [-n, -n - 1, -1, 0])
def test_the_copy_itself_and_its_neighbours_do_not_count(offset):
    assert prefix_matching(weights_at(offset))[1] == 0


def test_they_are_means_over_texts():
    weights = torch.cat([weights_at(1 - n)[:1], weights_at(0)[:1]])
    assert prefix_matching(weights)[1] == pytest.approx(0.5)
    assert previous_token(torch.cat([weights_at(-1)[:1], weights_at(0)[:1]]))[1] == pytest.approx(
        0.5
    )


@pytest.mark.parametrize("shape", [(H, T, T), (B, H, T, T + 2), (B, H, 1, 1)])
def test_weights_of_another_shape_are_refused(shape):
    ids = torch.zeros(B, T)
    measures = (lambda w: at_offset(w, 0), lambda w: same_token(w, ids))
    for measure in (previous_token, prefix_matching, *measures):
        with pytest.raises(ValueError, match="expected"):
            measure(torch.rand(shape))


@pytest.mark.parametrize("count", [2, 5])
def test_half_a_text_must_be_there_twice(count):
    with pytest.raises(ValueError, match="half"):
        prefix_matching(torch.rand(B, H, count, count))
