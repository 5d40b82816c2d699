"""What chapter 12 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def gain(table, slow, fast):
    return (table[slow] / table[fast]).median()


with says("With a KV cache the outputs are the same up to rounding"):
    claim(gap, at_most=1e-5)
with says("a step is more than fifteen times as fast.", timed=True):
    claim(gain(saved, "without", "with"), at_least=15)

with says("With $t$ tokens so far that is, in a layer, $4 D^2$ weights"):
    claim(sum(p.numel() for p in stack[0].parameters() if p.dim() == 2) == 4 * D**2)
with says("no step has to make them"):  # MLA: absorbed, and step by step, the same function
    mla, texts = stacks["MLA"][0], torch.randn(1, 50, D)
    c = mla.down(texts)
    parts = mla.q_proj(texts), mla.k_proj(c), mla.v_proj(c)
    built = F.scaled_dot_product_attention(*map(mla.split_heads, parts), is_causal=True)
    slow = mla.out_proj(mla.join_heads(built))
    room = KeyValueCache(50)
    fast = [mla.decode(x, room) for x in texts.split(1, dim=1)]
    claim((torch.cat(fast, dim=1) - slow).abs().max(), at_most=1e-5)

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
with says("GQA reads under a third of MHA's 453 MB"):
    claim(reads["MHA"], 452.5, 453.5)
    claim(reads["GQA"] / reads["MHA"], at_most=1 / 3)
with says("MQA and MLA under a fifth"):
    for name in ("MQA", "MLA"):
        claim(reads[name] / reads["MHA"], at_most=0.2)
with says("here all three take under three quarters of MHA's time", timed=True):
    for name in ("GQA", "MQA", "MLA"):
        claim(gain(took, name, "MHA"), at_most=0.75)
with says("A step costs at least what it reads", timed=True):
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

letters, passes = len(zen) - start, guessed.count(False)
with says("A pass writes 1.54 letters."):
    claim(letters, 1.535 * passes, 1.545 * passes)
with says("that leaves little or nothing of the gain", timed=True):
    claim(letters / passes / gain(more, 4, 1), at_most=1.15)

with says("Guesses accepted by this rule leave the model's distribution as it was"):
    claim((same + rest - model).abs().max(), at_most=1e-6)
    claim((shares - model).abs().max(), at_most=0.015)
    for other in (draft.flip(0), model, torch.ones(5) / 5):  # whatever the draft
        drawn = torch.cat([next_token(model, other) for _ in range(10_000)])
        claim((drawn.bincount(minlength=5) / len(drawn) - model).abs().max(), at_most=0.02)

with says("should take twice as long as the first one", timed=True):
    claim(gain(by_end, 6144, 1), 1.6, 2.4)
