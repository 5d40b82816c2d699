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
with says("At a rate of 0.03 the plain layer recalls more than 0.99, too"):
    claim(kept("plain", 0.03).min(), at_least=0.99)
with says("with QK-norm they stay small, and\nit recalls all."):
    for lr in (0.01, 0.03, 0.1):
        claim(kept("QK-norm", lr).min(), at_least=0.99)
with says("at 0.3 QK-norm rescues three layers of eight."):
    claim((kept("QK-norm", 0.3) > 0.9).sum() == 3)
with says(
    "at 0.1 it recalls more than 0.95 with a longer warm-up (of 90 steps), ten times the weight decay and gradients clipped at 1, all together (eight of eight)."
):
    for seed in range(8):
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
        claim(recall(other.eval(), n=16), at_least=0.95)
with says("three or more of eight plain layers recall less than half"):

    class SoftCapped(MultiHeadAttention):
        def attend_heads(self, q, k, v, mask, *_):
            scores = 50 * (q @ k.mT / math.sqrt(self.head_dim) / 50).tanh()
            weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
            return weights @ v, weights

    KINDS["soft-capped"] = lambda: SoftCapped(D, 2)
    capped = [recall(train("soft-capped", 0.1, seed, n=16), n=16) for seed in range(8)]
    claim(sum(each < 0.5 for each in capped), at_least=3)
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
with says("a layer trained without new keys does not do this."):
    claim(new_keys(train("plain", 0.03, seed=0, n=4))["weight on the first token"], at_most=0.25)
with says("with its value set to zero, the loss is nearly the same."):
    claim(found["loss, its value set to zero"] / found["loss"], 0.8, 1.3)
with says("Hide the first token, and the weight must go to the pairs"):
    claim(found["loss, it is hidden"] / found["loss"], 70, 150)  # "a hundred times as high"
with says(
    "Asked for a new key, a plain layer gives the first token 0.68 of its weight. With a sink logit it is 0.08, and all tokens together get 0.27 (means of eight seeds)."
):
    plain, sink = (looks[looks["kind"] == kind] for kind in ("plain", "sink logit"))
    claim(len(plain) == len(sink) == 8)
    claim(plain["weight on the first token"].mean(), 0.675, 0.685)
    claim(sink["weight on the first token"].mean(), 0.075, 0.085)
    claim(sink["weight on all tokens"].mean(), 0.265, 0.275)
with says("The loss gains nothing"):
    claim(plain["loss"].mean() / sink["loss"].mean(), 0.75, 1.33)
with says("(In our small block none grows huge.)"):

    @torch.no_grad()
    def largest_of(block, inputs):  # in the residual stream: at the first token, and elsewhere
        seen = []
        block.norms[1].register_forward_pre_hook(lambda _, x: seen.append(x[0]))
        block.ffs[0].register_forward_hook(lambda *of: seen.append(seen[0] + of[-1]))
        block(*inputs)
        sizes = torch.stack(seen).abs()
        return sizes[:, :, 0].max(), sizes[:, :, 1:].max()

    for kind in ("plain", "sink logit"):
        block = train(kind, 0.03, seed=0, n=4, unknown=0.5)
        drawn, *_ = examples(torch.Generator().manual_seed(1), 4, 64, unknown=0.5)
        first, others = largest_of(block, drawn)
        claim(first / others, at_most=1.5)

# The gate.
with says(
    "Where a mark tells that a key is new, the gates close: their mean is 0.00 for new keys and 0.93 for others. Without the mark it is 0.68 for both (means of eight seeds)."
):
    claim((rows.groupby("marked").size() == 8).all())
    means = rows.groupby("marked").mean()
    for marked, name, mean in (
        (True, "new", 0.00),
        (True, "others", 0.93),
        (False, "new", 0.68),
        (False, "others", 0.68),
    ):
        claim(means.loc[marked, name], mean - 0.005, mean + 0.005)
    closed = rows[rows["marked"]]
    claim(closed["new"].max() < closed["others"].min())
with says(
    "the first token gets 0.16 of the weight, less than a fifth of the five tokens, where a plain layer with the same mark gives it 1.00. (But at a third of the learning rate a gated layer still gives it 0.9, in one run.)"
):
    claim(means.loc[True, "first"], 0.155, 0.165)
    task = {"n": 4, "unknown": 0.5, "marked": True}
    drawn, right, is_new = examples(torch.Generator().manual_seed(1), B=64, **task)

    def on_first(block):  # of the weights of questions for new keys
        return block(*drawn)[1][:, :, -QUESTIONS:, 0].mean(dim=1)[is_new].mean()

    claim(on_first(train("plain", 0.03, seed=0, **task)), at_least=0.995)
    claim(on_first(train("output gate", 0.01, seed=0, steps=3600, **task)), 0.85, 0.95)
with says("And where a muted head looks hardly matters"):
    muted = train("output gate", 0.03, seed=0, **task)
    before = muted(*drawn)[0].argmax(dim=-1)[is_new]
    muted.mhas[0].v_proj.register_forward_hook(lambda *of: of[-1].flip(1))  # it reads other tokens
    after = muted(*drawn)[0].argmax(dim=-1)[is_new]
    claim((before == right[is_new]).float().mean(), at_least=0.99)
    claim((after == before).float().mean(), at_least=0.98)
