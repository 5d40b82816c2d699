"""What chapter 14 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def off(found, said):
    """By how much numbers are off what the text says of them, at most."""
    return (torch.tensor(list(found)) - torch.tensor(said)).abs().max()


def spread(runs):
    """Mean, lowest and highest accuracy."""
    return [getattr(runs["accuracy"], name)() for name in ("mean", "min", "max")]


def seed_by_seed(runs, others):
    """Mean difference of two layers' runs, and its interval by t."""
    gaps = runs["accuracy"].to_numpy() - others["accuracy"].to_numpy()
    half = stats.t.ppf(0.975, len(gaps) - 1) * stats.sem(gaps)
    return [gaps.mean(), gaps.mean() - half, gaps.mean() + half]


with says("At best are gets one third, from the query 0"):
    claim(weights_of(q, line)[:, 1].amax(), 0.33, 1 / 3 + 1e-6)

with says("Divided by $\\sqrt 2$ they give the weights 0.28, 0.58 and 0.14."):
    claim(off(weights_of(torch.tensor([[0.0, 1.0]]), plane)[0], (0.28, 0.58, 0.14)), at_most=0.0051)

with says("four heads of 4 numbers get 0.57, 0.77 and 0.96 in models of 12, 16 and 20"):
    claim(
        off([spread(runs_of(D, 4, 4))[0] for D in (12, 16, 20)], (0.57, 0.77, 0.96)), at_most=0.0051
    )

with says("by 0.13 (95 % interval 0.06 to 0.20 for heads of 12)"):
    claim(
        off(seed_by_seed(runs_of(12, 4, 12), runs_of(12, 4, 4)), (0.13, 0.06, 0.20)), at_most=0.0051
    )

with says("not told apart from heads of 4: 0.02 (−0.10 to 0.13) and −0.04 (−0.10 to 0.02)"):
    claim(
        off(seed_by_seed(runs_of(16, 4, 16), runs_of(16, 4, 4)), (0.02, -0.10, 0.13)),
        at_most=0.0051,
    )
    claim(
        off(seed_by_seed(runs_of(20, 4, 20), runs_of(20, 4, 4)), (-0.04, -0.10, 0.02)),
        at_most=0.0051,
    )

with says("Five of the eight runs with heads of 4 in the model of 16 beat every run"):
    best_wide = runs_of(16, 4, 16)["accuracy"].max()
    claim((runs_of(16, 4, 4)["accuracy"] > best_wide).sum() == 5)

with says("That is right in 0.18 of the cases"):
    claim(GUESS, 0.175, 0.185)

with says("get 0.99, and seven of the eight runs all but everything"):
    claim(off(spread(longer_runs[16, 4, 4]), (0.99, 0.92, 1.00)), at_most=0.0051)
    claim((longer_runs[16, 4, 4]["accuracy"] > 0.999).sum() == 7)

with says("Wide heads there get 0.95, not told apart from them: the difference is −0.04"):
    claim(off(spread(longer_runs[16, 4, 16]), (0.95, 0.81, 1.00)), at_most=0.0051)
    claim(
        off(seed_by_seed(longer_runs[16, 4, 16], longer_runs[16, 4, 4]), (-0.04, -0.10, 0.02)),
        at_most=0.0051,
    )

with says("In the model of 20 every run gets 1.00. But eight heads of 2 get 0.71 (0.59 to 0.88)."):
    claim(off(spread(longer_runs[20, 4, 5]), (1.00, 1.00, 1.00)), at_most=0.0051)
    claim(off(spread(longer_runs[16, 8, 2]), (0.71, 0.59, 0.88)), at_most=0.0051)

with says("Six of eight runs of the first reach 1.00, no run of the second more than 0.81."):
    claim((runs_of(20, 4, 5)["accuracy"] > 0.99).sum() == 6)

with says("both wider models take less than half of the multiply-adds"):
    claim(costs(20, 4, 5)[1] / costs(16, 4, 16)[1], at_most=0.5)
    claim(costs(24, 8, 3)[1] / costs(16, 8, 16)[1], at_most=0.5)

with says("parameters of the model | multiply-adds of attention | accuracy, eight runs"):
    in_table = {
        (16, 4, 4): (6_880, 24_576, 0.77, 0.59, 0.92),
        (20, 4, 5): (8_912, 35_840, 0.95, 0.80, 1.00),
        (16, 4, 16): (10_096, 98_304, 0.78, 0.71, 0.81),
        (20, 4, 20): (13_892, 143_360, 0.92, 0.80, 1.00),
        (16, 8, 2): (6_880, 24_576, 0.45, 0.38, 0.56),
        (24, 8, 3): (11_072, 49_152, 0.96, 0.85, 1.00),
        (16, 8, 16): (14_384, 196_608, 0.80, 0.80, 0.81),
        (32, 8, 4): (15_776, 81_920, 0.99, 0.94, 1.00),
    }
    for shape, (parameters, work, *accuracies) in in_table.items():
        claim(costs(*shape) == count(*shape) == (parameters, work))
        claim(off(spread(runs_of(*shape)), accuracies), at_most=0.0051)

with says("16 heads of 4 in the model of 16, get 0.76"):
    claim(runs_of(16, 16, 4)["accuracy"].mean(), 0.73, 0.80)

with says("from 0.45 to 0.79, and wide heads get 0.80. Wide values alone get 0.61."):
    widths = (2, 2), (16, 2), (16, 16), (2, 16)
    means = [runs_of(16, 8, *pair)["accuracy"].mean() for pair in widths]
    claim(off(means, (0.45, 0.79, 0.80, 0.61)), at_most=0.0051)

with says("with it the whole model has 10,688 parameters and its attention 110,592 multiply-adds"):
    parameters = build_recall(TwoWidths(16, 8, 16, 2)).parameters()
    claim(sum(p.numel() for p in parameters) == 10_688)
    claim((16 * 2 * 16 * 8 + 16 * 16 * 8) * (16 + 2) == 110_592)

with says("the model of 16 with four wide heads would have 7,920 parameters"):
    biases = 4 * 16 + 16  # of the queries, and of the output
    claim(360 * 16 + 32 + 2 * 4 * 16**2 + biases == 7_920)

with says("end anywhere between 0.59 and 0.92"):
    claim(camps["accuracy"].min(), 0.58, 0.60)
    claim(camps["accuracy"].max(), 0.91, 0.93)

with says("two places have no head that gives them more than half of its weight"):
    heads_of = [[f"head {h}, name {a}" for h in range(4)] for a in range(4)]  # of each place
    served = pd.DataFrame({a: (camps[each] > 0.5).sum(axis=1) for a, each in enumerate(heads_of)})
    claim((camps["accuracy"] < 0.65).sum() == 4)
    claim(((served[:4] > 0).sum(axis=1) == 2).all())

with says("In three of these runs the heads have doubled up on the other two places"):
    doubled = [sorted(row) for row in served[:4].to_numpy().tolist()]
    claim(doubled == 3 * [[0, 0, 2, 2]] + [[0, 0, 1, 1]])
    claim(camps.loc[3].filter(like="head 0").max(), at_most=0.2)

with says("In the four runs of 0.83 to 0.87, two heads share two places"):
    by_head = list(zip(*heads_of, strict=True))
    for _, run in camps[5:9].iterrows():
        on = torch.tensor([[run[name] for name in each] for each in by_head])
        sharing = on[on.amax(dim=1) < 0.7]
        claim(len(sharing) == 2)
        claim(sharing.sum(dim=0).topk(2).values.sum(), at_least=1.5)

with says("The sixteen spread from 0.56 to 0.94."):
    claim(grid["accuracy"].min(), 0.55, 0.575)
    claim(grid["accuracy"].max(), 0.93, 0.945)

with says("The first weights explain 35 % of their variance and the batches 38 %"):
    claim(off((shares["weights"], shares["batches"]), (0.35, 0.38)), at_most=0.01)

with says("and wider model, 8 ordinary heads in a model of 224"):
    claim(equal_width(64, 8, 128) == 224)

with says("0.008 for wide, 0.002 for conv, 0.0005 for wider model"):
    claim(list(news_rates.values()) == [0.004, 0.008, 0.002, 0.004, 0.0005])

with says("by 0.012 (0.006 to 0.017), in all ten seeds; so is standard, by 0.011"):
    wider = news_runs.query("layer == 'wider model'")["accuracy"].to_numpy()
    for name, said in (("wide", 0.012), ("standard", 0.011)):
        ahead = news_runs[news_runs["layer"] == name]["accuracy"] - wider
        claim(ahead.mean(), said - 0.0006, said + 0.0006, on=NEWS)
        claim((ahead > 0).all(), on=NEWS)

with says("all within the margin of 0.01 set beforehand"):
    claim(on_news["low"][:3].min(), at_least=-0.01)
    claim(on_news["high"][:3].max(), at_most=0.01)

with says("Each accuracy is also uncertain by 0.018 either way, as there are only 500 articles"):
    claim(1.96 * (0.958 * 0.042 / 500) ** 0.5, 0.017, 0.0185)

with says("about one in forty nearly repeats one from the training set"):

    def shingles(text):
        words = text.split()
        return {tuple(words[i : i + 8]) for i in range(len(words) - 7)}

    if NEWS.is_loaded:
        known = set().union(*(shingles(text) for text in news["train"]["text"]))
        each = [shingles(text) for text in news["test"]["text"]]
        near = sum(len(s & known) >= 0.8 * len(s) for s in each if s)
        claim(near / len(each), 0.015, 0.04, on=NEWS)
