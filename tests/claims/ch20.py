"""What chapter 20 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3

from tools.claims import claim, says
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
    causal, _ = silenced.attend_heads(q, k, v, None, is_causal=True)
    claim(torch.equal(causal, ours))
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
    claim(recalls["all else slower"].max(), at_most=0.1)
with says("At a rate of 0.03 the plain layer recalls more than 0.99, too"):
    claim(kept("plain", 0.03).min(), at_least=0.99)
with says("with QK-norm they stay small, and\nit recalls all."):
    for lr in (0.01, 0.03, 0.1):
        claim(kept("QK-norm", lr).min(), at_least=0.99)
with says("at 0.3 QK-norm rescues only three layers of eight."):
    claim((kept("QK-norm", 0.3) > 0.9).sum() == 3)
with says(
    "at 0.1 more than 0.95 with a longer warm-up (of 90 steps), ten times the weight decay and gradients clipped at 1, all together."
):
    for seed in range(8):
        torch.manual_seed(seed)
        draw, other = torch.Generator().manual_seed(seed), Model(KINDS["plain"]())
        optimizer = torch.optim.AdamW(other.parameters(), weight_decay=0.1)
        cycle = OneCycleLR(optimizer, 0.1, 300, pct_start=0.3)
        for _ in range(300):
            inputs, right, _ = examples(draw, 16)
            optimizer.zero_grad()
            F.cross_entropy(other(*inputs)[0].mT, right).backward()
            nn.utils.clip_grad_norm_(other.parameters(), 1)
            optimizer.step()
            cycle.step()
        claim(recall(other.eval(), n=16), at_least=0.95)
with says("and still five layers of eight recall less than half."):
    claim((recalls["scores capped at 20"] < 0.5).sum() == 5)
with says("no score exceeds 20, about what QK-norm reaches"):
    claim(largest["QK-norm, 0.1"][-1] / SoftCap.cap, 0.8, 1.2)
with says("so no score can exceed $4 \\cdot 4 / \\sqrt{16} = 4$"):
    watch = Watch(QKNorm(16))
    watch(*torch.randn(2, 1, 2, 50, 16), None)
    claim(watch.largest[0], at_most=4)
with says("Only the learnt scales can raise it, in this run to about 20."):
    claim(largest["QK-norm, 0.1"][-1], 15, 25)
with says(
    "In this run each head gives nearly all its weight to one token, in nearly every text the same one for all sixteen questions."
):
    task, *_ = examples(torch.Generator().manual_seed(1), 16, 64)
    most, read = train("plain", 0.1, seed=1, n=16)(*task)[1][:, :, -QUESTIONS:].max(dim=-1)
    claim(most.mean(), at_least=0.9)
    claim((read == read.mode(dim=-1, keepdim=True).values).float().mean(), at_least=0.9)
with says("the plain layer's scores grow into the\nthousands, and it recalls next to nothing"):
    claim(largest["plain, 0.1"][-1], at_least=1_000)
    claim(max(largest["QK-norm, 0.1"]) < max(largest["plain, 0.03"]))

# The sink.
with says("a layer trained without new keys gives it less than a quarter."):
    claim(new_keys(train("plain", 0.03, seed=0, n=4))["weight on the first token"], at_most=0.25)
with says(
    "its value is small, and with zeros in its place the loss in this run is nearly the same."
):
    read = train("plain", 0.03, seed=0, n=4, unknown=0.5)
    as_it_is, values = new_keys(read)["loss"], []
    with read.mhas[0].v_proj.register_forward_hook(lambda *of: values.append(of[-1].norm(dim=-1))):
        new_keys(read)
    claim(values[0][:, 0].mean() / values[0][:, 1:5].mean(), at_most=0.4)
    with read.mhas[0].v_proj.register_forward_hook(zero_first):
        claim(new_keys(read)["loss"] / as_it_is, 0.8, 1.3)
with says(
    "Asked for a new key, a plain layer gives the first token 0.68 of its weight. With a sink logit it is 0.08, and all tokens together get 0.27 (means of eight seeds)."
):
    plain, sink = READ.loc["plain"], READ.loc["sink logit"]
    claim(plain["weight on the first token"], 0.675, 0.685)
    claim(sink["weight on the first token"], 0.075, 0.085)
    claim(sink["weight on all tokens"], 0.265, 0.275)
with says(
    "Where the first token is hidden, a plain layer's loss for new keys is 8, 10 and 3 times the loss with a sink logit, after 300, 1,200 and 3,600 steps (means of eight seeds)."
):
    for steps, times in zip(STEPS, (8, 10, 3), strict=True):
        loss = LOSS[f"hidden, {steps} steps"]
        claim(loss["plain"] / loss["sink logit"], times - 0.5, times + 0.5)
with says("it serves nearly as well, and in the end the loss is the same."):
    early = LOSS["read, 300 steps"]
    claim(early["plain"] / early["sink logit"], at_most=2)
    claim(plain["loss"] / sink["loss"], 0.75, 1.33)
with says("(In our small block none grows huge.)"):

    @torch.no_grad()
    def largest_of(block, inputs):  # in the residual stream: at the first token, and elsewhere
        seen = []
        block.norms[1].register_forward_pre_hook(lambda _, x: seen.append(x[0]))
        block.ffs[0].register_forward_hook(lambda *of: seen.append(seen[0] + of[-1]))
        block(*inputs)
        sizes = torch.stack(seen).abs()
        return sizes[:, :, 0].max(), sizes[:, :, 1:].max()

    for kind in ("plain", "sink logit"):
        block = train(kind, 0.03, seed=0, n=4, unknown=0.5)
        drawn, *_ = examples(torch.Generator().manual_seed(1), 4, 64, unknown=0.5)
        first, others = largest_of(block, drawn)
        claim(first / others, at_most=1.5)

# The gate.
with says("Without the mark the gate is of no use."):
    claim(losses["no mark", "output gate"] / losses["no mark", "plain"], at_least=0.9)
with says("the gates close for new keys and stay open for others"):
    claim(gates[new].mean(), at_most=0.02)
    claim(gates[~new].mean(), at_least=0.8)
with says("and the loss is lower than the plain layer's"):
    claim(losses["mark", "output gate"] / losses["mark", "plain"], at_most=0.95)
with says("it no longer matters where such a head looks"):
    drawn, right, is_new = texts(torch.Generator().manual_seed(1), n=4, B=64, unknown=0.5)
    before = model(*drawn)[0].argmax(dim=-1)[is_new]
    hook = model.mhas[0].v_proj.register_forward_hook(lambda *of: of[-1].flip(1))  # others' values
    after = model(*drawn)[0].argmax(dim=-1)[is_new]
    hook.remove()
    claim((before == right[is_new]).float().mean(), at_least=0.99)
    claim((after == before).float().mean(), at_least=0.98)

# Both work in a layer that decodes.
with says("In the code a hook on `q_proj` computes the gates"):
    for Layer in (SinkLogit, OutputGate):
        grouped, cache = Layer(32, 4, num_kv_heads=2).eval(), KeyValueCache(9)
        tokens = torch.randn(2, 9, 32)
        parts = [grouped.decode(part, cache) for part in tokens.split([4, 3, 1, 1], dim=1)]
        whole, _ = grouped(tokens, tokens, tokens, is_causal=True)
        claim((torch.cat(parts, dim=1) - whole).abs().max(), at_most=1e-5)
