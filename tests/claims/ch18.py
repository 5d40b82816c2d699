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
with says("The training took 3,912 steps and 39 minutes on two cores"):
    claim(kept.recipe["curve"][-1]["step"] == 3912)
    claim(kept.recipe["curve"][-1]["seconds"] / 60, 38, 40)
with says("Is 1.67 bits a byte good?"):
    claim(curve[3912], 1.665, 1.675)
with says("Three quarters of the fall comes in the first 300 of 3,912 steps."):
    claim((curve[0] - curve[300]) / (curve[0] - curve[3912]), 0.73, 0.79)
with says("headings of our own, which no docstring has"):
    claim(not re.findall(rf"^ *({'|'.join(own)})\n *--", "\n".join(texts["train"]), re.MULTILINE))
with says("of eight headings of our own only one gets the right number of dashes."):
    claim(sum(len(underline(heading)) == len(heading) for heading in own) == 1)
    claim(len(own) == 8)
with says("it writes the seven dashes of `Returns`"):
    claim(sum(len(underline(heading)) == 7 for heading in own), at_least=5)
if same_texts:
    with says("all 213 underlines that it writes fit"):
        claim(fit == len(heads) == 213)
    with says("Greedy repeats 47 % of its runs, people 2 %"):
        claim(repeated(by_greedy), 0.465, 0.475)
        claim(repeated(people), 0.015, 0.025)
    with says("four more such sets have 1.3 to 3.7 % repeated."):
        more = (vocabulary.encode(text) for text in texts["validation"])
        more = torch.tensor([row[32:256] for row in more if len(row) >= 256][16:80])
        shares = [100 * repeated(rows) for rows in more.split(16)]
        claim(min(shares), 1.25, 1.35)
        claim(max(shares), 3.65, 3.75)
by_way = draws.groupby("way")[["repeated", "invented"]]
with says("drawn freely, our model invents over twice as many words as people"):
    claim(by_way.min()["invented"]["p = 1.0"] / invented(people), at_least=2)
with says("On average, `p` = 0.7 is near them in both."):
    claim(by_way.mean()["repeated"]["p = 0.7"] - repeated(people), -0.01, 0.01)
    claim(by_way.mean()["invented"]["p = 0.7"] - invented(people), -0.01, 0.01)
with says("It is near people, too."):
    claim(by_way.mean()["repeated"]["careful"] - repeated(people), -0.01, 0.015)
    claim(by_way.mean()["invented"]["careful"] - invented(people), -0.01, 0.015)

if same_texts:
    table = pd.DataFrame({name: bits(p) for name, p in lent.items()})
    with says("beats our model alone, 1.32 bits a byte to 1.67"):
        claim(table["+ counts of all"]["5-gram"], 1.315, 1.325)
        claim(table["alone"]["our model"], 1.665, 1.675)
    with says("Alone, the second counter needs 1.72, hardly more than our model."):
        claim(bits(every), 1.715, 1.725)
    with says("Together they do best, with 1.22."):
        claim(table.min().min(), 1.215, 1.225)
        claim(table["+ counts of all"]["our model"] == table.min().min())
    with says("with the same counts mixed in, our model is ahead by 0.10."):
        lead = table.loc["5-gram"] - table.loc["our model"]
        claim(lead["+ counts of all"], 0.095, 0.105)
    with says("it costs 1.655 alone"):
        overlap = [(t, max(0, t - 192)) for t in range(0, len(new) - 1, 64)]
        found = [probabilities(model, new[s : t + 65])[t - s :] for t, s in overlap]
        claim(bits(np.concatenate(found)), 1.6545, 1.6555)
    with says("457 docstrings of two libraries"):
        claim(len(texts["validation"]) == 457)
    parts = cost.groupby(these_four).sum()
    with says("Where they are new, the two are about equal."):
        claim(abs(parts["counter"]["are new"] - parts["model"]["are new"]), at_most=0.025)
    with says("The lead lies where they stood before"):
        claim(parts["model"]["stood before"] - parts["counter"]["stood before"], at_least=0.3)
