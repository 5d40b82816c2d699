import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from chapters.ch18_model import LanguageModel
from chapters.live.writer import live_writer, weights_script
from tools.problems import LEGIBLE, smallest_text
from utils.byte_pairs import BytePairs


@dataclass
class Kept:
    model: LanguageModel
    vocabulary: BytePairs
    recipe: dict[str, Any]


def kept(**options):
    vocabulary = BytePairs.learn(["can you can that can"] * 3, 262)
    model = LanguageModel(len(vocabulary), 16, 2, 1, 8, 2, **options).eval()
    return Kept(model, vocabulary, {"settings": {"num_heads": 2, "length": 32}, "sha256": 64 * "a"})


def test_the_script_has_weights_and_vocabulary():
    writer = kept()
    script = weights_script(writer)
    found = json.loads(script.removeprefix("globalThis.courseWriter = ").rstrip(";\n"))
    assert (found["numHeads"], found["length"]) == (2, 32)
    assert [tuple(pair) for pair in found["merges"]] == writer.vocabulary.merges
    name, weight = next(iter(writer.model.state_dict().items()))
    numbers = np.frombuffer(base64.b64decode(found["state"][name]), "<f2")
    assert torch.from_numpy(numbers.copy()).view(weight.shape).equal(weight.half())
    assert set(found["state"]) == set(writer.model.state_dict())


def test_the_picture_says_what_was_written_and_what_comes_next():
    writer = kept()
    given = {"writer": writer, "text": "can you", "written": " can\n    that"}
    figure = live_writer("It writes. So.", **given)
    html = figure._repr_html_()
    with torch.no_grad():
        ids = torch.tensor([[0, *writer.vocabulary.encode("can you can\n    that")]])
        highest = writer.model(ids)[0, -1].softmax(dim=-1).max()
    assert repr(figure).startswith("The model went on with “can you”: “can you can that” The next")
    assert f" {highest:.2f}," in repr(figure)
    assert "\N{NO-BREAK SPACE}" * 4 + "that" in html
    assert smallest_text(html) >= LEGIBLE
    assert len(html) < 300_000
    assert "courseWriter = {" not in html  # the weights are not in the figure
    assert "&quot;version&quot;: &quot;aaaaaaaa&quot;" in html  # of the weights that it asks for
