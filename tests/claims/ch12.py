"""What chapter 12 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def gain(table, slow, fast):
    return (table[slow] / table[fast]).median()


with says("With a KV cache the outputs are the same up to rounding"):
    claim(gap, at_most=1e-5)
with says("a step is more than fifteen times as fast as the best", timed=True):
    claim(gain(saved, "without", "with"), at_least=15)

with says("With $t$ tokens so far that is, in a layer, $4 D^2$ weights"):
    claim(sum(p.numel() for p in stack[0].parameters() if p.dim() == 2) == 4 * D**2)
with says("no step has to make them"):  # MLA: absorbed, and step by step, the same function
    mla, texts = latent[0], torch.randn(1, 50, D)
    c, kept_rows = mla.down(texts), torch.zeros(1, 50, D_c)
    parts = mla.q_proj(texts), mla.k_proj(c), mla.v_proj(c)
    built = F.scaled_dot_product_attention(*map(mla.split_heads, parts), is_causal=True)
    slow = mla.out_proj(mla.join_heads(built))
    fast = [mla.decode(x, kept_rows[:, : i + 1]) for i, x in enumerate(texts.split(1, dim=1))]
    claim((torch.cat(fast, dim=1) - slow).abs().max(), at_most=1e-5)
    claim(all(mla.absorbing_is_cheaper(1, n) for n in (4, 2048, 16384)))
with says("no dot lies left of the end of its bar", timed=True):
    for floor, worth in reads.values():
        claim(worth / floor, at_least=1)
with says(
    "With MHA, and with the window, a step takes less than two and a half times as long as its floor.",
    timed=True,
):
    for n in (2048, 16384):
        for name in ("MHA", "window"):
            claim(reads[name, n][1] / reads[name, n][0], 1, 2.5)
most = reads["MHA", 16384][0]
with says("At 16,384 tokens a step with MHA reads 453 MB, 403 of them cache"):
    claim(most / 1e6, 452.5, 453.5)
    claim(4 * L * 2 * D * 16384 / 1e6, 402.5, 403.5)
with says("GQA with 4 key heads reads less than a third of that"):
    claim(reads["GQA", 16384][0] / most, at_most=1 / 3)
with says("and MQA, MLA and the window less than a fifth"):
    for name in ("MQA", "MLA", "window"):
        claim(reads[name, 16384][0] / most, at_most=0.2)
with says("all four take less than three quarters of its time", timed=True):
    for name in ("GQA", "MQA", "MLA", "window"):
        claim(gain(took, f"{name} 16384", "MHA 16384"), at_most=0.75)
with says("keeps 69 KiB for a token, in 61 layers of 128 heads"):
    claim(2 * 61 * (512 + 64) / 2**10, 68.5, 69.5)
with says("it would be 71 times as much"):
    claim(128 * (128 + 64 + 128) / (512 + 64), 70.5, 71.5)

with says("The second row costs more than the next six together.", timed=True):
    one, two, eight = (by_rows[n].median() for n in ("1 row", "2 rows", "8 rows"))
    claim((two - one) - (eight - two), at_least=0)
with says("four rows take about as long as one row with packed weights.", timed=True):
    claim(gain(by_rows, "4 rows, packed", "1 row, packed"), 0.75, 1.3)
    claim(gain(by_rows, "4 rows, oneDNN", "4 rows, packed"), at_least=1.2)

with says("Blue and orange sum to one"):
    claim((same + rest - model).abs().max(), at_most=1e-6)
    claim((shares - model).abs().max(), at_most=0.015)
with says("535 passes wrote the same 822 letters"):
    claim(text == zen and len(rights) == 535 and len(zen) - len(prompt) == 822)
with says("guesses make the model faster where its weights are packed once", timed=True):
    claim(gain(took_writing, "no guesses", "guesses, packed"), at_least=1)
with says("with weights as they are, it gains less", timed=True):
    ways = ("guesses", "guesses, packed")
    gains = [gain(took_writing, "no guesses", way) - 1 for way in ways]
    claim(gains[1] - gains[0], at_least=0)

with says("Here pages take two to five times as long as one piece.", timed=True):
    claim(gain(by_page, "pages", "one piece"), 2, 5)
    claim((attend(q, *together()) - attend(q, *whole)).abs().max(), at_most=1e-5)
with says("At least a third of what they add is the plain cost of a copy.", timed=True):
    copied = gain(by_page, "copied first", "one piece") - 1
    claim(copied / (gain(by_page, "pages", "one piece") - 1), at_least=1 / 3)
with says("should take twice as long as the first one", timed=True):
    claim(gain(by_end, 6144, 1), 1.6, 2.4)
