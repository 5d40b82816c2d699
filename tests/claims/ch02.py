"""What chapter 2 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("Yet at 64 numbers one of the eight has 0.89 of the weight, and at 1,024 the query"):
    claim(without[1].max(), 0.885, 0.895)
    claim(without[2].max(), at_least=0.995)
with says("0.87 on average without the root, and at 1,024 it is 0.97."):
    claim(largest_weights(64, 1.0).mean(), 0.85, 0.89)
    claim(largest_weights(1024, 1.0).mean(), 0.955, 0.985)
with says("With the root, it is 0.34 to 0.36 at every size."):
    for size in sizes:
        claim(largest_weights(size, size**-0.5).mean(), 0.33, 0.38)
with says("The spreads are 2, 8 and 32: the roots of 4, 64 and 1,024."):
    for size, found in products.items():
        claim(found.std() * size**-0.5, 0.96, 1.04)

with says("without the root is thousands of times smaller than with it"):
    claim(root[1024].median() / plain[1024].median(), 2_000, 60_000)
with says("and yet the mean is three to four times larger"):
    claim(plain[1024].mean() / root[1024].mean(), 3, 4)
with says("so torn queries become rarer, nearly by half each time."):
    for size, share in zip(few, (0.34, 0.16, 0.09, 0.05), strict=True):
        claim(torn[size].float().mean() / share, 0.85, 1.15)
with says("The keys are twice as long, so each torn query is twice as loud."):
    for size, length in zip(few, (4, 8, 16, 35), strict=True):
        claim(plain[size][torn[size]].mean() / length, 0.85, 1.15)
with says("torn queries keep about half of the sum at every size."):
    for size in few:
        claim(share_of(size, torn[size]), 0.42, 0.6)
with says("the queries with a gap below 4, one in six, have 97% of the sum."):
    claim((apart[1024] < 4).float().mean(), 0.15, 0.18)
    claim(share_of(1024, apart[1024] < 4), 0.955, 0.985)
with says("Without the root, one query in six is silent at $D = 64$, and the loudest tenth"):
    claim(silent[64].float().mean(), 0.14, 0.2)
with says("the loudest tenth of the queries holds half of the sum of all lengths."):
    claim(share_of_tenth(plain[64]), 0.44, 0.54)
with says("At 1,024 two in three are silent, and the loudest tenth holds nine tenths."):
    claim(silent[1024].float().mean(), 0.6, 0.72)
    claim(share_of_tenth(plain[1024]), 0.85, 0.95)
with says("With the root it holds one fifth."):
    for size in few:
        claim(share_of_tenth(root[size]), 0.18, 0.24)

with says("the error over the last 100 of the 200 steps is 0.0012 with the root and 0.021 without"):
    with_it, without_it = ends["D = 64"]
    claim(with_it.mean(), 0.001, 0.0015)
    claim(without_it.mean(), 0.018, 0.026)
with says("about 17 times as large. At $D = 256$, a large size, it is about 60 times as large."):
    for size, low, high in (("D = 64", 12, 24), ("D = 256", 40, 90)):
        claim(ends[size][1].mean() / ends[size][0].mean(), low, high)
with says("At both, the best run without the root is worse than the worst one with it."):
    for size in ("D = 64", "D = 256"):
        claim(ends[size][0].max() < ends[size][1].min())
with says("with Adam the error at $D = 64$ is 0.0008 with the root and 0.019 without."):
    claim(ends["D = 64, Adam"][0].mean(), 0.0006, 0.001)
    claim(ends["D = 64, Adam"][1].mean(), 0.016, 0.023)
with says("At $D = 256$ two in five are silent at the start."):
    claim(silent[256].float().mean(), 0.36, 0.46)
with says("the error could not fall much below 0.6; it falls to 0.07."):
    claim(silent[256].float().mean() * runs["D = 256"][1][0].mean(), 0.5, 0.7)
    claim(ends["D = 256"][1].mean(), 0.055, 0.09)
with says("the layer without the root ends with an error of 0.004, a fifth of what it was."):
    claim(last["without, clipped"].mean(), 0.003, 0.0055)
    gain = last["without"].mean() / last["without, clipped"].mean()
    claim(gain, 3.5, 7)
with says("From a small start it ends with 0.001, as the layer with the root does."):
    claim(last["without, small start"].mean(), 0.0008, 0.0015)
with says("clipped, the layer does best with 3 in place of 0.25."):
    claim(best[64, 1] == 0.25)
    claim(best[64, 1, "clip"] == 3)
with says("The layer with the root gains by clipping as well, but less"):
    own = last["with the root"].mean() / last["with the root, clipped"].mean()
    claim(own, 1.2, 2.5)
    claim(own < gain)

with says("Without matrices a word gives itself more than 0.99 of its weight"):
    for size in few[1:]:
        claim(weight_on_itself(size, "no matrices"), at_least=0.99)
with says("matrix for both changes nothing. With one each it gives itself about a quarter"):
    for size in (64, 256, 1024):
        claim(weight_on_itself(size, "one for both"), at_least=0.985)
        claim(weight_on_itself(size, "one each"), 0.2, 0.3)

with says("With $p = \\tfrac12$ the median is 0.8 at every size"):
    for median in powers.loc["p = 0.5"].iloc[:4]:
        claim(median, 0.75, 0.9)
with says("the weights go to one key (0.97), and the median gradient nearly vanishes."):
    claim(powers.loc["p = 0"].iloc[3], at_most=0.001)
    claim(powers.loc["p = 0"].iloc[5], 0.95, 0.99)
with says("the largest of eight is 0.13, against 0.125 for an even share."):
    claim(powers.loc["p = 1"].iloc[5], 0.125, 0.135)
with says("The gradient shrinks as the root of $D$, to 0.03 at 1,024"):
    claim(powers.loc["p = 1"].iloc[3], 0.02, 0.035)
with says("the median looks nearly as steady, between 1.2 and 1.6."):
    claim(powers.loc["p = 0.25"].iloc[:4].min(), 1.0, 1.4)
    claim(powers.loc["p = 0.25"].iloc[:4].max(), 1.4, 1.8)
with says("The weights rule it out: at 1,024 one key has 0.83."):
    claim(powers.loc["p = 0.25"].iloc[5], 0.8, 0.86)
