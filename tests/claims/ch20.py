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
    "Trained at a rate of 0.1, the plain layer recalls less than a tenth of the values in seven of eight runs. With QK-norm it recalls more than 0.99 of them in all eight."
):
    plain, normed = recalls("plain", 0.1), recalls("QK-norm", 0.1)
    claim(len(plain) == len(normed) == 8 and (plain < 0.1).sum() == 7)
    claim(normed.min(), at_least=0.99)
with says("But at 0.03 the plain layer, too, recalls more than 0.99."):
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
with says("Each head now gives nearly all its weight to a single token"):
    task, *_ = examples(torch.Generator().manual_seed(1), 16, 64)
    most = train("plain", 0.1, seed=1, n=16)(*task)[1][:, :, -QUESTIONS:].max(dim=-1).values
    claim(most.mean(), at_least=0.99)
with says("the plain layer's scores grow into the\nthousands, and it recalls next to nothing"):
    claim(largest["plain, 0.1"][-1], at_least=1_000)
    claim(max(largest["QK-norm, 0.1"]) < max(largest["plain, 0.03"]))

# The sink.
with says(
    "In training most of the weight went to the first token, and the value of this token shrank"
):
    for seed in range(4):
        read = train("plain", 0.03, seed, n=4, unknown=0.5)
        claim(new_keys(read)["weight on the first token"], at_least=0.5)
        lengths = read.mhas[0].values.norm(dim=-1).mean(dim=(0, 1))
        torch.manual_seed(seed)
        before = Model(Watched(D, 2))
        new_keys(before)
        claim(lengths[0] / before.mhas[0].values.norm(dim=-1).mean(dim=(0, 1))[0], at_most=0.5)
with says("the token gets 0.08 of the weight for new keys instead of 0.68."):
    for kind, weight in (("plain", 0.68), ("sink logit", 0.08)):
        weights = FOUND[kind, True, 3600]["weight on the first token"]
        claim(weights.mean(), weight - 0.005, weight + 0.005)
with says(
    "Without the first token, a plain layer's loss after 300 steps is 8 times that of a layer with a sink logit for new keys, and 4 times for other keys; with the first token it is twice as high for both. After 3,600 steps only one gap remains: for new keys without the first token, where it is 3 times as high (means of eight seeds)."
):
    claim(all(len(each) == 8 for each in FOUND.values()))
    for first, steps, *both in (
        (False, 300, 8, 4),
        (True, 300, 2, 2),
        (False, 3600, 3, 1),
        (True, 3600, 1, 1),
    ):
        for keys, times in zip(("new", "other"), both, strict=True):
            plain, sink = (
                FOUND[kind, first, steps][f"loss for {keys} keys"].mean()
                for kind in ("plain", "sink logit")
            )
            near = 0.5 if times > 2 else 0.2 if keys == "new" else 0.25
            claim(plain / sink, times - near, times + near)
with says(
    "0.99 of the plain layer's answers for new keys are right after 300 steps, against 1.00."
):
    asked, answers, fresh = no_first(torch.Generator().manual_seed(5), n=4, B=512, unknown=0.5)
    for kind, low, high in (("plain", 0.985, 0.995), ("sink logit", 0.995, 1)):
        shares = []
        for seed in range(3):
            trained = train(kind, 0.03, seed, texts=no_first, n=4, unknown=0.5)
            shares.append((trained(*asked)[0].argmax(-1) == answers)[fresh].float().mean())
        claim(sum(shares) / 3, low, high)
with says("A sink logit is such a place from the start, even if it is fixed at 0."):

    def fixed():
        layer = SinkLogit(D, 2)
        layer.sink.requires_grad_(False)
        return layer

    KINDS["fixed"] = fixed
    found = [
        new_keys(train("fixed", 0.03, seed, texts=no_first, n=4, unknown=0.5), no_first)
        for seed in range(8)
    ]
    for name in ("loss for new keys", "loss for other keys"):
        claim(
            pd.DataFrame(found)[name].mean() / FOUND["sink logit", False, 300][name].mean(),
            at_most=1.1,
        )
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
with says("after 300 steps the loss is higher than without a gate."):
    for name in columns:
        claim(
            losses("output gate", False, 300)[name].mean()
            / losses("plain", False, 300)[name].mean(),
            at_least=1,
        )
