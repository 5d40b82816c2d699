"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("with four out it is 0.892 one by one, and 0.869 by chance"):
    claim(eight.mean(), 0.93, 0.95, on=NEWS)
    claim(curves["one by one"][4], 0.87, 0.91, on=NEWS)
    claim(curves["chance"][4], 0.85, 0.89, on=NEWS)
    for values in built.values():
        claim(values.mean(), 0.92, 0.955, on=NEWS)

with says("more than the cut ones by 0.046 (0.028 to 0.063)"):
    claim(fewer["built with 4 − one by one"][1], at_least=0.01, on=NEWS)

with says("Against all eight they lack at most 1.6 points: −0.005 (−0.016 to 0.005)."):
    claim(fewer["built with 4 − all eight"][1], -0.02, 0, on=NEWS)

with says("With four copies out the accuracy is still 0.942"):
    right = lines["test accuracy", "eight copies"]
    claim(right[4], 0.925, 0.955, on=NEWS)
    claim(right[7], 0.915, 0.955, on=NEWS)

with says("that is more than trained heads keep, by 0.074 (0.055 to 0.092)"):
    claim(control["copies − chance, 4 out"][1], at_least=0.04, on=NEWS)
    claim(lines["test accuracy", "trained"][4], 0.84, 0.9, on=NEWS)
    claim(lines["test accuracy", "trained"][7], 0.55, 0.7, on=NEWS)

with says("Yet the mean margin falls nearly alike."):
    gap = np.subtract(*(lines["mean margin", name] for name in ("eight copies", "trained")))
    claim(np.abs(gap).max(), at_most=0.8, on=NEWS)

with says("a head is worth about one point of margin on average"):
    claim(drops.mean(), 0.6, 1.2, on=NEWS)

with says("by more than its mean, and about one article in five gains"):
    claim((drops.std(dim=1) > drops.mean(dim=1)).sum(), at_least=5, on=NEWS)
    claim((drops < 0).double().mean(), 0.1, 0.25, on=NEWS)

with says("three of the four orders beat chance, and by little"):
    for name in ("one by one", "ablation", "gradient"):
        claim(found[4][f"{name} − chance"][1], at_least=0, on=NEWS)
    claim(found[4]["confidence − chance"][1], at_most=0, on=NEWS)

with says("Whether measuring anew is better than ablation once is open too"):
    claim(found[4]["one by one − ablation"][1], at_most=0, on=NEWS)

with says("Over one to seven it is better, by 0.012 (0.002 to 0.022)"):
    claim(found[7]["one by one − ablation"][1], at_least=0, on=NEWS)

with says("one by one leads chance by 0.030 (0.018 to 0.041) and ablation leads it by"):
    for name in ("one by one", "ablation"):
        claim(found[7][f"{name} − chance"][1], at_least=0, on=NEWS)
    for name in ("gradient", "confidence"):
        claim(found[7][f"{name} − chance"][1], at_most=0, on=NEWS)

with says("most of the gap is closed, and whether any is left is open"):
    gap = (longer["best cut"] - longer["worst cut"]).mean()
    claim(gap, 0.05, 0.12, on=NEWS)
    claim(after["best − worst, ten more"][0], 0, gap / 3, on=NEWS)

with says("differs from that by −0.005 (−0.018 to 0.008), open too"):
    _, low, high = after["best − built, ten more"]
    claim(low < 0 < high, on=NEWS)
