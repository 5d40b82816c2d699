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
with says("as if one more key came with a value of zero"):
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
with says("so no score can exceed $4 \\cdot 4 / \\sqrt{16} = 4$"):
    watch = QKNorm(16)
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
    "the plain layer puts 0.71 of its weight on the first token; with a sink logit, 0.13 (means of eight seeds)."
):
    claim(table.loc["first token", "plain"], 0.66, 0.76)
    claim(table.loc["first token", "sink"], 0.09, 0.18)
with says("with a sink logit the weights on all tokens sum to 0.29."):
    claim(table.loc["all tokens", "sink"], 0.24, 0.34)
with says("a layer trained without new keys does not do this."):
    claim(never, at_most=0.25)
with says("Set its value to zero, and the loss is nearly as before"):
    each = kept_sinks("plain")
    claim(each["loss, value zero: first"].mean() / each["loss"].mean(), 0.8, 1.3)
with says(
    "Set the values of the pairs to zero instead, and the loss of new keys falls almost to zero"
):
    claim((each["loss, value zero: pairs"] < 0.15 * each["loss"]).all())
with says("its loss for new keys is 0.031; with a sink logit it is 0.004."):
    claim(table.loc["loss, hidden", "plain"], 0.028, 0.034)
    claim(table.loc["loss, hidden", "sink"], 0.003, 0.005)
    hidden = {kind: kept_sinks(kind, first=False)["loss"] for kind in ("plain", "sink logit")}
    claim((hidden["sink logit"] < hidden["plain"]).all())

with says("(The logit need not be learnt: fixed at 0, this loss is as low."):
    claim(kept_sinks("sink at 0", first=False)["loss"].mean(), 0.003, 0.005)

# The gate.
with says("The gate does not help here, and cannot"):
    claim(kept_sinks("output gate")["first token"].min(), at_least=0.5)
    gated = kept_sinks("output gate", first=False)["loss"]
    claim((gated > hidden["sink logit"]).all())
with says("with sixteen pairs the plain layer, in one run, gives the first token 0.14.)"):
    sixteen = new_keys(train("plain", 0.03, seed=0, n=16, unknown=0.5), n=16)
    claim(sixteen["first token"], 0.13, 0.15)
with says("With the mark the gates close for new keys, and stay open for the others."):
    claim(new, at_most=0.05)  # with the mark, the last run of the cell
    claim(shown, at_least=0.6)
