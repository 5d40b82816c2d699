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
with says("| GQA, 4 KV heads | 512 | 4 |"):
    claim(kept["GQA"] == 2 * heads["GQA"] * D_head == 512 == products / 4)
with says("| MQA | 128 | 16 |"):
    claim(kept["MQA"] == 2 * D_head == 128 == products / 16)
with says("| MLA | 128 | 32 |"):
    claim(kept["MLA"] == D_c == 128 == 2 * H * D_c / 32)
with says("No: MLA reads as much, but multiplies twice as often, and takes longer.", timed=True):
    claim(gain(took, "MLA", "MQA"), at_least=1.2)
    dims, kernel = {"MLA": D_c, "MQA": D_head}, F.scaled_dot_product_attention
    near = {  # the control: as many products, with a cache that stays near the processor
        name: partial(kernel, torch.randn(1, 1, H, d), *torch.randn(2, 1, 1, 1024, d))
        for name, d in dims.items()
    }
    claim(gain(in_turns(near, rounds=9, repeat=16), "MLA", "MQA"), at_least=1.2)
with says("Sharing saves bytes, and time, but less time than bytes.", timed=True):
    for name in ("GQA", "MQA", "MLA"):
        saved_time, saved_bytes = gain(took, "MHA", name), reads["MHA"] / reads[name]
        claim(1 < saved_time < saved_bytes)
with says("an MQA step reads about a ninth of the bytes of an MHA step"):
    claim(reads["MHA"] / reads["MQA"], 8.5, 9.5)
with says("but takes about a quarter of its time.", timed=True):
    claim(gain(took, "MQA", "MHA"), 0.2, 0.32)
with says("a step costs at least what it reads", timed=True):
    for name in reads:
        claim(ms[name] / (rate * reads[name]), at_least=1)

texts, tokens_of_one = "a token of 8 texts", "8 tokens of a text"
with says("cost less than one token of each of eight texts: they share the cache too.", timed=True):
    claim(gain(eight["MHA"], texts, tokens_of_one), at_least=1.4)
with says("the two costs lie close together.", timed=True):
    claim(gain(eight["MQA"], texts, tokens_of_one), 0.75, 1.4)
with says("That is little more than the pass costs in steps", timed=True):
    claim(tokens - gain(eight["MHA"], tokens_of_one, "1 token"), 0, 1)
with says("with MHA, at 2,048 tokens, each is as large as the weights"):
    claim(4 * D**2 == 2 * D * 2048)

with says("The blue bars add up to the share of guesses accepted."):
    claim(abs(same.sum().item() - accepted), at_most=1e-6)
with says("copied guesses pay if two of seven are kept on average", timed=True):
    claim(gain(eight["MHA"], tokens_of_one, "1 token"), at_most=3)
with says("Guesses accepted by this rule leave the model's distribution as it was"):
    claim((same + rest - model).abs().max(), at_most=1e-6)
    claim((shares - model).abs().max(), at_most=0.015)
    others = draft.flip(0), model, torch.ones(5) / 5, torch.eye(5)[3]  # whatever the draft
    for other in others:
        drawn = torch.cat([next_token(model, other) for _ in range(10_000)])
        claim((drawn.bincount(minlength=5) / len(drawn) - model).abs().max(), at_most=0.02)

with says("should take twice as long as the first one", timed=True):
    claim(gain(by_end, 6144, 1), 1.6, 2.4)
