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
with says("put $z_h$ in its column of the mask: that is the same"):
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
with says("so all of them solve one triangular system"), torch.no_grad():
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
    "Trained for 300 steps at a learning rate of 0.1, the plain layer recalls less than a third of the values with each of eight seeds; with QK-norm more than 0.99."
):
    claim(of(rates[0.1], "plain", "recall").max(), at_most=1 / 3)
    claim(of(rates[0.1], "QK-norm", "recall").min(), at_least=0.99)
with says(
    "At its own best rate, 0.03, the plain layer recalls more than 0.99 as well; its median loss there, 0.007, is more than ten times that of QK-norm at 0.1."
):
    middle = {
        (kind, lr): np.median(of(r, kind, "loss"))
        for lr, r in rates.items()
        for kind in KINDS_SHOWN
    }
    claim(min(rates, key=lambda lr: middle["plain", lr]) == 0.03)
    claim(min(rates, key=lambda lr: middle["QK-norm", lr]) == 0.1)
    claim(of(rates[0.03], "plain", "recall").min(), at_least=0.99)
    claim(middle["plain", 0.03], 0.0055, 0.0085)
    claim(middle["plain", 0.03] / middle["QK-norm", 0.1], at_least=10)


def recall_of(seed, rates, steps, rise, longest=math.inf):
    """Train a plain layer, with rates for all but W^Q and W^K, and for these two."""
    torch.manual_seed(seed)
    model, draw = Model(KINDS["plain"](2)), torch.Generator().manual_seed(seed)
    two = {*model.mhas[0].q_proj.parameters(), *model.mhas[0].k_proj.parameters()}
    others = [p for p in model.parameters() if p not in two]
    optimizer = torch.optim.AdamW([{"params": others}, {"params": [*two]}], rates[0])
    schedule = OneCycleLR(optimizer, rates, steps, pct_start=rise)
    for _ in range(steps):
        inputs, right, _ = lesson(draw, n=16)
        optimizer.zero_grad()
        F.cross_entropy(model(*inputs)[0][:, -QUESTIONS:].mT, right).backward()
        nn.utils.clip_grad_norm_(model.parameters(), longest)
        optimizer.step()
        schedule.step()
    return test(model.eval(), n=16)["recall"]


with says("the plain layer recalled 0.98 (in two runs that are not shown)"):
    claim(recall_of(1, [0.1, 0.1], steps=900, rise=0.3, longest=1.0), 0.95, 1)
with says("with a tenth of it for $W^Q$ and $W^K$ alone, the plain layer recalled more than 0.99"):
    for seed in (0, 1):
        claim(recall_of(seed, [0.1, 0.01], steps=300, rise=0.1), at_least=0.99)
with says("And at 0.3 QK-norm fails as well, with most seeds"):
    fast = kept(FILE, ["QK-norm"], lr=0.3)
    claim(fast["recall"].median(), at_most=0.1)

# The sink.
with says(
    "For a key that was not shown, the plain layer, with two heads, puts on average 0.71 of its weight on the first token, and with a sink logit 0.13."
):
    claim(of(silent, "plain", "first new").mean(), 0.66, 0.76)
    claim(of(silent, "sink logit", "first new").mean(), 0.09, 0.18)
with says("the plain layer's loss almost triples, while that of the sink logit stays."):
    for kind, low, high in (("plain", 2.3, 3.0), ("sink logit", 0.7, 1.3)):
        claim(of(bare, kind, "loss").mean() / of(silent, kind, "loss").mean(), low, high)
with says("Both recall 0.99 or more on average."):
    claim(min(of(r, kind, "recall").mean() for r in (silent, bare) for kind in SILENT), 0.99)
with says("The layers differ by two parameters of 19,040."):
    sizes_of = {kind: sum(p.numel() for p in Model(KINDS[kind](2)).parameters()) for kind in SILENT}
    claim(sizes_of == {"plain": 19_040, "sink logit": 19_042})
with says("ours has none larger than those of other tokens."):
    claim((silent["size first"] < silent["size others"]).all())
with says("the weight changed by −0.04 (−0.09 to 0.01; eight seeds"):

    class OutputGate(MultiHeadAttention):
        def add_projections(self):
            super().add_projections()
            self.gate = self.linear(self.embed_dim, self.out_proj.in_features)

        def attend(self, query, *inputs, **options):
            heads, weights = super().attend(query, *inputs, **options)
            return heads * self.gate(query).sigmoid(), weights  # (B, T, D)

    KINDS["output gate"] = lambda H: OutputGate(D, H)
    gated = kept(None, ["output gate"], n=4, unknown=0.5)
    more_weight = of(gated, "output gate", "first new") - of(silent, "plain", "first new")
    claim(more_weight.mean(), -0.055, -0.025)
    low, high = stats.t.interval(0.95, 7, more_weight.mean(), stats.sem(more_weight))
    claim(low, -0.11, -0.07)
    claim(high, -0.01, 0.03)

# The state.
with says(
    "Trained for 1,200 steps, the gated delta rule recalls at least 0.96 of the last values with each of eight seeds, and a gated sum with a state as large at most 0.74."
):
    claim(of(again, "gated delta", "recall").min(), at_least=0.96)
    claim(of(again, "gated sum", "recall").max(), at_most=0.74)
with says("Without order a model can only guess among a key's values: about 0.44."):
    chances = stats.binom(15, 1 / 8).pmf(np.arange(16))
    claim((chances / np.arange(1, 17)).sum(), 0.435, 0.445)
with says("Softmax attention recalls more than 0.99,"):
    claim(of(again, "QK-norm and RoPE", "recall").min(), at_least=0.99)
with says("without it the delta rule recalled 0.97"):

    class Unfading(GatedDelta):
        def add_projections(self):
            super().add_projections()
            self.keep.requires_grad_(False)

        def attend(self, query, *inputs, **options):
            self.keep.weight.zero_()
            self.keep.bias.fill_(30.0)
            return super().attend(query, *inputs, **options)

    KINDS["unfading"] = lambda H: Unfading(D, H)
    for seed in (0, 1):
        last = {"n": 16, "again": True}
        found = test(train("unfading", 0.03, seed, H=1, steps=1200, **last), **last)
        claim(found["recall"], 0.96, 0.98)


with says("lose less than 0.01 of the recall on average"):
    claim((more["recall 49"] - more["recall 16"]).mean(), at_most=0.01)
with says("for less than half of the multiply-adds"):
    claim(16 * 64 + 49 * 4 + 2 * 4 * 32, at_most=49 * 64 / 2)
