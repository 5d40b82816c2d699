"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("the table costs 0.017 (0.004 to 0.031), and all eight of its models are below"):
    claim(costs["sinusoidal"][0], 0.015, 0.02)
    claim(costs["sinusoidal"][1], at_least=0)
    claim((runs["sinusoidal"]["accuracy"] < runs["none"]["accuracy"]).all())

with says("ALiBi costs 0.041 (0.026 to 0.057)."):
    claim(costs["ALiBi"][0], 0.038, 0.044)

with says("a gain larger than 0.012, six articles of 500, is ruled out for either"):
    for name in ("sinusoidal, × 0.1", "ALiBi, slopes / 64"):
        _, low, high = costs[name]
        claim(-0.0125 <= low < 0 < high)

with says("the loss is 0.001 (−0.007 to 0.008)"):
    for name in ("sinusoidal", "sinusoidal, × 0.1"):
        _, low, high = losses[name]
        claim(low < 0 < high <= 0.0085)

with says("ALiBi loses 0.020 (0.009 to 0.032)."):
    claim(losses["ALiBi"][0], 0.017, 0.023)
    claim(losses["ALiBi"][1], at_least=0.005)

with says("0.007 (0.002 to 0.013), and each of its eight models loses something"):
    last = "ALiBi, slopes / 64"
    claim(losses[last][0], 0.006, 0.009)
    claim(losses[last][1], at_least=0.001)
    claim(((kept[last] - shuffled[last]).mean(axis=1) > 0).all())

with says("0.867 of the articles (0.838 to 0.890), with it about 0.810 (0.762 to 0.852)"):
    means = {name: accuracy.mean() for name, accuracy in hint.items()}
    claim(means["no table"], 0.86, 0.875)
    claim(means["table"], 0.80, 0.82)

with says("Shuffling once changes nothing to speak of, 0.814 (0.794 to 0.836)"):
    claim(means["table, shuffled once"], 0.80, 0.825)

with says("Shuffling anew gives 0.861 (0.846 to 0.870)"):
    claim(means["table, shuffled anew"], 0.855, 0.87)
