"""The picture of the landing page shows the model's own weights."""

import pytest

from tools.page import hero

KEPT = hero.read()


@pytest.mark.slow
def test_the_kept_weights_are_those_of_the_model():
    made = hero.compute()
    assert made["tokens"] == KEPT["tokens"] == ["[CLS]", *hero.SENTENCE.split(), "[SEP]"]
    for head in map(str, hero.HEADS):
        for made_row, row in zip(made["weights"][head], KEPT["weights"][head], strict=True):
            assert made_row == pytest.approx(row, abs=2e-3)
