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
with says("The scores go into the thousands, and most answers are wrong."):
    claim(largest_score(train("plain", lr=0.1, seed=0, n=16)), 1_000, 10_000)
with says(
    "At a rate of 0.1 the plain layer recalls less than a third of the values; with QK-norm, or with only $W^Q$ and $W^K$ slowed, more than 0.99 (eight seeds)."
):
    claim(of(rates[0.1], "plain", "recall").max(), at_most=1 / 3)
    claim(of(rates[0.1], "QK-norm", "recall").min(), at_least=0.99)
    claim(slow["recall"].min(), at_least=0.99)
    claim(rest["recall"].max(), at_most=1 / 3)
    claim(len(slow) == len(rest) == 8)
with says("Slowed as much, $W^Q$ keeps the size it began with."):
    for model in (Model(KINDS["plain"](2)), train("plain", 0.1, seed=0, n=16, qk=0.03)):
        claim(model.mhas[0].q_proj.weight.norm(), 5, 7)
with says("From here on, the rate in these lessons is 0.03, the plain layer's best of four."):
    claim(min(rates, key=lambda lr: medians["plain", lr]) == 0.03)

# The sink.
with says(
    "Asked for a new key, the plain layer puts 0.71 of its weight on the first token; with a sink logit, 0.13 (means of eight seeds)."
):
    sinks = silent[silent["unknown"] == 0.5]
    claim(of(sinks, "plain", "first, new").mean(), 0.66, 0.76)
    claim(of(sinks, "sink logit", "first, new").mean(), 0.09, 0.18)
with says("for a new key the weights sum to 0.29, for a shown one to 0.86."):
    claim(of(sinks, "sink logit", "sum, new").mean(), 0.24, 0.34)
    claim(of(sinks, "sink logit", "sum, shown").mean(), 0.83, 0.89)
with says("and it gives the first token 0.13, too."):
    claim(silent[silent["unknown"] == 0]["first, new"].mean(), 0.10, 0.16)

with says("no help at this size: the first token gets 0.67, not 0.71"):
    claim(pd.read_csv("results/14-gate.csv", comment="#")["first, new"].mean(), 0.665, 0.685)
    claim(gated.mean() > of(sinks, "plain", "loss").mean())

# The state.
with says(
    "With a state of 256 numbers, one head with the gated delta rule recalls at least 0.92 of the last values; gated sums with 1,024, at most 0.78 (eight seeds)."
):
    one_head = rows[rows["memory"].str.startswith("256 numbers: 1")]
    claim(one_head["recall"].min(), at_least=0.92)
    claim(rows[rows["layer"] == "gated sum"]["recall"].max(), at_most=0.78)
    for kind in ("gated delta", "gated sum"):  # at its best of three rates, by 400 steps
        short = {lr: kept(STATE, [kind], range(n), lr=lr, **{**TASK, "steps": 400, "H": 1}) for lr, n in ((0.01, 2), (0.03, 8), (0.1, 2))}  # fmt: skip
        claim(max(short, key=lambda lr: short[lr]["recall"].mean()) == 0.03)
with says("and recall less than one head of 16: the width counts as well."):
    four_heads = rows[rows["memory"].str.startswith("256 numbers: 4")]
    claim(four_heads["recall"].max() < one_head["recall"].min())
with says("Softmax attention (with QK-norm and RoPE) recalls more than 0.99,"):
    claim(softmax.min(), at_least=0.99)

# Text.
at = {n: texts.pivot(index="seed", columns="layers", values=f"loss {n}") for n in (128, 512)}
with says("a third of the cache, loss 0.02 less on 128 bytes (0.01 to 0.03)"):
    claim((3 * 16 + 128) / (4 * 128), 0.325, 0.345)
    less = at[128]["GGGG"] - at[128]["WWWG"]
    low, high = stats.t.interval(0.95, 7, less.mean(), stats.sem(less))
    claim(less.mean(), 0.015, 0.025)
    claim(abs(low - 0.01) < 0.005 and abs(high - 0.03) < 0.005)
by_place = texts.groupby("layers")[[str(end) for end in ends]].mean()
with says("`PPPP` reads twice as far as in training, then it is lost"):
    claim(by_place.loc["PPPP", "256"] - by_place.loc["PPPP", "128"], at_most=0.05)
    claim(by_place.loc["PPPP", "352"], at_least=3)
with says("GGGG is soon lost beyond them, and PPPP beyond 288"):
    claim(by_place.loc["GGGG", "192"], at_least=2)
    claim(by_place.loc["PPPP", "288"], at_most=1.5)
    claim(by_place.loc["PPPP", "320"], at_least=2)
with says("`GGGN` has 2.79, not 2.82; `WWWN` 1.43, but `WWWW` 1.42"):
    for pattern, told in (("GGGN", 2.79), ("WWWN", 1.43), ("WWWW", 1.42)):
        claim(at[512][pattern].mean(), told - 0.0051, told + 0.0051)
with says("on 512 bytes `WWWG` has a loss of 1.48, and `GGGG` 2.82."):
    claim(at[512]["GGGG"].mean(), 2.81, 2.825)
    claim(at[512]["WWWG"].mean(), 1.475, 1.485)
with says("and its loss falls to 1.43 (one model)."):
    claim(at[512]["GGGG"][0], at_least=2.8)
    claim(reread, 1.42, 1.435)
with says("The texts' learning rate is the best of three, but also the highest,"):
    tried = [{"layers": a, "lr": lr, "steps": 1500} for a in patterns for lr in (0.002, 0.004, 0.008)]  # fmt: skip
    chosen = run_all(on_text, tried, range(8), "results/14-text.csv", "text")
    chosen = chosen.groupby(["layers", "lr"])["choice"].mean().unstack()
    claim((chosen.idxmin(axis=1) == 0.008).all())
