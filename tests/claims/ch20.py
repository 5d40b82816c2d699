"""What chapter 20 says, asserted (see `tools/claims.py`)."""

from types import SimpleNamespace

from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3

from tools.claims import claim, says
from utils.attention import causal_mask


def of(rows, kind, column):
    return rows[rows["kind"] == kind].sort_values("seed")[column].to_numpy()


# Equal to what libraries have.
with says("divides each query and each key by its root mean square"):
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
    claim((of(at_once, "plain", "recall") < 0.1).sum(), at_least=6)
    for kind in ("QK-norm", "plain, $W^Q$ and $W^K$ slower"):
        claim(len(of(at_once, kind, "recall")) == 8)
        claim(of(at_once, kind, "recall").min(), at_least=0.99)
    claim(of(at_once, "plain, all else slower", "recall").max(), at_most=1 / 3)
with says(
    "Dividing by 32 saves them as well, but QK-norm ends at a lower loss (in all eight seeds)."
):
    claim(of(at_once, "scores / 32", "recall").min(), at_least=0.99)
    claim((of(at_once, "QK-norm", "loss") < of(at_once, "scores / 32", "loss")).all())
with says("At 0.3 QK-norm fails, too, in five seeds of eight."):
    claim((of(rates[rates["lr"] == 0.3], "QK-norm", "recall") < 0.5).sum() == 5)
with says("From here on the rate is 0.03, the best of the plain layer's four."):
    claim(medians.loc["plain"].idxmin() == 0.03)

# The sink.
first = silent[(silent["unknown"] == 0.5) & (silent["n"] == 4)]
with says(
    "the plain layer puts 0.71 of its weight on the first token; with a sink logit, 0.13 (means of eight seeds)."
):
    claim(of(first, "plain", "first, new").mean(), 0.66, 0.76)
    claim(of(first, "sink logit", "first, new").mean(), 0.09, 0.18)
with says("for a new key the weights sum to 0.29, for a shown one to 0.86."):
    claim(of(first, "sink logit", "sum, new").mean(), 0.24, 0.34)
    claim(of(first, "sink logit", "sum, shown").mean(), 0.83, 0.89)
with says("so its gate is the same whether its key was shown or not."):
    KINDS["gate"] = lambda H: Gated(D, H)
    gated = train("gate", 0.03, seed=0, steps=20, n=4, unknown=0.5).requires_grad_(False)
    (_, keys, values), *_ = examples(torch.Generator().manual_seed(0), n=4, B=2)
    keys[:, -1] = keys[0, 1]  # shown in the first text
    x = sum(embed(ids) for embed, ids in zip(gated.embed, (keys, values), strict=True))
    gates = gated.mhas[0].gate(gated.norms[0](x))[:, -1]
    claim(keys[0, 1] in keys[0, 1:5] and keys[0, 1] not in keys[1, 1:5])
    claim((gates[0] - gates[1]).abs().max(), at_most=1e-5)
with says("After sixteen pairs the first token gets 0.16, nearly three times an equal share."):
    claim(silent[silent["n"] == 16]["first, new"].mean(), 2.5 / 17, 0.17)
with says("and gives the first token 0.13, less than an equal share of five."):
    claim(silent[silent["unknown"] == 0]["first, new"].mean(), 0.10, 0.16)
with says("With a sink logit the loss is 0.006, not 0.011, but all recall more than 0.99."):
    claim(of(first, "sink logit", "loss").mean(), 0.0055, 0.0065)
    claim(of(first, "plain", "loss").mean(), 0.0105, 0.0115)
    claim(first["recall"].min(), at_least=0.99)
with says("and its value hardly counts"):
    claim(without / found["loss"], at_most=1.2)
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
