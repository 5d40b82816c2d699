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
with says("which makes 1.67 bits 1.655"):
    claim(kept.recipe["curve"][-1]["bits_per_byte"], 1.665, 1.675)
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
with says("Drawn with `k` = 5 or `p` = 0.8 it is at most 1.1 %."):
    claim(shares.max()[["top-k, 5", "top-p, 0.8"]].max(), at_most=0.0115)
with says("with `k` = 3 it repeats about as often as people do, with `p` = 0.5 more often"):
    claim(shares.mean()["top-k, 3"], 0.015, 0.03)
    claim(shares.mean()["top-p, 0.5"], at_least=0.04)

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
    parts = cost.groupby(these_four).sum()
    with says("Where they are new, the two are equal."):
        claim(abs(parts["counter"]["are new"] - parts["model"]["are new"]), at_most=0.005)
    with says("The whole lead lies where they stood before"):
        claim(parts["model"]["stood before"] - parts["counter"]["stood before"], 0.325, 0.345)
