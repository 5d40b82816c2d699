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
    scores = silenced.sink.view(1, 2, 1, 1).expand(1, 2, 5, 1)
    more_k, more_v = (F.pad(each, (0, 0, 0, 1)) for each in (k, v))
    mask = torch.cat([added.expand(1, 2, 5, 5), scores], dim=-1)
    kernel = F.scaled_dot_product_attention(q, more_k, more_v, mask)
    claim((ours - kernel).abs().max(), at_most=1e-12)
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
with says("train at 0.03, where the plain layer, too, recalls more than 0.99?"):
    claim(kept("plain", 0.03).min(), at_least=0.99)
with says("with QK-norm they stay small, and\nit recalls all."):
    for lr in (0.01, 0.03, 0.1):
        claim(kept("QK-norm", lr).min(), at_least=0.99)
with says("at a rate of 0.3 it rescues three of eight."):
    claim((kept("QK-norm", 0.3) > 0.9).sum() == 3)
with says(
    "with a longer warm-up (of 90 steps), ten times the weight decay and clipped gradients the plain layer recalls more than 0.99 at this rate, too, in four of four runs."
):
    for seed in range(4):
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
        claim(recall(other.eval(), n=16), at_least=0.99)
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
with says(
    "Asked for a new key, a plain layer gives the first token 0.68 of its weight. With a sink logit it is 0.08, and all tokens together get 0.27 (means of eight seeds)."
):
    claim(all(len(kept_sinks(kind)) == 8 for kind in table))
    claim(table.loc["weight on the first token", "plain"], 0.675, 0.685)
    claim(table.loc["weight on the first token", "sink logit"], 0.075, 0.085)
    claim(table.loc["weight on all tokens", "sink logit"], 0.265, 0.275)
with says("The loss gains nothing, 0.0002 in both"):
    ends = table.loc["loss, first token visible"]
    claim(ends.min(), 0.00015, 0.00025)
    claim(ends.max(), 0.00015, 0.00025)
with says("Only where it is hidden does the sink logit help, 0.0003 against 0.0007."):
    hidden = {kind: kept_sinks(kind, first=False)["loss"] for kind in table}
    claim(all(len(each) == 8 for each in hidden.values()))
    claim(hidden["plain"].mean(), 0.00065, 0.00075)
    claim(hidden["sink logit"].mean(), 0.00025, 0.00035)
    claim((hidden["sink logit"] < hidden["plain"]).all())
with says("a layer trained without new keys does not do this."):
    claim(new_keys(train("plain", 0.03, seed=0, n=4))["weight on the first token"], at_most=0.25)
with says("Set the value of the first token to zero, and the loss is nearly as before"):
    claim(found["loss, first value at zero"] / found["loss"], 0.8, 1.3)
with says(
    "Set the values of the pairs to zero instead, and the loss of new keys falls almost to zero"
):
    claim(found["loss, values of pairs at zero"] < 0.15 * found["loss"])
with says("with sixteen pairs the plain layer, in one run, gives the first token 0.14.)"):
    sixteen = new_keys(train("plain", 0.03, seed=0, n=16, unknown=0.5), n=16)
    claim(sixteen["weight on the first token"], 0.13, 0.15)

# The gate.
with says(
    "With a mark on the questions for new keys, the plain layer gives the first token 1.00 of their weight; with an output gate it gives 0.30 (means of eight seeds)."
):
    plain, gated = (kept_sinks(kind, steps=300, marked=True) for kind in ("plain", "output gate"))
    claim(len(plain) == len(gated) == 8)
    claim(plain["weight on the first token"].min(), at_least=0.99)
    claim(gated["weight on the first token"].mean(), 0.25, 0.35)
    claim(gated["weight on the first token"].max(), at_most=0.7)
with says("The gates close for new keys and stay open for the others"):
    claim(new, at_most=0.05)
    claim(shown, at_least=0.6)
with says("The loss gains nothing here"):
    claim(plain["loss"].median() / gated["loss"].median(), 0.5, 1.5)
with says("the largest number at the first token is below 10 in all three layers."):

    @torch.no_grad()
    def largest_at_first(block, inputs):
        seen = []
        block.norms[1].register_forward_pre_hook(lambda _, x: seen.append(x[0][:, 0]))
        block.ffs[0].register_forward_hook(lambda *of: seen.append(seen[0] + of[-1][:, 0]))
        block(*inputs)
        return max(each.abs().max() for each in seen)

    inputs, *_ = examples(torch.Generator().manual_seed(1), 4, 64, unknown=0.5)
    for kind in ("plain", "sink logit", "output gate"):
        block = train(kind, 0.03, seed=0, n=4, unknown=0.5)
        claim(largest_at_first(block, inputs), at_most=10)
