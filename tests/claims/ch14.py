"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

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
with (
    says("The fold gives the same for all tokens at once, by solving a triangular system:"),
    torch.no_grad(),
):
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
    "At a rate of 0.1 the plain layer recalls less than a third of the values; with QK-norm, or with $W^Q$ and $W^K$ slowed, more than 0.99 (each of eight seeds)."
):
    claim(of(rates[0.1], "plain", "recall").max(), at_most=1 / 3)
    claim(of(rates[0.1], "QK-norm", "recall").min(), at_least=0.99)
    claim(slow["recall"].min(), at_least=0.99)
    claim(len(slow) == len(rest) == 8)
with says("Slowing all else does not help, so it is $W^Q$ and $W^K$ that learn too fast."):
    claim(rest["recall"].max(), at_most=1 / 3)
with says("the best, or close to it, for every layer but QK-norm."):
    claim(min(rates, key=lambda lr: medians["plain", lr]) == 0.03)
    claim(min(rates, key=lambda lr: medians["QK-norm", lr]) == 0.1)
# The sink.
with says("With a sink logit it is 0.13 instead of 0.71; an equal share of five tokens is 0.20."):
    claim(of(silent, "plain", "first new").mean(), 0.66, 0.76)
    claim(of(silent, "sink logit", "first new").mean(), 0.09, 0.18)
with says("its rows sum to 0.35 for new keys, to 0.88 for shown (seed 0)."):
    claim(sums["sums"][0], 0.30, 0.40)
    claim(sums["sums"][1], 0.83, 0.93)
with says("the first model, which always found its key, has 0.13 too."):
    claim(of(silent, KNOWS, "first new").mean(), 0.10, 0.16)

# The state.
with says(
    "After 1,200 steps the gated delta rule recalls at least 0.96 of the last values with one head of 32, at most 0.88 with four of 8; a gated sum, at most 0.74."
):
    claim(again["delta, 1 × 32: 1,024"].min(), at_least=0.96)
    claim(again["delta, 4 × 8: 256"].max(), at_most=0.88)
    claim(again["sum, 1 × 32: 1,024"].max(), at_most=0.74)
with says("one head of 16 keeps as few numbers as four of 8, and recalls more;"):
    claim((again["delta, 1 × 16: 256"] - again["delta, 4 × 8: 256"]).min(), at_least=0.04)
with says("four of 16 are as wide, and recall more again."):
    gap = again["delta, 4 × 16: 1,024"] - again["delta, 1 × 16: 256"]
    claim(gap.min(), at_least=0.005)
with says("after 3,600 steps, 0.93 (one seed)."):
    longer = kept(STATE, ["gated delta"], range(1), H=4, **{**TASK, "steps": 3600})
    claim(longer["recall"].item(), 0.925, 0.94)
with says("Without order one can do no better than a key's commonest value (0.46, dashed)."):
    _, each, given = lesson(torch.Generator(), 16, B=10_000, again=True)[0]
    same = (each[:, 17:].unsqueeze(2) == each[:, 1:17].unsqueeze(1)).float()
    times = same @ F.one_hot(given[:, 1:17], 65).float()  # how often each value of the key came
    claim((times.amax(dim=2) / same.sum(dim=2)).mean(), 0.45, 0.465)
with says("Softmax attention recalls more than 0.99,"):
    claim(again["softmax: 1,088"].min(), at_least=0.99)

with says("What share of the last values will they recall?"):  # as `two_heads` has it
    two = kept(STATE, ["gated delta"], range(3), H=2, **TASK)["recall"]
    claim(two.min(), at_least=0.96)
    claim(two.max(), at_most=0.995)

# Text.
with says("Each pattern has the best of three learning rates, 0.008, the highest tried."):
    claim((rows["lr"] == 0.008).all())
with says(
    "At four times the training length the loss is 2.82 with RoPE in every layer, 1.48 with windows in three of four, and 1.42 with windows in all."
):
    claim(mean.loc["GGGG", "loss 512"], 2.81, 2.825)
    claim(mean.loc["WWWG", "loss 512"], 1.475, 1.485)
    claim(mean.loc["WWWW", "loss 512"], 1.415, 1.425)
    claim((rows["layers"].value_counts() == 8).all())
with says("In pieces of 128 these lie between 1.43 and 1.45."):
    claim(mean.loc[["GGGG", "WWWG", "WWWW"], "loss 128"].min(), at_least=1.425)
    claim(mean.loc[["GGGG", "WWWG", "WWWW"], "loss 128"].max(), at_most=1.455)
with says("the loss falls from 2.82 to 1.43 (seed 0), as low as after training with them."):
    plain = rows[(rows["layers"] == "GGGG") & (rows["seed"] == 0)]["loss 512"].item()
    claim(plain, 2.805, 2.825)
    claim(reread["loss"].item(), 1.42, 1.435)
    claim(reread["loss"].item() - mean.loc["WWWW", "loss 512"], -0.02, 0.02)
with says("One layer that looks further costs little, and least without positions (`WWWN`)."):
    by_seed = rows.pivot(index="seed", columns="layers", values="loss 512")
    claim((by_seed["WWWG"] - by_seed["WWWW"]).max(), at_most=0.12)
    claim((by_seed["WWWG"] - by_seed["WWWN"]).min(), at_least=0.03)  # in each seed
with says("RoPE on a quarter (`PPPP`) is not enough."):
    claim((mean["loss 512"] - mean["loss 128"])["PPPP"], at_least=0.9)
