import base64
import json
import re
from html import unescape

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from torch import nn

from chapters.live.dates import live_dates
from tools.problems import LEGIBLE, smallest_text
from utils.figures import DescribedFigure
from utils.text import CharacterVocabulary

LETTERS = CharacterVocabulary(["May 4, 2026", "4. Mai 2026"])


@pytest.fixture
def translator(Transformer):
    return lambda **options: Transformer(len(LETTERS), 16, 2, **options)


def figure(model, **changes):
    still = DescribedFigure(plt.figure(), "Lines.", "It translates. So.")
    given = {
        "model": model,
        "vocabulary": LETTERS,
        "text": "May 4",
        "letters": 1,
        "head": 1,
        "still": still,
    }
    return live_dates(**given | changes)


def test_it_has_the_weights_and_the_characters(translator):
    model = translator()
    html = figure(model)._repr_html_()
    given = json.loads(unescape(re.search(r'data-given="([^"]*)"', html)[1]))
    assert [given[name] for name in ("text", "letters", "head", "numHeads")] == ["May 4", 1, 1, 2]
    assert list(given["characters"]) == LETTERS.characters
    for name, weight in model.state_dict().items():
        numbers = np.frombuffer(base64.b64decode(given["state"][name]), "<f2")
        assert torch.from_numpy(numbers.copy()).view(weight.shape).equal(weight.half())
    assert smallest_text(html) >= LEGIBLE
    assert repr(figure(model)).startswith("A model translates “May 4”, letter by letter. L")


def test_a_model_that_the_script_does_not_know_is_refused(translator):
    after, other = translator(), translator()
    after.encoder[0].norm_first, other.positions = False, nn.Identity()
    for model, words in (
        (after, "norms first"),
        (other, "does not know Identity"),
        (translator(is_causal=False), "causal models"),
    ):
        with pytest.raises(ValueError, match=words):
            figure(model)
