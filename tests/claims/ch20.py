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
    by_hand = (q @ k.mT / 16**0.5 + added).exp()  # as the formula says
    by_hand = by_hand / (silenced.sink.exp().view(-1, 1, 1) + by_hand.sum(-1, keepdim=True))
    claim((ours - by_hand @ v).abs().max(), at_most=1e-12)
    like = SimpleNamespace(sinks=silenced.sink, num_key_value_groups=1, training=False)
    theirs, _ = modeling_gpt_oss.eager_attention_forward(like, q, k, v, added, 16**-0.5)
    claim((ours - theirs.transpose(1, 2)).abs().max(), at_most=1e-6)

# QK-norm.
with says(
    "Trained for 300 steps at a rate of 0.1, the plain layer recalls less than 0.2 of the values in all eight runs. With QK-norm it recalls more than 0.99 in all eight."
):
    plain, normed = recalls("plain", 0.1), recalls("QK-norm", 0.1)
    claim(len(plain) == len(normed) == 8)
    claim(plain.max() < 0.2)
    claim(normed.min(), at_least=0.99)
with says("if only $W^Q$ and $W^K$ learn at a tenth of that rate"):

    def slow_recall(seed):
        torch.manual_seed(seed)
        draw, each = torch.Generator().manual_seed(seed), Model(MultiHeadAttention(D, 2))
        slow, others = [], []
        for name, parameter in each.named_parameters():
            is_slow = "q_proj" in name or "k_proj" in name
            (slow if is_slow else others).append(parameter)
        optimizer = torch.optim.AdamW([{"params": others}, {"params": slow}])
        cycle = OneCycleLR(optimizer, [0.1, 0.01], 300, pct_start=0.1)
        assert len(slow) in (2, 4)
        for _ in range(300):
            asked, right, _ = examples(draw, n=16)
            optimizer.zero_grad()
            F.cross_entropy(each(*asked)[0].mT, right).backward()
            optimizer.step()
            cycle.step()
        return recall(each.eval(), n=16)

    for seed in range(8):
        claim(slow_recall(seed), at_least=0.99)
with says("At 0.03 the plain layer also recalls more than 0.99."):
    claim(recalls("plain", 0.03).min(), at_least=0.99)
with says("at 0.3 most runs fail"):
    claim((recalls("QK-norm", 0.3) < 0.5).sum() >= 5)
with says("with QK-norm they stay small, and\nit recalls all."):
    for lr in (0.01, 0.03, 0.1):
        claim(recalls("QK-norm", lr).min(), at_least=0.99)
with says("so no score can exceed $4 \\cdot 4 / \\sqrt{16} = 4$"):
    layer = Watched(32, 2)
    queries, keys, _ = QKNorm(16)(*torch.randn(2, 1, 2, 50, 16), None)
    layer.attend_heads(queries, keys, keys, torch.ones(50, 50).bool())
    claim(layer.largest[0], at_most=4)
with says("In this run they raise it to more than 19."):
    scales = watched["QK-norm, 0.1"].mhas[0].positions
    claim(4 * (scales.q_norm.weight * scales.k_norm.weight).abs().max(), at_least=19)
with says("the plain layer's scores grow into the\nthousands, and it recalls next to nothing"):
    claim(largest["plain, 0.1"][-1], at_least=1_000)
    claim(max(largest["QK-norm, 0.1"]) < max(largest["plain, 0.03"]))

# The sink.
with says("Asked for a new key, the layer gives most of the weight to the first token."):
    for seed in range(4):
        read = train("plain", 0.03, seed, n=4, unknown=0.5)
        claim(new_keys(read)["weight on the first token"], at_least=0.5)
with says("On our task this works equally well."):

    def fixed():
        layer = SinkLogit(D, 2)
        layer.sink.requires_grad_(False)
        return layer

    KINDS["fixed"] = fixed
    task = {"place": "pairs", "n": 4, "unknown": 0.5}
    found = pd.DataFrame(
        new_keys(train("fixed", 0.03, seed, 300, questions, **task), "pairs") for seed in range(8)
    )
    for name in ("loss for new keys", "loss for shown keys"):
        learnt = FOUND["pairs", "sink logit"][name].mean()
        claim(found[name].mean() / learnt, at_most=1.1)
with says(
    "a sink logit divides the loss for new keys by eight, from 0.031 to 0.004. If they may also attend to the first token, it halves the loss; if they may attend to themselves, it does not help (300 steps, means of eight seeds)."
):
    claim(all(len(rows) == 8 for rows in FOUND.values()))
    new = {each: rows["loss for new keys"].mean() for each, rows in FOUND.items()}
    for kind, loss in (("plain", 0.031), ("sink logit", 0.004)):
        claim(new["pairs", kind], loss - 0.0005, loss + 0.0005)
    for place, least, most in (
        ("pairs", 1 / 8.5, 1 / 7.5),
        ("first token", 0.45, 0.55),
        ("itself", 1.0, 2.0),
    ):
        claim(new[place, "sink logit"] / new[place, "plain"], least, most)
with says("All these models answer nearly all questions correctly"):
    inputs, right, _ = questions(torch.Generator().manual_seed(1), "pairs", n=4, B=256, unknown=0.5)
    hardest = train("plain", 0.03, 0, 300, questions, **task)
    claim((hardest(*inputs)[0].argmax(-1) == right).float().mean(), at_least=0.98)
with says("it is 0.029 without a sink logit and 0.007 with one."):
    for kind, loss in (("plain", 0.029), ("sink logit", 0.007)):
        found = FOUND["pairs", kind]["loss for shown keys"].mean()
        claim(found, loss - 0.0005, loss + 0.0005)
with says("after 900 its loss for new keys is 0.004."):
    later = losses("plain", "pairs", 900)["loss for new keys"].mean()
    claim(later, 0.0035, 0.0045)
    claim(later / new["pairs", "sink logit"], 0.8, 1.2)
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
with says("the loss is that of the plain layer."):
    name = "loss for new keys"
    apart = losses("output gate", "pairs")[name] - FOUND["pairs", "plain"][name]
    claim(len(apart) == 8)
    claim(abs(apart.mean()) < 2.4 * apart.std() / 8**0.5)
