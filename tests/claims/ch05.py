"""What chapter 5 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.news import NEWS

with says("PyTorch's function, SDPA for short, agrees."):
    claim((attend(x, x, x, both) - sdpa(x, x, x, both)).abs().max(), at_most=1e-12)
    claim((attend(x, x, x) - sdpa(x, x, x)).abs().max(), at_most=1e-12)
with says("Without a mask the two [PAD] take nearly half."):
    claim((vectors @ vectors.T / 2**0.5).softmax(dim=-1)[0, 3:].sum(), 0.42, 0.5)
with says("takes them out of the sum, and the words share all the weight."):
    claim(weights[0, 3:].tolist() == [0, 0])
    claim(weights[0, :3].sum(), 0.9999, 1.0001)

shares = [(runs == news.labels).double().mean(dim=1) for runs in (alone, spoilt)]
with says("takes each of eight models from 0.91 right or more to 0.28 or less"):
    claim(shares[0].min(), 0.905, on=NEWS)
    claim(shares[1].max(), at_most=0.285, on=NEWS)
with says("Forget it, and the texts fall into one class"):
    claim(min(one.bincount().max() for one in spoilt), at_least=400, on=NEWS)
with says("with a mask, not one of their 4,000 answers changes."):
    claim((masked != alone).sum(), at_most=0)
    claim(masked.numel() == 4000, on=NEWS)


@torch.no_grad()
def on_padding(model):
    x = model.table(padded)  # (B, S, D)
    scores = model.query @ x.mT / x.shape[-1] ** 0.5  # (B, 1, S)
    return scores.softmax(dim=-1)[:, 0, 30:].sum(dim=-1)  # (B,)


with says("whose score is higher by $\\ln n$, 3.4 for 30 copies and 7.2 for 1,343."):
    n = padded.shape[1] - 30
    claim(n == 1343, on=NEWS)
    claim(torch.tensor(n).log(), 7.15, 7.25, on=NEWS)
    claim(torch.tensor(30).log(), 3.35, 3.45)
    copies = F.pad(torch.ones(30), (0, 1), value=n).log()  # (S,)
    x_one = models[0].table(F.pad(news.ids, (0, 1)))
    weights = (models[0].query @ x_one.mT / x_one.shape[-1] ** 0.5 + copies).softmax(dim=-1)
    claim((weights[:, 0, -1] - on_padding(models[0])).abs().max(), at_most=1e-4)
with says("Then nearly all of the weight goes to [PAD], and every text becomes the same text."):
    for model in models:
        claim(on_padding(model).median(), 0.97, 0.995, on=NEWS)


only_first = torch.tensor([[True, False, False]])  # (T, S); (B, S)
q, k, v = torch.zeros(1, 1, 4), torch.ones(1, 3, 4), torch.eye(3)[None]
with says("May attend: F.scaled_dot_product_attention and our attend."):
    claim(sdpa(q, k, v, only_first).flatten().tolist() == [1, 0, 0])
    claim(attend(q, k, v, only_first).flatten().tolist() == [1, 0, 0])
with says("Blocked: nn.MultiheadAttention, both its key_padding_mask"):
    for kind in (nn.MultiheadAttention, MultiHeadAttention):
        _, weights = kind(4, 1, batch_first=True)(q, k, k, key_padding_mask=only_first)
        claim(weights.flatten().tolist() == [0, 0.5, 0.5])


def by_layer(layer, need_weights, padding=False):
    name = "key_padding_mask" if padding else "attn_mask"
    return lambda q, k, v, m: layer(q, k, v, need_weights=need_weights, **{name: ~m})[0]


with says("five of these six attempts use another mask than was meant, and none raises an error."):
    claim([name for name, seen in used.items() if torch.equal(seen, allowed)] == ["right"])
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
        with says("What moved returns is a mask: the one your code uses."):
            for call in calls:
                claim(torch.equal(moved(call, tokens, mask), mask.expand(B, T, T)))
                claim(torch.equal(moved(call, tokens, almost), almost.expand(B, T, T)))
            for one in layers:
                for need in (True, False):
                    by_words = moved(by_layer(one, need, padding=True), tokens, words)
                    claim(torch.equal(by_words, words[:, None].expand(B, T, T)))
        with says("What moved returns is a mask: the one your code uses."):
            none = mask.clone()
            none[0] = False
            for call in (attend, calls[2]):
                claim(call(tokens, tokens, tokens, none)[:, 0].isnan().all())
                claim(torch.equal(moved(call, tokens, none), none.expand(B, T, T)))
        with says("The test says which pairs are open, not how large their weights are"):
            noise = torch.randn(T, T, dtype=torch.float64).masked_fill(~mask, -torch.inf)
            claim(torch.equal(moved(sdpa, tokens, noise), mask.expand(B, T, T)))
with says("eval() (dropout moves everything)"):
    noisy = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True).double()
    claim(moved(by_layer(noisy, False), x, causal).double().mean(), at_least=0.9)
with says("Inverted hides the words."):
    claim(torch.equal(used["inverted"], ~allowed))
with says("a word gains 1, and nothing is blocked."):
    claim(used["floats"].all())
with says("Without heads it broadcasts, and hides no padding from the words."):
    claim(torch.equal(used["wrong axis"], is_word[:, :, None].expand(5, 5, 5)))
with says("it is read as (T, S): query $t$ gets the padding of text $t$."):
    claim(torch.equal(used["axis missing"], is_word.expand(5, 5, 5)))
with says("With four texts it would raise an error"):
    try:
        sdpa(x[:4], x[:4], x[:4], is_word[:4])
        claim(False)
    except RuntimeError as error:
        claim("must match the size" in str(error))
with says("Careless takes attn_mask and never passes it on, and neither does"):
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


with says("In training, the hint alone raises an error (PyTorch 2.13)."):
    claim(raises(one_layer.train(), x))
with says("(so a changed token is also a changed query, which moves only its own output)"):
    claim(torch.equal(moved(lambda q, k, v, _: sdpa(v, x, x), x, None)[0], torch.eye(5).bool()))
with says("takes a faster path and uses no mask at all"):
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

with says("gives a finite loss over the words, and NaN in every entry of the gradient"):
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
left_padded = ~blocked & causal  # (T, S)
minus_inf = torch.zeros(5, 5).masked_fill(~left_padded, -torch.inf)
cures = {
    "zeroed": lambda s: (s + minus_inf).softmax(dim=-1).nan_to_num(),
    "filled": lambda s: s.masked_fill(~left_padded, -torch.inf).softmax(dim=-1).nan_to_num(),
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
with says("(Our `attend` fills it in, and there that zero is a cure.)"):
    claim(cures["filled"][0] == [0, 0, 0, 0])
with says("setting NaN to zero after the softmax mends only the output."):
    claim(cures["zeroed"][0] == cures["where"][0] == [0, 1, 1, 0])
with says("An empty row then becomes uniform: no NaN, but it reads padding."):
    claim(cures["-1e9"] == cures["min"] == ([0, 0, 0, 0], [0.2] * 5))
with says("and the layer in utils give zeros for an empty row."):
    claim(not sdpa(x, x, x, left_padded)[:, :2].any())
    ours = MultiHeadAttention(8, 2).double()
    ours.out_proj = nn.Identity()
    claim(not ours(x, x, x, attn_mask=~left_padded)[0][:, :2].any())


def changed_with(model, n):
    one, other = (answers([model], F.pad(news.ids, (0, m))) for m in (0, n))
    return (one != other).sum().item(), ((one == news.labels) * 1.0 - (other == news.labels) * 1.0)


with says("How many of the 500 answers then change with 30 [PAD], and with 1,343?"):
    claim(changed_with(used_to_it, 1343)[0], 150, 450, on=NEWS)
    claim(changed_with(used_to_it, 30)[0], 1, 60, on=NEWS)
with says("With ten [PAD] accuracy hardly drops, and yet some answers depend on the neighbours."):
    for model in models:
        changes, drops = changed_with(model, 10)
        claim(drops.mean(), at_most=0.02, on=NEWS)
        claim(changes, 1, 30, on=NEWS)
with says("How many of the 500 answers then change with 30 [PAD], and with 1,343?"):
    for model in [used_to_it] + [train(seed, Padded) for seed in (1, 2)]:
        changes, drops = changed_with(model, 30)
        claim(drops.mean(), at_most=0.02, on=NEWS)
        claim(changes, 1, 30, on=NEWS)
