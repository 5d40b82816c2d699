"""What chapter 11 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says(
    "At 16,384 tokens, one head takes 3,086 MiB with stored matrices, forward and backward, and "
    "24 MiB in tiles. At 65,536 tokens tiles take 83 MiB, and the matrices would take 48 GiB."
):
    claim(peaks["stored", 16_384], 3000, 3200)
    claim(peaks["tiled", 16_384], 19, 30)
    claim(peaks["tiled", 65_536], 79, 100)
    claim(formula("stored", 65_536) / 1024, 47.9, 48.1)

with says("need 1.3 GiB on top of the 0.75 GiB of $Q$, $K$ and $V$"):
    claim(formula("tiled", 2**20) / 1024, 1.2, 1.3)

with says("One kept measurement again, live:"):
    live = run_memory("tiled", 4096, seed=0)["MiB"]
    if not math.isnan(live):
        claim(live / peaks["tiled", 4096], 0.6, 1.8)

with says("Because $e^{89}$ is too large for float32, and $e^{12}$ for float16."):
    claim(torch.tensor(89.0).exp() == math.inf)
    claim(torch.tensor(12.0).half().exp() == math.inf)

with says("each key counts as $e^0 = 1$, and out comes the mean of all values"):
    blind = walk(torch.full((6,), -1e9), torch.arange(6.0), 3)[0]
    claim(blind, 2.49, 2.51)

with says("With $-\\infty$ walk returns NaN, which is seen"):
    nothing, lowest = walk(torch.full((6,), -math.inf), torch.arange(6.0), 3)
    claim(nothing.isnan() and lowest == -math.inf)

with says("exactly, any number of them, in any order"):
    claim((output - whole).abs().max(), at_most=1e-5)
    claim((together - whole).abs().max(), at_most=1e-5)
    one, _ = scaled_dot_product_attention(query, keys, contents)
    claim((split - one).abs().max(), at_most=1e-5)

with says("each score is computed twice, seven products of matrices in place of six"):
    for attend, products in ((tiled_attention, 7), (stored_well, 6)):
        with FlopCounterMode(display=False) as counter:
            both_ways(attend, 1024)()
        claim(counter.get_total_flops() == products * 2 * 1024**2 * 64)

with says("than stored matrices. The fused kernel takes less than either.", timed=True):
    claim((times["tiled"] / times["stored"]).median(), 0.4, 1.25)
    for name in ("tiled", "stored"):
        claim((times[name] / times["fused"]).median(), 1.05, 3)

with says("one head needs minutes at 65,536 tokens and hours at a million", timed=True):
    claim(minutes, 0.3, 20)
    claim(hours, 1.5, 48)

with says("Twice the text, about twice the tiles: with a window the work grows as $T w$."):
    claim([tiles[T, 256] for T in (1024, 2048, 4096)] == [70, 150, 310])
    claim([tiles[T, T] for T in (1024, 2048, 4096)] == [136, 528, 2080])

with says("after $L$ layers, back to $t - L (w - 1)$"):
    torch.manual_seed(3)
    for L in range(1, 8):
        y = x = torch.randn(40, 8, dtype=torch.float64).requires_grad_()
        for _ in range(L):
            y = F.layer_norm(y + tiled_attention(y, y, y, is_causal=True, window=6, tile=8), (8,))
        (gradient,) = torch.autograd.grad(y[-1].pow(2).sum() + y[-1].sum(), x)
        claim(gradient.norm(dim=-1).nonzero().min() == max(0, 39 - L * 5))

with says("Up to 31 places back all models answer at least 99 % of the questions."):
    full, reading, training = by_distance.values()
    claim(full.min(), at_least=0.9)
    claim(training[:, :4].min(), at_least=0.9)

with says("and now reads through the window guesses"):
    claim(reading[:, 4:].mean(), 0.09, 0.16)  # guessing is 0.125

with says("answer 22 % at 32 to 39 places, fewer further on, and guess"):
    claim(training[:, 4:7].mean(), 0.15, 0.45)
    claim(training[:, 8:].mean(), 0.09, 0.16)

with says("of these the models answer 28 %, of the others 16 % (difference 12 points"):
    asked = [{"trained": "window", "steps": 300}]
    parts = run_all(run_recall, asked, range(8), RECALL, "recall")
    ahead = parts["relayed: yes"] - parts["relayed: no"]
    claim(ahead.mean(), 0.05, 0.2)
    claim((ahead > 0).all())

with says("Put on afterwards, the window costs 0.166 on average (0.087 to 0.246)"):
    cost = {name: m[:, 4:].mean(axis=1) for name, m in more.items()}  # (seeds,)
    claim(cost["window"].mean(), 0.1, 0.25)

with says("with the first key kept, 0.004 (0.001 to 0.006)"):
    claim(cost["window and first"].max(), at_most=0.02)
    claim((cost["window and first"] < 0.5 * cost["window"]).all())

with says("Exchange one of its keys for the first one, and it is 1.761; for the ninth, 1.924."):
    claim(abs(cost["window and ninth"] - cost["window"]).max(), at_most=0.01)

with says("Built in, the window lowers the loss by 0.048; but by 0.046 even before place 32"):
    claim(cost[TOGETHER].max(), at_most=0)

with says("What they lose with the far text is the difference, −0.002 nats"):
    soon = more[TOGETHER][:, :2].mean(axis=1)  # before place 32
    claim((cost[TOGETHER] - soon).mean(), -0.02, 0.02)

with says("In each of them some head gives it 0.06 to 0.17 of its weight, on average."):
    claim(runs["most weight"].min(), 0.03, 0.1)
    claim(runs["most weight"].max(), 0.12, 0.25)

with says("Tiles in which no query sees a key can be skipped, whatever the mask"):
    counts = [visited(mask, 4).sum().item() for mask in drawn.values()]
    claim(counts == [78, 42, 36])

with says("PyTorch's FlexAttention [11] skips tiles for any mask."):
    claim(torch.equal(listed, ours))
    claim((flexible - in_tiles).abs().max(), at_most=1e-5)

with says("Drop the softmax, and the brackets can be moved, as in chapter 10"):
    claim(gap, at_most=1e-6)

with says("about three quarters of the questions, least squares 0.86 and a trained state all"):
    least = dict(zip(MANY, shares["least squares"].mean(axis=0), strict=True))
    by_sum = dict(zip(MANY, shares["sum"].mean(axis=0), strict=True))
    held = shares["trained"].mean(axis=0)
    claim(by_sum[256], 0.67, 0.81)
    claim(least[256], 0.81, 0.91)
    claim(held[:2].min(), at_least=0.99)

with says("That one holds nearly all of 512 pairs. Of 1,024 it answers 0.41"):
    claim(held[2], at_least=0.95)
    claim(held[3], 0.36, 0.45)

with says("trained on all 1,024, it answers 0.12"):
    on_all = [recall(1024, seed, "trained", part=1024) for seed in range(3)]
    claim(np.mean(on_all), 0.05, 0.2)

with says("Attention with a softmax answers all, up to 4,096."):
    claim(shares["softmax"].min(), at_least=0.98)

with says("A state that tries to keep everything keeps least; other ways to train may do better."):
    claim(by_sum[1024], 0.06, 0.13)
    claim(least[1024], 0.06, 0.14)
