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
with says("The whole training took three epochs, 3,912 steps, and 39 minutes on two cores"):
    claim(kept.recipe["curve"][-1]["step"] == 3912)
    claim(kept.recipe["curve"][-1]["seconds"] / 60, 38, 40)
with says("Ten steps show little."):
    if same_texts:
        claim(losses[-1] / early["loss"][10], 0.999, 1.001)
with says("more than 97 % of its headings are underlined with exactly the right length"):
    claim(by_model[0], at_least=0.97)
with says("about one in five does not exist"):
    claim(1 - by_model[1], 0.15, 0.27)
with says("In what people wrote it is fewer than one in a hundred."):
    claim(1 - by_people[1], at_most=0.01)

shares = repeats.groupby("way")["share"]
with says("47 % of its runs of eight tokens have stood in the same text before"):
    if same_texts:
        claim(by_greedy, 0.465, 0.475)
with says("where people have 2 %"):
    if same_texts:
        claim(by_hand, 0.015, 0.025)
with says("it is at most 1.1 % in each of eight seeds"):
    claim(shares.max()[["top-k, 5", "top-p, 0.8", "as it is"]].max(), at_most=0.0115)
with says("at temperature 0.5, 3 to 10 %"):
    claim(shares.min()["temperature 0.5"], at_least=0.025)
    claim(shares.max()["temperature 0.5"], at_most=0.105)

table = pd.DataFrame({name: bits(chances) for name, chances in lent.items()})
if same_texts:
    with says("Our model takes 1.67 bits a byte, and counting 1.85"):
        claim(table["alone"]["our model"], 1.665, 1.675)
        claim(table["alone"]["5-gram"], 1.84, 1.855)
    with says("with a cache of the 256 tokens that our model sees, counting takes 1.67, too"):
        claim(table["+ cache of 256"]["5-gram"], 1.665, 1.68)
    with says("our model is ahead, 1.53 to 1.67"):
        claim(table["+ cache of 256"]["our model"], 1.525, 1.535)
    with says("with a cache of all that has gone by, 1.22 to 1.32"):
        claim(table["+ cache of all"]["our model"], 1.215, 1.225)
        claim(table["+ cache of all"]["5-gram"], 1.315, 1.325)
    with says(
        "what looked like knowledge of the language was, for the greater part, a longer memory"
    ):
        both = table["+ cache of 256"]
        claim(
            (table["alone"]["5-gram"] - both["5-gram"])
            / (table["alone"]["5-gram"] - table["alone"]["our model"]),
            at_least=0.5,
        )
    with says("With the same cache, our model is ahead in more than nine of ten of the 457 texts."):
        text_of = (new == END_OF_TEXT).long().cumsum(0)[:-1]
        for name in ("+ cache of 256", "+ cache of all"):
            saved = np.log2(lent[name]["our model"] / lent[name]["5-gram"])
            gain = np.bincount(text_of, weights=saved)
            claim(len(gain) == 457)
            claim((gain > 0).mean(), at_least=0.9)

with says("a token has 3.02 bytes on average"):
    if same_texts:
        claim(num_bytes / len(new), 3.015, 3.025)
