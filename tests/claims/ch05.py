"""What chapter 5 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.news import NEWS

with says("For the words of our text, causal and both are the same"):
    claim(torch.equal(both[1, :3], causal[:3]) and not torch.equal(both[1], causal))
with says("Chapter 2's attend needs one more step [1]."):
    claim((attend(x, x, x, both) - sdpa(x, x, x, both)).abs().max(), at_most=1e-12)
    claim((attend(x, x, x) - sdpa(x, x, x)).abs().max(), at_most=1e-12)
tiny = torch.stack([can, you, pad])  # (T, D)
scores = tiny @ tiny.T / 2**0.5
with says("can scores 0.71 with itself, 0 with you, and 0.71 with [PAD]."):
    claim((scores[0] - torch.tensor([0.71, 0, 0.71])).abs().max(), at_most=0.005)
with says("Without a mask [PAD] takes $2.03 / 5.06 = 0.40$ of the weight."):
    claim(scores.softmax(dim=-1)[0, 2], 0.395, 0.405)
with says("the words get $2.03 / 3.03 = 0.67$ and $0.33$."):
    masked = scores.masked_fill(torch.tensor([False, False, True]), -torch.inf)
    by_hand = torch.tensor([0.67, 0.33, 0])
    claim((masked.softmax(dim=-1)[0] - by_hand).abs().max(), at_most=0.005)

shares = {
    case: [(f == news.labels).double().mean().item() for f in found]
    for case, found in cases.items()
}
with says("takes each of eight models from 0.91 right or more to 0.28 or less"):
    claim(min(shares["alone"]), 0.89, on=NEWS)
    claim(max(shares["with a long text"]), at_most=0.32, on=NEWS)
with says("with at least 458 of 500 texts in one class"):
    claim(min(f.bincount().max().item() for f in spoilt), 430, 499, on=NEWS)
with says("with a mask, every text gets the answer that it gets alone."):
    for before, after in zip(alone, mended, strict=True):
        claim((before != after).sum(), at_most=0)


@torch.no_grad()
def on_padding(model):
    x = model.table(padded)  # (B, S, D)
    scores = model.query @ x.mT / x.shape[-1] ** 0.5  # (B, 1, S)
    return scores.softmax(dim=-1)[:, 0, 30:].sum(dim=-1)  # (B,)


def with_row_of_zeros(model):
    kept = model.table.weight.data[0].clone()
    model.table.weight.data[0] = 0
    found = answers(model, padded)
    model.table.weight.data[0] = kept
    return (found == news.labels).double().mean().item()


with says("they weigh as one key whose score is $\\ln n$ higher, here 7.2."):
    n = padded.shape[1] - 30
    claim(torch.tensor(n).log(), 7.15, 7.25, on=NEWS)
    copies = F.pad(torch.ones(30), (0, 1), value=n).log()  # (S,)
    x_one = models[0].table(F.pad(news.ids, (0, 1)))
    weights = (models[0].query @ x_one.mT / x_one.shape[-1] ** 0.5 + copies).softmax(dim=-1)
    claim((weights[:, 0, -1] - on_padding(models[0])).abs().max(), at_most=1e-4)
with says("So [PAD] has 0.98 of the weight, and every text becomes the same text."):
    for model in models:
        claim(on_padding(model).median(), 0.97, 0.995, on=NEWS)
with says("is still a share, and the eight models get 0.28 to 0.73 right."):
    zeroed = [with_row_of_zeros(model) for model in models]
    claim(min(zeroed), 0.2, 0.36, on=NEWS)
    claim(max(zeroed), 0.6, 0.8, on=NEWS)


def validated(lr, seeds=3, held_out=300):
    # The share right on articles held out from training, after 3, 10 and 20 passes.
    order = torch.randperm(len(news.train_ids), generator=torch.Generator().manual_seed(0))
    rest, right = order[held_out:], {3: 0, 10: 0, 20: 0}
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = Classifier()
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        for n in range(1, 21):
            for rows in rest[torch.randperm(len(rest))].split(64):
                loss = F.cross_entropy(model(news.train_ids[rows]), news.train_labels[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if n in right:
                found = answers(model, news.train_ids[order[:held_out]])
                right[n] += (
                    found == news.train_labels[order[:held_out]]
                ).double().mean().item() / seeds
    return {(lr, n): share for n, share in right.items()}


with says("are the best of nine pairs on articles held out from training."):
    pairs = validated(0.003) | validated(0.01) | validated(0.03)
    chosen = pairs.pop((0.003, 10))
    claim(chosen - max(pairs.values()), -0.01, on=NEWS)

only_first = torch.tensor([[True, False, False]])  # (T, S); (B, S)
q, k, v = torch.zeros(1, 1, 4), torch.ones(1, 3, 4), torch.eye(3)[None]
with says("May attend: F.scaled_dot_product_attention, ours, and the ones in the attention_mask"):
    claim(sdpa(q, k, v, only_first).flatten().tolist() == [1, 0, 0])
    claim(attend(q, k, v, only_first).flatten().tolist() == [1, 0, 0])
with says("Blocked: nn.MultiheadAttention, our layers"):
    for kind in (nn.MultiheadAttention, MultiHeadAttention):
        _, weights = kind(4, 1, batch_first=True)(q, k, k, key_padding_mask=only_first)
        claim(weights.flatten().tolist() == [0, 0.5, 0.5])

with says("All six attempts run without an error, and moved tells the one right mask"):
    claim([name for name, found in used.items() if torch.equal(found, meant)] == ["right"])
    for seed in range(20):  # other masks, other lengths, and the layer
        torch.manual_seed(seed)
        size = 2 + int(torch.randint(20, ()))
        mask = torch.rand(size, size) < 0.6
        mask[0, 0] = True
        other = torch.randn(1, size, 8, dtype=torch.float64)
        claim(torch.equal(moved(sdpa, other, mask), mask))
        sound = MultiHeadAttention(8, 2).double()
        by_layer = moved(lambda q, k, v, m, by=sound: by(q, k, v, attn_mask=~m)[0], other, mask)
        claim(torch.equal(by_layer, mask))
with says("since adding 1 everywhere is undone by a layer norm"):
    claim((F.layer_norm(x + 1, [8]) - F.layer_norm(x, [8])).abs().max(), at_most=1e-12)
with says("Inverted hides the words."):
    claim(torch.equal(used["inverted"], ~meant))
with says("a word gains 1, and nothing is blocked."):
    claim(used["floats"].all())
with says("it fits, and hides nothing from the words."):
    claim(used["wrong axis"][:3].all() and not used["wrong axis"][3:].any())
with says("it is read as (T, S): query $t$ gets the length of text $t$."):
    claim(torch.equal(used["axis missing"], masks["axis missing"]))
    five = sdpa(*[text.expand(5, 5, 8)] * 3, masks["axis missing"])
    claim((five - sdpa(text, text, text, masks["axis missing"])).abs().max(), at_most=1e-12)
with says("Careless takes attn_mask and never passes it on."):
    claim(used["Careless"].all())


def raises(layer, x):
    try:
        layer(x, x, x, is_causal=True)
    except RuntimeError as error:
        return "attn_mask" in str(error)
    return False


with says("this layer raises an error in training."):
    claim(raises(layer.train(), text))
with says("In eval() without gradients it takes its fast path and uses no mask at all"):
    layer.eval()
    torch.set_grad_enabled(False)
    claim(moved(hinted, text, None).all())
    torch.backends.mha.set_fastpath_enabled(False)
    claim(raises(layer, text))
    torch.backends.mha.set_fastpath_enabled(True)
    torch.set_grad_enabled(True)
with says("Always pass the causal mask itself."):
    for training in (True, False):
        layer.train(training)
        with torch.set_grad_enabled(training):
            claim(torch.equal(moved(hinted, text, ~causal), causal))

minus_inf = torch.zeros(5, 5).masked_fill(~left_padded, -torch.inf)
found = {
    "patched": lambda s: patched(s, left_padded),
    "where": lambda s: torch.where(left_padded, (s + minus_inf).softmax(dim=-1), 0),
    "filled": lambda s: s.masked_fill(~left_padded, -torch.inf).softmax(dim=-1).nan_to_num(),
    "safe": lambda s: safe(s, left_padded),
}
for name, softmax in found.items():
    w = torch.randn(3, 8, 8, dtype=x.dtype, requires_grad=True)  # W^Q, W^K, W^V
    q, k, v = x[1] @ w
    output = softmax(q @ k.T / 8**0.5) @ v
    output[2:].square().sum().backward()
    found[name] = [t.isnan().double().mean().item() for t in (output, *w.grad)]
with says("the output is clean while every entry of the gradients of $W^Q$ and $W^K$ is NaN."):
    claim(found["patched"] == found["where"] == [0, 1, 1, 0])
with says("(Filling with masked_fill in place of the sum happens to save these two"):
    claim(found["filled"] == [0, 0, 0, 0])
with says("so that NaN never arises:"):
    claim(found["safe"] == [0, 0, 0, 0])
with says("gives zeros for such a row, too."):
    claim(
        (sdpa(text, text, text, left_padded)[0] - safe(x[1] @ x[1].T / 8**0.5, left_padded) @ x[1])
        .abs()
        .max(),
        at_most=1e-12,
    )

with says("How many of the 500 answers will then change with 30 [PAD], and how many with 1,343?"):
    claim((answers(used_to_it, padded) != answers(used_to_it, news.ids)).sum(), 150, 450, on=NEWS)
    claim(
        (answers(used_to_it, F.pad(news.ids, (0, 30))) != answers(used_to_it, news.ids)).sum(),
        1,
        60,
        on=NEWS,
    )
    claim(n / 30, 44.5, 45.5, on=NEWS)
