"""What chapter 20 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3

from tools.claims import claim, says
from utils.attention import causal_mask
from utils.cache import KeyValueCache

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
    weights = (q @ k.mT / 16**0.5 + added).exp()  # as the formula says
    weights = weights / (silenced.sink.exp().view(-1, 1, 1) + weights.sum(-1, keepdim=True))
    claim((ours - weights @ v).abs().max(), at_most=1e-12)
    like = SimpleNamespace(sinks=silenced.sink, num_key_value_groups=1, training=False)
    theirs, _ = modeling_gpt_oss.eager_attention_forward(like, q, k, v, added, 16**-0.5)
    claim((ours - theirs.transpose(1, 2)).abs().max(), at_most=1e-6)

# QK-norm.
with says(
    "At a rate of 0.1 most plain layers recall less than a tenth of the values. With QK-norm all recall more than 0.99, and so do plain layers in which only $W^Q$ and $W^K$ learn more slowly (eight seeds)."
):
    claim((recalls["plain"] < 0.1).sum(), at_least=5)
    for name in ("QK-norm", "W^Q, W^K slower"):
        claim(len(recalls[name]) == 8)
        claim(recalls[name].min(), at_least=0.99)
with says("At a rate of 0.03 the plain layer recalls more than 0.99, too"):
    claim(kept("plain", 0.03).min(), at_least=0.99)
with says("with QK-norm they stay small, and\nit recalls all."):
    for lr in (0.01, 0.03, 0.1):
        claim(kept("QK-norm", lr).min(), at_least=0.99)
with says("at 0.3 QK-norm rescues only three layers of eight."):
    claim((kept("QK-norm", 0.3) > 0.9).sum() == 3)
with says("five layers of eight recall less than half"):
    claim((recalls["scores capped at 20"] < 0.5).sum() == 5)
with says("capped at 20, about what QK-norm reaches"):
    claim(largest["QK-norm, 0.1"][-1] / SoftCap.cap, 0.8, 1.2)
with says("so no score can exceed $4 \\cdot 4 / \\sqrt{16} = 4$"):
    watch = Watch(QKNorm(16))
    watch(*torch.randn(2, 1, 2, 50, 16), None)
    claim(watch.largest[0], at_most=4)
with says("Only the learnt scales can raise it, in this run to about 20."):
    claim(largest["QK-norm, 0.1"][-1], 15, 25)
with says(
    "In this run each head gives nearly all its weight to one token, and in nearly every text all sixteen questions look at the same one."
):
    task, *_ = examples(torch.Generator().manual_seed(1), 16, 64)
    most, read = train("plain", 0.1, seed=1, n=16)(*task)[1][:, :, -QUESTIONS:].max(dim=-1)
    claim(most.mean(), at_least=0.9)
    claim((read == read.mode(dim=-1, keepdim=True).values).float().mean(), at_least=0.9)
with says("the plain layer's scores grow into the\nthousands, and it recalls next to nothing"):
    claim(largest["plain, 0.1"][-1], at_least=1_000)
    claim(max(largest["QK-norm, 0.1"]) < max(largest["plain, 0.03"]))

# The sink.
with says("a layer trained without new keys gives it less than a quarter of its weight."):
    claim(new_keys(train("plain", 0.03, seed=0, n=4))["weight on the first token"], at_most=0.25)
with says("with zeros in place of its value the loss in this run is nearly the same."):
    changes = []
    for seed in range(4):
        read = train("plain", 0.03, seed, n=4, unknown=0.5)
        as_it_is, v_proj = new_keys(read)["loss"], read.mhas[0].v_proj
        with v_proj.register_forward_hook(zero_first):
            changes.append(new_keys(read)["loss"] / as_it_is)
    claim(changes[0], 0.9, 1.1)
with says("(In others it is up to 40% higher.)"):
    claim(max(changes), 1, 1.4)
with says(
    "Asked for a new key, a plain layer gives the first token 0.68 of its weight. With a sink logit it is 0.08, and all tokens together get 0.27 (after 3,600 steps; means of eight seeds)."
):
    claim(READ["plain"]["weight on the first token"], 0.675, 0.685)
    claim(READ["sink logit"]["weight on the first token"], 0.075, 0.085)
    claim(READ["sink logit"]["weight on all tokens"], 0.265, 0.275)
ends = {name: [each["loss"].mean() for each in rows] for name, rows in FOUND.items()}
with says(
    "Where questions can read nothing but the pairs, a plain layer's loss for new keys is 8, 10 and 3 times the loss with a sink logit, after 300, 1,200 and 3,600 steps (means of eight seeds)."
):
    claim(all(len(each) == 8 for rows in FOUND.values() for each in rows))
    for plain, sink, times in zip(ends["plain"], ends["sink logit"], (8, 10, 3), strict=True):
        claim(plain / sink, times - 0.5, times + 0.5)
with says("(In accuracy the gap is small: 0.99 against 1.00 after 300 steps.)"):
    claim(FOUND["plain"][0]["accuracy"].mean(), 0.985, 0.995)
    claim(FOUND["sink logit"][0]["accuracy"].mean(), at_least=0.995)
with says("which in the end does better still"):
    claim(ends["plain, itself readable"][-1] / ends["sink logit"][-1], at_most=0.75)
with says("With a sink logit it does not, nor with another\ntoken that its questions can read."):
    for name in ("plain, itself readable", "plain, first token readable", "sink logit"):
        for found, slower in zip(FOUND[name], FOUND["plain"], strict=True):
            claim(found["loss"].mean() / slower["loss"].mean(), at_most=0.5)
with says("or a sink logit, here even one fixed at 0."):

    def fixed():
        layer = SinkLogit(D, 2)
        layer.sink.requires_grad_(False)
        return layer

    KINDS["fixed"] = fixed
    found = [
        new_keys(train("fixed", 0.03, seed, texts=pairs, n=4, unknown=0.5), pairs)["loss"]
        for seed in range(8)
    ]
    claim(pd.Series(found).mean() / ends["sink logit"][0], at_most=1.1)
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
with says("without which the plain layer's loss is 0.037 and a gate is of no use"):
    plain, gated = (
        new_keys(train(kind, 0.03, 0, texts=pairs, n=4, unknown=0.5), pairs)["loss"]
        for kind in ("plain", "output gate")
    )
    claim(plain, 0.0365, 0.0375)
    claim(gated / plain, at_least=0.9)
with says("The gates close for new keys and stay open for others"):
    claim(gates[new].mean(), at_most=0.02)
    claim(gates[~new].mean(), at_least=0.8)
with says("the gate adds some, about as much as a sink logit."):
    claim(losses["output gate"] / losses["plain"], at_most=0.95)
    claim(losses["output gate"] / losses["sink logit"], 0.75, 1.33)
with says("so what such a head reads for a new key is no longer passed on."):
    drawn, right, is_new = texts(torch.Generator().manual_seed(1), n=4, B=64, unknown=0.5)
    before = model(*drawn)[0].argmax(dim=-1)[is_new]
    hook = model.mhas[0].v_proj.register_forward_hook(lambda *of: of[-1].flip(1))  # others' values
    after = model(*drawn)[0].argmax(dim=-1)[is_new]
    hook.remove()
    claim((before == right[is_new]).float().mean(), at_least=0.99)
    claim((after == before).float().mean(), at_least=0.98)

with says("In the code a hook on `q_proj` computes the gates"):  # so it works in `decode`, too
    grouped, cache = OutputGate(32, 4, num_kv_heads=2).eval(), KeyValueCache(9)
    tokens = torch.randn(2, 9, 32)
    parts = [grouped.decode(part, cache) for part in tokens.split([4, 3, 1, 1], dim=1)]
    whole, _ = grouped(tokens, tokens, tokens, is_causal=True)
    claim((torch.cat(parts, dim=1) - whole).abs().max(), at_most=1e-5)
