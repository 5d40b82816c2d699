"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

import numpy as np
from scipy import stats
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_next import modeling_qwen3_next

from tools.claims import claim, says


def of(rows, kind, column):
    return rows[rows["kind"] == kind].sort_values("seed")[column].to_numpy()


# Equal to what libraries have.
with says("divides each query and each key by its root mean square"):
    norm, theirs = QKNorm(16).double(), modeling_qwen3.Qwen3RMSNorm(16).double()
    norm.q_scale.data, norm.k_scale.data = torch.randn(2, 16).double()
    theirs.weight.data = 1 + norm.q_scale.data
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
with says("PyTorch solves them all at once"), torch.no_grad():
    delta, tokens = GatedDelta(D, 1), torch.randn(1, 9, D)
    how = {"need_weights": True, "is_causal": False}
    ours, _ = delta.attend(tokens, tokens, tokens, causal_mask(9, 9), **how)
    q, k, v = (project(tokens)[0] for project in (delta.q_proj, delta.k_proj, delta.v_proj))
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    keep, write = (delta.keep(tokens) + 4).sigmoid(), delta.write(tokens).sigmoid()
    loop = gated_delta(q, k, v, keep.flatten(), write.flatten())
    claim((ours[0] - F.rms_norm(loop, (D,))).abs().max(), at_most=1e-5)
    qkv = (each.view(1, 9, 1, D) for each in (q, k, v))
    theirs, _ = modeling_qwen3_next.torch_recurrent_gated_delta_rule(*qkv, keep.log(), write)
    claim((loop - D**0.5 * theirs.view(9, D)).abs().max(), at_most=1e-5)

# QK-norm.
with says("The scores of the plain layer go into the thousands."):
    claim(largest_score(train("plain", lr=0.1, seed=0, n=16), n=16), 1_000, 10_000)
with says(
    "Trained for 300 steps at a learning rate of 0.1, the plain layer recalls less than a third of the values. It recalls more than 0.99 with QK-norm, or if only $W^Q$ and $W^K$ learn at a tenth of that rate (each of eight seeds)."
):
    claim(of(rates[0.1], "plain", "recall").max(), at_most=1 / 3)
    claim(of(rates[0.1], "QK-norm", "recall").min(), at_least=0.99)
    claim(slow["recall"].min(), at_least=0.99)
    claim(len(slow) == 8)
middle = {
    (kind, lr): np.median(of(r, kind, "loss"))
    for lr, r in rates.items()
    for kind in ("plain", "QK-norm")
}
with says(
    "at 0.1 its median loss is less than a tenth of the plain layer's at *its* best rate, 0.03."
):
    claim(min(rates, key=lambda lr: middle["plain", lr]) == 0.03)
    claim(min(rates, key=lambda lr: middle["QK-norm", lr]) == 0.1)
    claim(middle["QK-norm", 0.1] / middle["plain", 0.03], at_most=0.1)
with says("At 0.3 most seeds fail with QK-norm as well."):
    claim(of(rates[0.3], "plain", "recall").max(), at_most=0.1)
    claim(np.median(of(rates[0.3], "QK-norm", "recall")), at_most=0.1)

# The sink.
with says(
    "For a key that was not shown, a plain layer puts 0.71 of its weight on the first token if it has met such questions in training, and 0.13 if not. A layer with a sink logit that has met them puts 0.13 there (two heads, means of eight seeds)."
):
    claim(of(silent, "plain", "first new").mean(), 0.66, 0.76)
    claim(of(silent, KNOWS, "first new").mean(), 0.10, 0.16)
    claim(of(silent, "sink logit", "first new").mean(), 0.09, 0.18)
with says("the plain layer's loss almost triples, while that of the sink logit stays."):
    for kind, low, high in (("plain", 2.3, 3.0), ("sink logit", 0.7, 1.3)):
        claim(of(bare, kind, "loss").mean() / of(silent, kind, "loss").mean(), low, high)

# The state.
with says(
    "Trained for 1,200 steps, the gated delta rule recalls at least 0.96 of the last values with one head of 32 or with four heads of 16, and at most 0.88 with four heads of 8; a gated sum with one head of 32 recalls at most 0.74 (eight seeds each)."
):
    claim(again["delta, 1 × 32: 1,024"].min(), at_least=0.96)
    claim(again["delta, 4 × 16: 1,024"].min(), at_least=0.96)
    claim(again["delta, 4 × 8: 256"].max(), at_most=0.88)
    claim(again["sum, 1 × 32: 1,024"].max(), at_most=0.74)
with says("and recalls 0.93 to 0.97."):
    claim(again["delta, 1 × 16: 256"].min(), at_least=0.92)
    claim(again["delta, 1 × 16: 256"].max(), at_most=0.98)
with says("in one run of 3,600 steps, four heads of 8 reached 0.93."):
    claim(long["recall"][0], 0.925, 0.935)
with says("without order the best that a model can do is 0.44 (dashed)."):
    chances = stats.binom(15, 1 / 8).pmf(np.arange(16))
    claim((chances / np.arange(1, 17)).sum(), 0.435, 0.445)
with says("Softmax attention recalls more than 0.99,"):
    claim(again["softmax: 1,088"].min(), at_least=0.99)

# Text.
with says("In pieces of 128 all three beat a trigram, which counts what follows two bytes."):
    claim(rows.loc[[*PATTERNS], "loss 128"].max(), at_most=2.0)
    claim(rows.loc["trigram", "loss 128"], 2.065, 2.075)
with says(
    "In pieces of 512 the loss of `GGGG` is 2.76, worse than counting; that of `WWWG` stays at 1.65, with about a quarter of the cache."
):
    claim(rows.loc["GGGG", "loss 512"], 2.755, 2.765)
    claim(rows.loc["WWWG", "loss 512"], 1.645, 1.655)
    claim((512 + 3 * 16) / (4 * 512), 0.22, 0.28)
with says("On this text the layer that sees all is not even needed: `WWWW` has 1.61."):
    claim(rows.loc["WWWW", "loss 512"], 1.605, 1.615)
