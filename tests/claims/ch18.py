"""What chapter 18 says, asserted (see `tools/claims.py`)."""

from benchmarks.writer import package_versions
from tools.claims import claim, says

same_texts = package_versions() == kept.recipe["packages"]  # other versions have other texts

with says("You will build a small Llama from parts that you own"):
    claim(sum(p.numel() for p in model.parameters()) / 1e6, 1.35, 1.45)
with says("15 million bytes"):
    claim(kept.recipe["bytes"]["train"] / 1e6, 14.5, 15.5)
with says("let both go on with the same eight beginnings"):
    claim(gap, at_most=1e-3)
    claim(same.all())
with says("The whole training took 3,912 steps and 39 minutes on two cores"):
    claim(kept.recipe["curve"][-1]["step"] == 3912)
    claim(kept.recipe["curve"][-1]["seconds"] / 60, 38, 40)
with says("Ten steps show little."):
    if same_texts:
        claim(losses[-1] / early["loss"][10], 0.999, 1.001)
with says("a byte of libraries that it has never read costs 3.63 bits at first"):
    claim(curve[0], 3.625, 3.635)
with says("2.13 after 300 steps and 1.67 at the end"):
    claim(curve[300], 2.125, 2.135)
    claim(curve[3912], 1.665, 1.675)
with says("Three quarters of the fall comes in the first 300 of 3,912 steps."):
    claim((curve[0] - curve[300]) / (curve[0] - curve[3912]), 0.73, 0.79)


with says("At the end the lines fit."):
    found = re.findall(r"^(.+)\n(-{3,})$", vocabulary.decode(rows[3912]), re.MULTILINE)
    claim(found and all(len(head) == len(line) for head, line in found))

shares = repeats.groupby("way")["share"]
with says("47 % of its runs of eight tokens stood in the same text before"):
    if same_texts:
        claim(by_greedy, 0.465, 0.475)
with says("where people have 2 %"):
    if same_texts:
        claim(by_hand, 0.015, 0.025)
with says("Drawn with top-k or top-p it is at most 1.1 %."):
    claim(shares.max()[["top-k, 5", "top-p, 0.8"]].max(), at_most=0.0115)
with says("for drawing as it is repeats least"):
    claim(shares.mean().idxmin() == "as it is")
    claim(shares.max()["as it is"] < shares.max().drop("as it is").min())

table = pd.DataFrame({name: bits(p) for name, p in lent.items()})
if same_texts:
    with says("beats our model alone, 1.322 bits a byte to 1.655"):
        claim(table["+ counts of everything"]["5-gram"], 1.3215, 1.3225)
        claim(table["alone"]["our model"], 1.6545, 1.6555)
    with says("Best are both together, with 1.212."):
        claim(table.min().min(), 1.2115, 1.2125)
        claim(table["+ counts of everything"]["our model"] == table.min().min())
    with says("with the same counts mixed in, our model is ahead by 0.11."):
        lead = table.loc["5-gram"] - table.loc["our model"]
        claim(lead["+ counts of everything"], 0.105, 0.115)
    with says("457 docstrings of 261 kB"):
        claim(len(texts["validation"]) == 457)
        claim(num_bytes / 1000, 260.5, 261.5)
    seen, cost = set(), {name: [] for name in ("bytes", "counter", "model")}
    places = [-1, *np.flatnonzero(new.numpy() == END_OF_TEXT)]
    both = {"counter": lent["+ counts of everything"]["5-gram"], "model": race["our model"]}
    for text, (before, end) in zip(texts["validation"], pairwise(places), strict=True):
        row = new[before + 1 : end].tolist()
        runs = [*zip(*(row[i:] for i in range(8)), strict=False)]
        if runs and sum(run in seen for run in runs) / len(runs) < 0.05:
            cost["bytes"].append(len(text.encode()) + 1)
            for name, p in both.items():  # p begins with the second token
                cost[name].append(-np.log2(p.to_numpy()[max(before, 0) : end]).sum())
        seen.update(runs)
    fresh = {name: sum(values) for name, values in cost.items()}
    with says("the two are close: 1.62 and 1.64"):
        claim(fresh["bytes"] / num_bytes, 0.385, 0.395)
        claim(fresh["counter"] / fresh["bytes"], 1.615, 1.625)
        claim(fresh["model"] / fresh["bytes"], 1.635, 1.645)
