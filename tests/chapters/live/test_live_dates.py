import base64
import json
import re
from html import unescape

import numpy as np
import pytest
import torch
from torch import nn

from chapters.ch17_alignment import draw_alignment
from chapters.ch17_transformer import Transformer
from chapters.live.dates import live_dates
from tools.problems import LEGIBLE, smallest_text
from utils.text import CharacterVocabulary

LETTERS = CharacterVocabulary(["May 4, 2026", "4. Mai 2026"])
SIZE = len(LETTERS)


def translator(size=SIZE, norm_first=True, **options):
    return Transformer(size, 16, 2, 32, 1, 0.1, norm_first=norm_first, **options).eval()


def figure(model, **changes):
    still = draw_alignment(["M", "a", "y"], ["M"], torch.ones(1, 1, 3), "It translates. So.")
    given = {"model": model, "vocabulary": LETTERS, "text": "May 4", "letters": 1, "still": still}
    return live_dates(**given | changes)


def test_it_has_the_weights_and_the_characters():
    model = translator()
    html = figure(model)._repr_html_()
    given = json.loads(unescape(re.search(r'data-given="([^"]*)"', html)[1]))
    assert (given["text"], given["letters"], given["numHeads"]) == ("May 4", 1, 2)
    assert list(given["characters"]) == LETTERS.characters
    assert given["head"] is None
    for name, weight in model.state_dict().items():
        numbers = np.frombuffer(base64.b64decode(given["state"][name]), "<f2")
        assert torch.from_numpy(numbers.copy()).view(weight.shape).equal(weight.half())
    assert smallest_text(html) >= LEGIBLE
    assert repr(figure(model)).startswith("A model translates “May 4”, letter by letter. L")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm_first": False, "final_norm": True}, "norms first"),
        ({"is_causal": False}, "causal models"),
        ({"source_positions": nn.Identity()}, "does not know Identity"),
        ({"size": 40}, f"the vocabulary has {len(LETTERS)} tokens, the model 40"),
    ],
)
def test_a_model_that_the_script_does_not_know_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        figure(translator(**options))


def test_what_cannot_be_read_is_said():
    with pytest.raises(ValueError, match="no character 'x'"):
        figure(translator(), text="x")
    with pytest.raises(ValueError, match="head is 2"):
        figure(translator(), head=2)
    large = Transformer(len(LETTERS), 64, 2, 512, 2, norm_first=True)
    with pytest.raises(ValueError, match="room for"):
        figure(large)
