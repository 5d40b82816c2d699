"""What chapter 20 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3

from tools.claims import claim, says
from utils.attention import causal_mask

# Equal to what libraries have.
with says("divides each query and each key by its root mean square, and multiplies each number"):
    norm, theirs = QKNorm(16).double(), modeling_qwen3.Qwen3RMSNorm(16).double()
    norm.q_norm.weight.data = theirs.weight.data = torch.randn(16).double()
    q, k, v = torch.randn(3, 1, 2, 5, 16).double()  # (B, H, T, D_head)
    claim((norm(q, k, None)[0] - theirs(q)).abs().max(), at_most=1e-4)  # its eps is another
with says("as if there were one more key, whose value is zero"):
    allowed = causal_mask(5, 5).view(1, 1, 5, 5)
    added = torch.zeros(1, 1, 5, 5).double().masked_fill(~allowed, -math.inf)
    silenced = SinkLogit(32, 2)
    silenced.sink.data = torch.tensor([1.0, -2.0]).double()
    ours, _ = silenced.attend_heads(q, k, v, allowed)
    by_hand = (q @ k.mT / 16**0.5 + added).exp()  # as the formula says
    by_hand = by_hand / (silenced.sink.exp().view(-1, 1, 1) + by_hand.sum(-1, keepdim=True))
    claim((ours - by_hand @ v).abs().max(), at_most=1e-12)
    like = SimpleNamespace(sinks=silenced.sink, num_key_value_groups=1, training=False)
    theirs, _ = modeling_gpt_oss.eager_attention_forward(like, q, k, v, added, 16**-0.5)
    claim((ours - theirs.transpose(1, 2)).abs().max(), at_most=1e-6)

# QK-norm.
with says(
    "Trained at a rate of 0.1, the plain layer recalls less than a tenth of the values in most of eight runs. With QK-norm it recalls more than 0.99 of them in all eight, and so does a plain layer whose $W^Q$ and $W^K$ learn more slowly."
):
    claim(len(recalls["plain"]) == 8 and (recalls["plain"] < 0.1).sum() >= 5)
    for name in ("QK-norm", "W^Q, W^K slower"):
        claim(len(recalls[name]) == 8)
        claim(recalls[name].min(), at_least=0.99)
with says("But at 0.03 the plain layer, too, recalls more than 0.99."):
    claim(kept("plain", 0.03).min(), at_least=0.99)
with says("It saves time."):
    plain, slower, normed = (
        kept(kind, lr, qk, steps=75).median()
        for kind, lr, qk in (("plain", 0.03, 1.0), ("plain", 0.05, 0.3), ("QK-norm", 0.05, 1.0))
    )
    claim(plain, at_most=0.5)
    claim(min(slower, normed), at_least=0.6)
with says("with QK-norm they stay small, and\nit recalls all."):
    for lr in (0.01, 0.03, 0.1):
        claim(kept("QK-norm", lr).min(), at_least=0.99)
with says("Slowing everything else does not help."):
    claim(len(recalls["all others slower"]) == 8)
    claim(recalls["all others slower"].max(), at_most=0.1)
with says("so no score can exceed $4 \\cdot 4 / \\sqrt{16} = 4$"):
    watched = Watched(32, 2)
    queries, keys, _ = QKNorm(16)(*torch.randn(2, 1, 2, 50, 16), None)
    watched.attend_heads(queries, keys, keys)
    claim(watched.largest[0], at_most=4)
with says("In this run the largest score is about 20."):
    claim(largest["QK-norm, 0.1"][-1], 15, 25)
with says("Each head gives nearly all its weight to a single token."):
    task, *_ = examples(torch.Generator().manual_seed(1), 16, 64)
    most = train("plain", 0.1, seed=1, n=16)(*task)[1][:, :, -QUESTIONS:].max(dim=-1).values
    claim(most.mean(), at_least=0.99)
with says("the plain layer's scores grow into the\nthousands, and it recalls next to nothing"):
    claim(largest["plain, 0.1"][-1], at_least=1_000)
    claim(max(largest["QK-norm, 0.1"]) < max(largest["plain, 0.03"]))

# The sink.
with says("A layer trained without new keys gives it less than a quarter of its weight."):
    claim(new_keys(train("plain", 0.03, seed=0, n=4))["weight on the first token"], at_most=0.25)
with says("and its value is short, so little of it is passed on."):
    for seed in range(4):
        read = train("plain", 0.03, seed, n=4, unknown=0.5)
        new_keys(read)
        lengths = read.mhas[0].values.norm(dim=-1).mean(dim=(0, 1))
        claim(lengths[0] / lengths[1:5].mean(), at_most=0.5)
with says("It takes the weight off that token, from 0.68 down to 0.08."):
    for kind, weight in (("plain", 0.68), ("sink logit", 0.08)):
        found = FOUND[f"{kind}, first + pairs"][-1]["weight on the first token"]
        claim(found.mean(), weight - 0.005, weight + 0.005)
with says(
    "Where questions can attend to the pairs alone, a plain layer's loss for new keys is 8 times the loss with a sink logit after 300 steps, and still 3 times after 3,600. Where they can attend to the first token, too, it is twice the loss after 300 steps, and the same after 3,600 (means of eight seeds)."
):
    claim(all(len(each) == 8 for rows in FOUND.values() for each in rows))
    for read, times in (("pairs", (8, 10, 3)), ("first + pairs", (2, 1, 1))):
        both = losses[f"plain, {read}"], losses[f"sink logit, {read}"], times
        for plain, sink, n in zip(*both, strict=True):
            claim(plain / sink, n - 0.5 if n > 2 else n - 0.2, n + 0.5 if n > 2 else n + 0.2)
with says(
    "learns\nnew keys more slowly than one that also has the first token, or one with a\nsink logit."
):
    for each in ("plain, first + pairs", "sink logit, first + pairs", "sink logit, pairs"):
        for quick, slow in zip(losses[each], losses["plain, pairs"], strict=True):
            claim(quick / slow, at_most=0.5)
with says(
    "after 300 steps 0.99 of the answers for new keys are right, and 1.00 with a sink logit."
):
    asked, answers, fresh = pairs(torch.Generator().manual_seed(5), n=4, B=512, unknown=0.5)
    for kind, low, high in (("plain", 0.985, 0.995), ("sink logit", 0.995, 1)):
        shares = []
        for seed in range(3):
            trained = train(kind, 0.03, seed, texts=pairs, n=4, unknown=0.5)
            shares.append((trained(*asked)[0].argmax(-1) == answers)[fresh].float().mean())
        claim(sum(shares) / 3, low, high)
with says("A first token or a sink logit, even one fixed at 0, is enough."):

    def fixed():
        layer = SinkLogit(D, 2)
        layer.sink.requires_grad_(False)
        return layer

    KINDS["fixed"] = fixed
    found = [
        new_keys(train("fixed", 0.03, seed, texts=pairs, n=4, unknown=0.5), pairs)["loss"]
        for seed in range(8)
    ]
    claim(pd.Series(found).mean() / losses["sink logit, pairs"][0], at_most=1.1)
with says("it is `add_zero_attn=True` of PyTorch's layer"):
    ours = SinkLogit(D, 2)
    same = MultiHeadAttention(D, 2)
    ours.load_state_dict(same.state_dict(), strict=False)
    theirs = same.to_torch()
    theirs.add_zero_attn = True
    x, blocked = torch.randn(2, 5, D), torch.ones(5, 5).triu(1).bool()
    found, _ = ours(x, x, x, attn_mask=blocked)
    claim((found - theirs(x, x, x, attn_mask=blocked)[0]).abs().max(), at_most=1e-5)

# The gate.
with says("The gates close for new keys and stay open for others"):
    claim(gates[new].mean(), at_most=0.02)
    claim(gates[~new].mean(), at_least=0.8)
with says("so what such a head attends to for a new key is not passed on."), torch.no_grad():
    before = model(*inputs)[0].argmax(dim=-1)[new]
    hook = model.mhas[0].v_proj.register_forward_hook(lambda *of: of[-1].flip(1))  # others' values
    after = model(*inputs)[0].argmax(dim=-1)[new]
    hook.remove()
    claim((before == right[new]).float().mean(), at_least=0.99)
    claim((after == before).float().mean(), at_least=0.98)
with says("the loss for new keys falls, but for other keys it rises by more."):
    for seed in range(2):
        plain, gated = (
            F.cross_entropy(
                train(kind, 0.03, seed, texts=texts)(*inputs)[0].mT, right, reduction="none"
            )
            for kind in ("plain", "output gate")
        )
        falls = (plain[new].mean() - gated[new].mean()).item()
        claim(falls, at_least=0.0001)
        claim((gated[~new].mean() - plain[~new].mean()).item(), at_least=2 * falls)
