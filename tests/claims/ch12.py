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
    c = mla.down(texts)
    parts = mla.q_proj(texts), mla.k_proj(c), mla.v_proj(c)
    built = F.scaled_dot_product_attention(*map(mla.split_heads, parts), is_causal=True)
    slow = mla.out_proj(mla.join_heads(built))
    room = KeyValueCache(50)
    fast = [mla.decode(x, room) for x in texts.split(1, dim=1)]
    claim((torch.cat(fast, dim=1) - slow).abs().max(), at_most=1e-5)
    claim(all(mla.absorbing_is_cheaper(1, n) for n in (4, 2049, 16385)))
with says("no dot lies left of the end of its bar", timed=True):
    for floor, worth in reads.values():
        claim(worth / floor, at_least=1)
with says("MHA comes within two and a half times of it.", timed=True):
    for n in (2048, 16384):
        claim(reads["MHA", n][1] / reads["MHA", n][0], 1, 2.5)
with says("The others gain less time than bytes", timed=True):
    for n in (2048, 16384):
        out = {name: worth / floor for (name, t), (floor, worth) in reads.items() if t == n}
        claim(min(out, key=out.get) == "MHA")
most = reads["MHA", 16384][0]
with says("At 16,384 tokens a step with MHA reads 453 MB, 403 of them cache"):
    claim(most / 1e6, 452.5, 453.5)
    claim(4 * L * 2 * D * 16384 / 1e6, 402.5, 403.5)
with says("GQA with 4 key heads reads less than a third of that"):
    claim(reads["GQA", 16384][0] / most, at_most=1 / 3)
with says("MQA and MLA less than a fifth"):
    for name in ("MQA", "MLA"):
        claim(reads[name, 16384][0] / most, at_most=0.2)
with says("Here all three take less than three quarters of MHA's time", timed=True):
    for name in ("GQA", "MQA", "MLA"):
        claim(gain(took, f"{name} 16384", "MHA 16384"), at_most=0.75)
with says("keeps 69 KiB for a token, in 61 layers of 128 heads"):
    claim(2 * 61 * (512 + 64) / 2**10, 68.5, 69.5)
with says("it would be 71 times as much"):
    claim(128 * (128 + 64 + 128) / (512 + 64), 70.5, 71.5)

with says("One pass for 32 texts takes less than half of the time of 32 passes.", timed=True):
    claim(gain(filled, 32, 1), at_most=16)

with says("After 2,048 tokens it is as large as the weights"):
    claim(4 * D**2 == 2 * D * 2048)
with says("that is twice the multiply-adds of MHA for each token kept"):
    claim(2 * H * D_c == 2 * (2 * H * D_head))

with says("Blue and orange add up to the model's own distribution"):
    claim((same + rest - model).abs().max(), at_most=1e-6)
    claim((shares - model).abs().max(), at_most=0.015)
with says("535 passes wrote the same 822 letters"):
    claim(text == zen and len(rights) == 535 and len(zen) - len(prompt) == 822)
with says("A pass writes 1.54 letters"):
    claim(len(zen) - len(prompt), 1.535 * len(rights), 1.545 * len(rights))
with says("on this processor that takes so much longer than one", timed=True):
    claim(gain(more, 4, 1), at_least=1.2)
with says("almost nothing is left of the gain", timed=True):
    claim(gain(laps, 0, 3), at_most=1.1)

with says("should take twice as long as the first one", timed=True):
    claim(gain(by_end, 6144, 1), 1.6, 2.4)
