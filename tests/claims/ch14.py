"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

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
with says("and adds only what is missing."), torch.no_grad():
    delta, tokens = GatedDelta(D, 1), torch.randn(1, 9, D)
    how = {"need_weights": True, "is_causal": False}
    ours, _ = delta.attend(tokens, tokens, tokens, causal_mask(9, 9), **how)
    q, k, v = (project(tokens) for project in (delta.q_proj, delta.k_proj, delta.v_proj))
    keep, write = (delta.keep(tokens) + 4).sigmoid(), delta.write(tokens).sigmoid()
    qkv = (F.normalize(q, dim=-1), F.normalize(k, dim=-1), v)
    qkv = (each.view(1, 9, 1, D) for each in qkv)
    theirs, _ = modeling_qwen3_next.torch_recurrent_gated_delta_rule(*qkv, keep.log(), write)
    claim((ours - F.rms_norm(D**0.5 * theirs.view(1, 9, D), [D])).abs().max(), at_most=1e-4)

# QK-norm.
with says("The scores are many times larger, and the answers are guesses."):
    claim(of(at_once, "plain", "recall")[1], at_most=0.05)
with says(
    "At a rate of 0.1 most plain layers recall less than a tenth of the values; with QK-norm, or with a tenth of the rate for $W^Q$ and $W^K$ alone, all recall more than 0.99 (eight seeds)."
):
    claim((of(at_once, "plain", "recall") < 0.1).sum(), at_least=6)
    for kind in ("QK-norm", "plain, $W^Q$ and $W^K$ slower"):
        claim(len(of(at_once, kind, "recall")) == 8)
        claim(of(at_once, kind, "recall").min(), at_least=0.99)
    claim(of(at_once, "plain, all else slower", "recall").max(), at_most=1 / 3)
with says(
    "at 0.3 QK-norm fails, too. From here on the rate is 0.03, the best of the plain layer's four."
):
    claim(medians.loc["QK-norm", 0.3], at_least=1)
    claim(medians.loc["plain"].idxmin() == 0.03)

# The sink.
first = silent[(silent["steps"] == 300) & (silent["unknown"] == 0.5) & (silent["n"] == 4)]
with says(
    "After four pairs, asked for a new key, the plain layer puts 0.71 of its weight on the first token; with a sink logit, 0.13 (means of eight seeds)."
):
    claim(of(first, "plain", "first, new").mean(), 0.66, 0.76)
    claim(of(first, "sink logit", "first, new").mean(), 0.09, 0.18)
with says("Of what is left, nearly half is still the first token's."):
    share = of(first, "sink logit", "first, new") / of(first, "sink logit", "sum, new")
    claim(share.mean(), 0.4, 0.5)
with says("for a new key the weights sum to 0.29, for a shown one to 0.86."):
    claim(of(first, "sink logit", "sum, new").mean(), 0.24, 0.34)
    claim(of(first, "sink logit", "sum, shown").mean(), 0.83, 0.89)
with says("The gate leaves the weights as they are."):
    claim(of(first, "gate", "first, new").mean(), 0.62, 0.76)
with says("After sixteen pairs the first token gets 0.16, nearly three times an equal share."):
    claim(silent[silent["n"] == 16]["first, new"].mean(), 2.5 / 17, 0.17)
with says("and gives the first token 0.13, less than an equal share of five."):
    claim(silent[silent["unknown"] == 0]["first, new"].mean(), 0.10, 0.16)
with says("trained three times as long, all three layers recall more than 0.99."):
    claim(silent[silent["steps"] == 900]["recall"].min(), at_least=0.99)

# The state.
with says(
    "With a state of 256 numbers, one head with the gated delta rule recalls at least 0.92 of the last values; gated sums with 1,024, at most 0.78 (eight seeds)."
):
    claim(of(rows, "gated delta of 16", "recall")[-8:].min(), at_least=0.92)
    sums = [kept(STATE, ["gated sum"], H=1, **TASK)]
    sums += [kept(STATE, ["gated sum of 16"], H=4, **TASK, lr=lr) for lr in (0.015, 0.03)]
    claim(pd.concat(sums)["recall"].max(), at_most=0.78)
    for kind in ("gated delta", "gated sum"):  # at its best of three rates, by 400 steps
        short = {lr: kept(STATE, [kind], range(n), lr=lr, **{**TASK, "steps": 400, "H": 1}) for lr, n in ((0.01, 2), (0.03, 8), (0.1, 2))}  # fmt: skip
        claim(max(short, key=lambda lr: short[lr]["recall"].mean()) == 0.03)
with says(
    "Softmax attention (here with QK-norm and RoPE) keeps 1,088 numbers for the first token and these pairs, and 64 more for each pair that follows."
):
    claim(17 * 2 * D == 1_088 and 2 * D == 64)
with says("Softmax attention still recalls more, with a cache that grows."):
    claim(of(rows, "softmax", "recall").min() > rows[rows["kind"] != "softmax"]["recall"].max())

# Text.
at = {n: texts.pivot(index="seed", columns="layers", values=f"loss {n}") for n in (128, 512)}
with says("with the eight best its loss is 1.46, not 1.45; with the last eight, 1.50."):
    claim(loss["best"] == 1.46)
    claim(loss["last"] == 1.5)
    claim(at[128]["GGGG"].mean(), 1.445, 1.455)
with says("chooses far worse than a window."):
    claim(loss["best by signs"] - loss["last"], at_least=0.3)
with says("a third of the cache, loss 0.02 less (0.01 to 0.03); on 512 bytes 1.48, not 2.82"):
    claim(at[512]["WWWG"].mean(), 1.475, 1.485)
    claim((3 * 16 + 128) / (4 * 128), 0.325, 0.345)
    less = at[128]["GGGG"] - at[128]["WWWG"]
    low, high = stats.t.interval(0.95, 7, less.mean(), stats.sem(less))
    claim(less.mean(), 0.015, 0.025)
    claim(abs(low - 0.01) < 0.005 and abs(high - 0.03) < 0.005)
with says("it reads twice as far, then it is lost, too."):
    claim(curves.loc["PPPP", "256"] - curves.loc["PPPP", "128"], at_most=0.05)
    claim(curves.loc["PPPP", "352"], at_least=3)
with says("with windows of 16 in all layers it reads on, and nearly so in three of four."):
    claim(curves.loc["GGGG", "192"], at_least=2)
    claim(curves.loc["WWWW", "512"] < curves.loc["WWWW", "128"])
    claim(curves.loc["WWWG", "512"] - curves.loc["WWWG", "128"], at_most=0.15)
with says("and the loss creeps up from 1.41 to 1.53."):
    claim(curves.loc["WWWG", "128"], 1.405, 1.415)
    claim(curves.loc["WWWG", "512"], 1.525, 1.535)
with says("their loss on 512 bytes falls from 2.82 to 1.43 (eight seeds)."):
    claim(at[512]["GGGG"].mean(), 2.81, 2.825)
    claim(late, 1.425, 1.435)
with says("alone no help (2.79, not 2.82, on 512 bytes); among windows 1.43, not 1.48"):
    claim(at[512]["GGGN"].mean(), 2.785, 2.795)
    claim(at[512]["WWWN"].mean(), 1.425, 1.435)
    claim((at[512]["WWWN"] < at[512]["WWWG"]).all())
with says("The texts' learning rate is the best of three, but also the highest."):
    tried = [{"layers": a, "lr": lr, "steps": 1500, "keys": "as trained", "number": 0} for a in at[512] for lr in (0.002, 0.004, 0.008)]  # fmt: skip
    chosen = run_all(on_text, tried, range(8), "results/14-text.csv", "text")
    chosen = chosen.groupby(["layers", "lr"])["choice"].mean().unstack()
    claim((chosen.idxmin(axis=1) == 0.008).all())
