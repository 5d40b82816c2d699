"""A model that fills gaps: what it gives, how it reads a sentence, and the one that is kept."""

import pytest
import torch

from chapters.ch03_gap_filler import GapFiller, as_read, load_gap_filler
from tools.notebooks import ROOT


@pytest.fixture
def model():
    return GapFiller(vocab_size=20, embed_dim=16, num_heads=2, hidden_dim=8).eval()


@torch.no_grad()
def test_it_gives_logits_and_the_weights_behind_them(model):
    ids = torch.randint(20, (3, 5))
    assert model(ids).shape == (3, 5, 20)
    weights = model.weights(ids)
    assert weights.shape == (3, 2, 5, 5)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 2, 5))


@torch.no_grad()
def test_what_is_hidden_is_not_seen_and_all_else_is(model):
    ids = torch.tensor([[1, 2, 3, 4]])
    for n in range(4):
        other = ids.clone()
        other[0, n] = 5
        changed = (model(ids) - model(other)).abs().amax(dim=-1)[0] > 1e-6
        assert changed.tolist() == [t != n for t in range(4)]
    swapped = model(ids[:, [0, 2, 1, 3]])
    assert not torch.allclose(model(ids)[0, 0], swapped[0, 0]), "it knows places"


def test_the_kept_one_reads_the_first_sentence_as_four_words(tmp_path):
    assert as_read("Can you\n CAN that") == " can you can that"
    assert as_read(" \t ") == ""
    kept = load_gap_filler(ROOT / "notebooks" / "results")
    can, _, again, _ = kept.encode("Can you can that")
    assert can == again
    assert len(kept.recipe["called"]) == kept.recipe["settings"]["num_heads"]
    with pytest.raises(RuntimeError, match="`make train-heads` makes it"):
        load_gap_filler(tmp_path)


@torch.no_grad()
def test_the_kept_one_fills_a_quarter_of_the_gaps_of_a_sentence():
    kept = load_gap_filler(ROOT / "notebooks" / "results")
    ids = torch.tensor([kept.encode("The old man sat in a chair and read the book")])
    right = (kept.model(ids).argmax(dim=-1) == ids).double().mean()
    assert right > 0.25  # 0.35; with a sign of a sum turned 0.05
