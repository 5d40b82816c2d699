"""What chapter 5 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.news import NEWS

with says("For the words of our text causal and both are the same"):
    claim(torch.equal(both[1, :3], causal[:3]) and not torch.equal(both[1], causal))
with says("Chapter 2's attend needs one more step [1]."):
    claim((attend(x, x, x, both) - sdpa(x, x, x, both)).abs().max(), at_most=1e-12)
    claim((attend(x, x, x) - sdpa(x, x, x)).abs().max(), at_most=1e-12)
five = torch.stack([can, you, can + you, pad, pad])  # (T, D)
scores = (five @ five.T / 2**0.5)[0]
with says("can scores 0 with you, and 0.71 with itself, ? and each [PAD]."):
    claim((scores - torch.tensor([0.71, 0, 0.71, 0.71, 0.71])).abs().max(), at_most=0.005)
with says("The exponentials are 1 and 2.03."):
    claim(scores.max().exp(), 2.025, 2.035)
with says("the two [PAD] take $4.06 / 9.11 = 0.45$ of the weight."):
    claim(2 * scores[0].exp(), 4.055, 4.065)
    claim(scores.exp().sum(), 9.105, 9.115)
    claim(scores.softmax(dim=-1)[3:].sum(), 0.445, 0.455)
with says("the words get 0.40, 0.20 and 0.40."):
    by_hand = torch.tensor([0.4, 0.2, 0.4])
    claim((scores[:3].softmax(dim=-1) - by_hand).abs().max(), at_most=0.005)

shares = {
    case: [(f == news.labels).double().mean().item() for f in runs] for case, runs in cases.items()
}
with says("takes each of eight models from 0.91 right or more to 0.28 or less"):
    claim(min(shares["alone"]), 0.89, on=NEWS)
    claim(max(shares["with a long text"]), at_most=0.32, on=NEWS)
with says("with at least 458 of 500 texts in one class"):
    claim(min(f.bincount().max().item() for f in found[-1]), 430, 499, on=NEWS)
with says("with a mask, every text gets the answer that it gets alone."):
    for one, other in zip(found[0], masked, strict=True):
        claim((one != other).sum(), at_most=0)


@torch.no_grad()
def on_padding(model):
    x = model.table(padded)  # (B, S, D)
    scores = model.query @ x.mT / x.shape[-1] ** 0.5  # (B, 1, S)
    return scores.softmax(dim=-1)[:, 0, 30:].sum(dim=-1)  # (B,)


def with_row_of_zeros(model):
    kept = model.table.weight.data[0].clone()
    model.table.weight.data[0] = 0
    given = answers(model, padded)
    model.table.weight.data[0] = kept
    return (given == news.labels).double().mean().item()


with says("the texts grow 46-fold"):
    claim(padded.shape[1] / 30, 45.5, 46.5, on=NEWS)
with says("It scores higher than most words of a text"):
    for model in models:
        scores = (model.query @ model.table.weight.T)[0]
        claim((scores[news.ids] < scores[0]).double().mean(), 0.65, 0.9, on=NEWS)
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
with says("the eight models reach an accuracy of 0.28 to 0.73."):
    zeroed = [with_row_of_zeros(model) for model in models]
    claim(min(zeroed), 0.2, 0.36, on=NEWS)
    claim(max(zeroed), 0.6, 0.8, on=NEWS)


only_first = torch.tensor([[True, False, False]])  # (T, S); (B, S)
q, k, v = torch.zeros(1, 1, 4), torch.ones(1, 3, 4), torch.eye(3)[None]
with says("May attend: F.scaled_dot_product_attention, ours, and the ones in the attention_mask"):
    claim(sdpa(q, k, v, only_first).flatten().tolist() == [1, 0, 0])
    claim(attend(q, k, v, only_first).flatten().tolist() == [1, 0, 0])
with says("Blocked: nn.MultiheadAttention, both its key_padding_mask"):
    for kind in (nn.MultiheadAttention, MultiHeadAttention):
        _, weights = kind(4, 1, batch_first=True)(q, k, k, key_padding_mask=only_first)
        claim(weights.flatten().tolist() == [0, 0.5, 0.5])


def by_layer(layer, need_weights, padding=False):
    name = "key_padding_mask" if padding else "attn_mask"
    return lambda q, k, v, m: layer(q, k, v, need_weights=need_weights, **{name: ~m})[0]


def adding(low):
    return lambda q, k, v, m: sdpa(q, k, v, torch.zeros_like(m, dtype=q.dtype).masked_fill(~m, low))


with says("All six attempts run without an error, and moved accepts only the correct one"):
    claim([name for name, seen in used.items() if torch.equal(seen, meant)] == ["right"])
for seed in range(3):
    for T, D, H, B in ((5, 8, 2, 5), (16, 32, 4, 3), (40, 64, 8, 2)):
        torch.manual_seed(seed)
        tokens = torch.randn(B, T, D, dtype=torch.float64)
        mask = (torch.rand(T, T) < 0.6) | torch.eye(T).bool()
        almost = mask.clone()
        almost[T // 2, T // 3] ^= True
        words = torch.arange(T) < torch.randint(1, T + 1, (B,))[:, None]
        layers = [
            kind(D, H, batch_first=True).double().eval()
            for kind in (nn.MultiheadAttention, MultiHeadAttention)
        ]
        calls = [attend, sdpa] + [by_layer(one, need) for one in layers for need in (True, False)]
        with says("right with the right mask, and wrong with one pair of the mask inverted."):
            for call in calls:
                claim(torch.equal(moved(call, tokens, mask), mask.expand(B, T, T)))
                claim(torch.equal(moved(call, tokens, almost), almost.expand(B, T, T)))
            for one in layers:
                for need in (True, False):
                    by_words = moved(by_layer(one, need, padding=True), tokens, words)
                    claim(torch.equal(by_words, words[:, None].expand(B, T, T)))
        with says("(A row that is NaN before and after has not moved.)"):
            none = mask.clone()
            none[0] = False
            for call in (attend, calls[2]):
                claim(call(tokens, tokens, tokens, none)[:, 0].isnan().all())
                claim(torch.equal(moved(call, tokens, none), none.expand(B, T, T)))
        with says("a mask that adds $-20$ is caught, one that adds $-40$ passes."):
            claim(not torch.equal(moved(adding(-20.0), tokens, mask), mask.expand(B, T, T)))
            claim(torch.equal(moved(adding(-40.0), tokens, mask), mask.expand(B, T, T)))
        with says("a mask that mixes up the heads can be right for the first text."):
            each = (torch.rand(B, T, T) < 0.6) | torch.eye(T).bool()
            for one in layers:
                for mixed in (False, True):
                    how = (H, 1, 1) if mixed else (H, 0)
                    repeated = each.repeat(*how) if mixed else each.repeat_interleave(*how)
                    claim(torch.equal(moved(by_layer(one, False), tokens, repeated), each) != mixed)
with says("in eval() (dropout moves everything)"):
    noisy = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True).double()
    claim(moved(by_layer(noisy, False), x, causal).double().mean(), at_least=0.9)
with says("PyTorch's layer is right with its key_padding_mask"):
    claim(torch.equal(padding, meant))
    claim(hint.all())
with says("Inverted hides the words."):
    claim(torch.equal(used["inverted"], ~meant))
with says("a word gains 1, and nothing is blocked."):
    claim(used["floats"].all())
with says("it fits, and hides no padding from the words."):
    claim(torch.equal(used["wrong axis"], is_word[:, :, None].expand(5, 5, 5)))
with says("it is read as (T, S): query $t$ gets the padding of text $t$."):
    claim(torch.equal(used["axis missing"], is_word.expand(5, 5, 5)))
with says("Careless takes attn_mask and never passes it on, as does"):
    claim(used["Careless"].all())


def raises(layer, x):
    try:
        layer(x, x, x, is_causal=True)
    except RuntimeError as error:
        return "attn_mask" in str(error)
    return False


one_layer = nn.MultiheadAttention(8, 2, batch_first=True).double()


def one_tensor(q, k, v, m):
    return one_layer(v, v, v, attn_mask=m, is_causal=True)[0]


with says("the hint alone raises an error in training."):
    claim(raises(one_layer.train(), x))
with says("takes its fast path, a single kernel, and uses no mask at all"):
    one_layer.eval()
    claim(moved(one_tensor, x, None).all())
    with torch.no_grad():
        torch.backends.mha.set_fastpath_enabled(False)
        claim(raises(one_layer, x))
        torch.backends.mha.set_fastpath_enabled(True)
with says("Always pass the causal mask itself."):
    for training in (True, False):
        one_layer.train(training)
        claim(torch.equal(moved(one_tensor, x, ~causal), causal.expand(5, 5, 5)))

with says("gives a finite loss over the words, and a gradient"):
    for seed in range(8):
        for training in (True, False):
            for need in (True, False):
                torch.manual_seed(seed)
                one = nn.MultiheadAttention(8, 2, batch_first=True).train(training)
                tokens = torch.randn(1, 5, 8)
                output, _ = one(tokens, tokens, tokens, need_weights=need, **given)
                loss = output[:, 2:].square().mean()
                loss.backward()
                claim(loss.isfinite())
                claim(one.in_proj_weight.grad.isnan().double().mean() == need)
                claim(output.isnan().any() == need)
with says("A second layer spreads the NaN forward too, to every row."):
    first, second = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
    output, _ = first(tokens, tokens, tokens, **given)
    claim(output.isnan().any(dim=-1).flatten().tolist() == [True, True, False, False, False])
    claim(second(output, output, output, **given)[0].isnan().all())

left_padded = ~blocked & causal  # (T, S)
minus_inf = torch.zeros(5, 5).masked_fill(~left_padded, -torch.inf)
cures = {
    "zeroed": lambda s: (s + minus_inf).softmax(dim=-1).nan_to_num(),
    "where": lambda s: torch.where(left_padded, (s + minus_inf).softmax(dim=-1), 0),
    "-1e9": lambda s: s.masked_fill(~left_padded, -1e9).softmax(dim=-1),
    "min": lambda s: s.masked_fill(~left_padded, torch.finfo(s.dtype).min).softmax(dim=-1),
}
for name, softmax in cures.items():
    w = torch.randn(3, 8, 8, dtype=x.dtype, requires_grad=True)  # W^Q, W^K, W^V
    q, k, v = x[1] @ w
    weights = softmax(q @ k.T / 8**0.5)
    output = weights @ v
    output[2:].square().sum().backward()
    nan = [t.isnan().double().mean().item() for t in (output, *w.grad)]
    cures[name] = nan, weights[0].tolist()
with says("Setting NaN to zero after the softmax cleans the output, not the gradient."):
    claim(cures["zeroed"][0] == cures["where"][0] == [0, 1, 1, 0])
with says("An empty row then becomes uniform, here 0.2 for each key: no NaN"):
    claim(cures["-1e9"] == cures["min"] == ([0, 0, 0, 0], [0.2] * 5))
with says("and the course's layer give zeros for an empty row."):
    claim(not sdpa(x, x, x, left_padded)[:, :2].any())
    ours = MultiHeadAttention(8, 2).double()
    ours.out_proj = nn.Identity()
    claim(not ours(x, x, x, attn_mask=~left_padded)[0][:, :2].any())

with says("How many of the 500 answers then change with 30 [PAD], and with 1,343?"):
    claim((answers(used_to_it, padded) != answers(used_to_it, news.ids)).sum(), 150, 450, on=NEWS)
    claim(
        (answers(used_to_it, F.pad(news.ids, (0, 30))) != answers(used_to_it, news.ids)).sum(),
        1,
        60,
        on=NEWS,
    )
    claim(n / 30, 44.5, 45.5, on=NEWS)
with says("With little padding, in training as well, accuracy hardly drops, yet some answers"):
    drops, changes = [], []
    for model in [used_to_it] + [train(seed, most=30) for seed in (1, 2)]:
        one, other = (answers(model, F.pad(news.ids, (0, n))) for n in (0, 30))
        drops.append(
            ((one == news.labels).double() - (other == news.labels).double()).mean().item()
        )
        changes.append((one != other).sum().item())
    claim(max(drops), at_most=0.02, on=NEWS)
    claim(max(changes), 1, 30, on=NEWS)
