"""What chapter 12 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def gain(table, slow, fast):
    return (table[slow] / table[fast]).median()


with says("With a KV cache the outputs are the same up to rounding"):
    claim(gap, at_most=1e-5)
with says("a step is more than thirty times as fast.", timed=True):
    claim(gain(saved, "without", "with"), at_least=30)

with says("with $t$ tokens so far, $4 D^2$ weights and $2 t D$ numbers of the cache"):
    claim(sum(p.numel() for p in stack[0].parameters() if p.dim() == 2) == 4 * D**2)
with says("no step has to make them"):  # MLA: absorbed, and step by step, the same function
    claim(gap_latent, at_most=1e-5)

# Numbers kept of a token, and the multiply-adds with them: scores, then the mixture.
products = 2 * H * D_head
with says("| MHA | 2,048 | 1 |"):
    claim(kept["MHA"] == 2 * H * D_head == 2048 == products)
with says("| GQA, 4 key heads | 512 | 4 |"):
    claim(kept["GQA"] == 2 * heads["GQA"] * D_head == 512 == products / 4)
with says("| MQA | 128 | 16 |"):
    claim(kept["MQA"] == 2 * D_head == 128 == products / 16)
with says("| MLA | 128 | 32 |"):
    claim(kept["MLA"] == D_c == 128 == 2 * H * D_c / 32)
with says("No: MLA takes longer.", timed=True):
    claim(gain(took, "MLA", "MQA"), at_least=1.2)
with says("Sharing saves bytes, and time, but less time than bytes.", timed=True):
    for name in ("GQA", "MQA", "MLA"):
        saved_time, saved_bytes = gain(took, "MHA", name), reads["MHA"] / reads[name]
        claim(1 < saved_time < saved_bytes)
with says("a step reads 453 MB with MHA, 132 with GQA, 52 with MQA and 55 with MLA; MQA"):
    for name, said in (("MHA", 453), ("GQA", 132), ("MQA", 52), ("MLA", 55)):
        claim(reads[name], said - 0.5, said + 0.5)
with says("MQA takes less than half of MHA's time.", timed=True):
    claim(gain(took, "MQA", "MHA"), at_most=0.5)
with says("a step costs at least what it reads", timed=True):
    for name in reads:
        claim(ms[name] / (rate * reads[name]), at_least=1)

with says("one pass for eight texts takes less than half of the time of eight passes.", timed=True):
    claim(gain(filled["MHA", 256], 8, 1), at_most=4)
with says("Later the batch saves less", timed=True):
    claim(gain(filled["MHA", 2048], 8, 1) > gain(filled["MHA", 256], 8, 1))
with says("MQA keeps more of the gain.", timed=True):
    claim(gain(filled["MHA", 2048], 8, 1) > gain(filled["MQA", 2048], 8, 1))
with says("which at 2,048 tokens is as large as the weights"):
    claim(4 * D**2 == 2 * D * 2048)

with says("Guesses accepted by this rule leave the model's distribution as it was"):
    claim((same + rest - model).abs().max(), at_most=1e-6)
    claim((shares - model).abs().max(), at_most=0.015)
    for other in (draft.flip(0), model, torch.ones(5) / 5):  # whatever the draft
        drawn = torch.cat([next_token(model, other) for _ in range(10_000)])
        claim((drawn.bincount(minlength=5) / len(drawn) - model).abs().max(), at_most=0.02)

with says("should take twice as long as the first one", timed=True):
    claim(gain(by_end, 6144, 1), 1.6, 2.4)
