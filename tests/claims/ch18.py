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
with says("falls back on the word that is most frequent after *Compute the*"):
    after = Counter(re.findall(r"[Cc]ompute the (\w+)", "\n".join(texts["train"])))
    claim(max(MEANINGS.values(), key=lambda x: after[x.split()[0]]) == "mean")
with says("for five of the eight names, the right word gains most over its average"):
    score = np.empty((8, 8))
    for place in np.ndindex(8, 8):
        name, word = (list(MEANINGS)[place[0]], [*MEANINGS.values()][place[1]])
        asked = [END_OF_TEXT, *vocabulary.encode(f"numpy.{name} : Compute the {word} of")]
        score[place] = np.log(probabilities(model, torch.tensor(asked))).sum()
    score -= np.logaddexp.reduce(score, axis=1, keepdims=True)
    claim(((score - score.mean(axis=0)).argmax(axis=1) == np.arange(8)).sum() == 5)
    claim((score.argmax(axis=1) == 0).all())  # it expects *the mean*
if same_texts:
    with says("over 99 % of its underlines fit their headings"):
        claim(fit / len(heads), at_least=0.99)
    with says("Greedy repeats 47 % of its runs, people 2 %"):
        claim(repeated(by_greedy), 0.465, 0.475)
        claim(repeated(people), 0.015, 0.025)
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
    with says("Best are both together, with 1.22."):
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
