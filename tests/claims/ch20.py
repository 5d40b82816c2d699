"""What chapter 20 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3

from tools.claims import claim, says
from utils.attention import causal_mask


def into_layer(model, ids):  # what the first layer gets, (B, T, D)
    return model.norms[0](sum(embed(i) for embed, i in zip(model.embed, ids, strict=True)))


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
    "At a rate of 0.1 most plain layers recall less than a tenth of the values; with QK-norm, or with a tenth of the rate for $W^Q$ and $W^K$ alone, all recall more than 0.99 (eight seeds)."
):
    claim((recalls["plain"] < 0.1).sum(), at_least=6)
    for kind in ("QK-norm", "W^Q and W^K slower"):
        claim(len(recalls[kind]) == 8)
        claim(recalls[kind].min(), at_least=0.99)
    claim(recalls["all else slower"].max(), at_most=1 / 3)
rates = pd.concat(kept(kind, lr) for kind in ("plain", "QK-norm") for lr in (0.01, 0.03, 0.1, 0.3))
medians = rates.groupby(["kind", "lr"])["loss"].median().unstack()
with says(
    "at 0.03, the best of four rates for the plain layer: after 300 steps its loss is 0.001 instead of 0.007 (medians)."
):
    claim(medians.loc["plain"].idxmin() == 0.03)
    claim(medians.loc["QK-norm", 0.03], 0.0005, 0.0015)
    claim(medians.loc["plain", 0.03], 0.0065, 0.0075)
with says("At 0.3 QK-norm, too, fails within 300 steps, in five seeds of eight."):
    claim((kept("QK-norm", 0.3)["recall"] < 0.5).sum() == 5)
with says("so no score is above $4 \\cdot 4 / \\sqrt{16} = 4$"):
    top = Scores()
    top(*QKNorm(16)(*torch.randn(2, 1, 2, 50, 16), None))
    claim(top.top[0], at_most=4)
with says("Only the learnt scales can raise it, in this run to about 20."):
    claim(tops["QK-norm, 0.1"][-1], 15, 25)
with says(
    "In this run each question gives nearly all its weight to one token, and all sixteen choose the same"
):
    task, *_ = examples(torch.Generator().manual_seed(1), 16, 64)
    most, read = train("plain", 0.1, seed=1, n=16)(*task)[1][:, :, -QUESTIONS:].max(dim=-1)
    claim(most.mean(), at_least=0.9)
    claim((read == read.mode(dim=-1, keepdim=True).values).float().mean(), at_least=0.9)
with says("the plain layer's scores grow into the\nthousands; with QK-norm they stay small."):
    claim(tops["plain, 0.1"][-1], at_least=1_000)
    claim(max(tops["QK-norm, 0.1"]) < max(tops["plain, 0.03"]))

# The sink.
with says(
    "the plain layer puts 0.71 of its weight on the first token; with a sink logit, 0.13 (means of eight seeds)."
):
    claim(silent["plain"]["first, new"].mean(), 0.66, 0.76)
    claim(silent["sink logit"]["first, new"].mean(), 0.09, 0.18)
with says(
    "with a sink logit the weights on all tokens sum to 0.29, and the first token still has nearly half of it."
):
    claim(silent["sink logit"]["sum, new"].mean(), 0.24, 0.34)
    left = silent["sink logit"][["first, new", "sum, new"]].mean()
    claim(left["first, new"] / left["sum, new"], 0.4, 0.5)
with says("less than an equal share (0.13 of five tokens)."):
    claim(rests("plain", unknown=0.0)["first, new"].mean(), 0.10, 0.16)
with says(
    "with sixteen pairs in the text the difference is smaller: 0.16, and 0.09 with a sink logit."
):
    claim(rests("plain", n=16)["first, new"].mean(), 0.15, 0.17)
    claim(rests("sink logit", n=16)["first, new"].mean(), 0.08, 0.10)
with says(
    "after 300 steps the loss is 0.011, and 0.006 with a sink logit, and both recall more than 0.99."
):
    claim(silent["plain"]["loss"].mean(), 0.0105, 0.0115)
    claim(silent["sink logit"]["loss"].mean(), 0.0055, 0.0065)
    claim(min(rows["recall"].min() for rows in silent.values()), at_least=0.99)
with (
    says("Training has made its value short (at first it is as long as the others)"),
    torch.no_grad(),
):
    claim(without / found["loss"], at_most=1.2)
    inputs, right, _ = examples(torch.Generator().manual_seed(10**6), 4, 256, unknown=0.5)
    torch.manual_seed(0)
    lengths = []
    for each in (model, Model(plain(D, 2))):
        length = each.mhas[0].v_proj(into_layer(each, inputs[1:])).norm(dim=-1).mean(dim=0)
        lengths.append(length[0] / length[1:5].mean())
    claim(lengths[0], at_most=0.5)
    claim(lengths[1], at_least=0.9)
with says("hide the token itself, and the loss is more than ten times as large."), torch.no_grad():
    inputs[0][-QUESTIONS:, 0] = True
    claim(F.cross_entropy(model(*inputs)[0].mT, right) / found["loss"], at_least=10)
with says("so its gate cannot know whether the key was shown.)"):
    gated = Model(Gated(D, 2)).requires_grad_(False)
    (_, keys, values), *_ = examples(torch.Generator().manual_seed(0), n=4, B=2)
    keys[:, -1] = keys[0, 1]  # shown in the first text
    gates = gated.mhas[0].gate(into_layer(gated, (keys, values)))[:, -1]
    claim(keys[0, 1] in keys[0, 1:5] and keys[0, 1] not in keys[1, 1:5])
    claim((gates[0] - gates[1]).abs().max(), at_most=1e-5)
with says("(With $z_h = 0$, not learnt, this is PyTorch's `add_zero_attn`.)"), torch.no_grad():
    silenced.double().sink.zero_()
    theirs = nn.MultiheadAttention(32, 2, add_zero_attn=True, batch_first=True).double()
    for name in ("q_proj", "k_proj", "v_proj"):
        getattr(silenced, name).weight.data = theirs.in_proj_weight.chunk(3)["qkv".index(name[0])]
        getattr(silenced, name).bias.data = theirs.in_proj_bias.chunk(3)["qkv".index(name[0])]
    silenced.out_proj.load_state_dict(theirs.out_proj.state_dict())
    x = torch.randn(2, 5, 32).double()
    blocked = ~causal_mask(5, 5)
    ours, _ = silenced(x, x, x, attn_mask=blocked)
    claim((ours - theirs(x, x, x, attn_mask=blocked)[0]).abs().max(), at_most=1e-9)
