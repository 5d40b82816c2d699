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
with says("a byte of libraries that it has never read costs 3.63 bits at first"):
    claim(curve[0], 3.625, 3.635)
with says("2.13 after 300 steps and 1.67 at the end"):
    claim(curve[300], 2.125, 2.135)
    claim(curve[3912], 1.665, 1.675)
with says("Three quarters of the fall come in the first 300 of 3,912 steps."):
    claim((curve[0] - curve[300]) / (curve[0] - curve[3912]), 0.73, 0.79)


def headings(text):
    """Say of each heading whether the line below it is as long."""
    found = re.findall(r"^(.+)\n(-{3,})$", text, re.MULTILINE)
    return [len(head) == len(line) for head, line in found]


def copied(count=128, steps=256):
    """Let a table of 5-grams go on with how texts of the training begin."""
    read, draw = ids["train"].numpy(), np.random.default_rng(0)
    power = V ** np.arange(4)
    packed = np.lib.stride_tricks.sliding_window_view(read[:-1], 4) @ power
    order = packed.argsort(kind="stable")
    begin = np.flatnonzero(read == END_OF_TEXT)[:count, None] + 1
    drawn = read[begin + np.arange(4)]
    for _ in range(steps):
        asked = drawn[:, -4:] @ power
        low, high = (np.searchsorted(packed, asked, side, order) for side in ("left", "right"))
        place = order[low + (draw.random(count) * (high - low)).astype(int)]
        drawn = np.c_[drawn, read[place + 4]]
    return "\n\n".join(vocabulary.decode(row.tolist()).split("\0")[0] for row in drawn)


with says("At the end the lines fit."):
    claim(all(headings(vocabulary.decode(rows[3912]))))
with says("underlines more than 97 % of its headings with the right length"):
    fits = headings(copied())
    claim(len(fits) > 100)
    claim(np.mean(fits), at_least=0.97)

shares = repeats.groupby("way")["share"]
with says("47 % of its runs of eight tokens have stood in the same text before"):
    if same_texts:
        claim(by_greedy, 0.465, 0.475)
with says("where people have 2 %"):
    if same_texts:
        claim(by_hand, 0.015, 0.025)
with says("it is at most 1.1 % in each of eight seeds, less than people"):
    claim(shares.max()[["top-k, 5", "top-p, 0.8", "as it is"]].max(), at_most=0.0115)
    claim(shares.max()[["top-k, 5", "top-p, 0.8", "as it is"]].max() < by_hand)
with says("at temperature 0.5, 3 to 10 %"):
    claim(shares.min()["temperature 0.5"], at_least=0.025)
    claim(shares.max()["temperature 0.5"], at_most=0.105)

table = pd.DataFrame({name: bits(chances) for name, chances in lent.items()})
if same_texts:
    with says("A cache of 256 tokens brings counting from 1.845 bits a byte to 1.673"):
        claim(table["alone"]["5-gram"], 1.8445, 1.8455)
        claim(table["+ cache of 256"]["5-gram"], 1.6725, 1.6735)
    with says("close to the 1.655 of our model"):
        claim(table["alone"]["model"], 1.6545, 1.6555)
    with says("it leaves our model 0.154 ahead"):
        claim(-np.subtract(*table["+ cache of 256"].loc[["model", "5-gram"]]), 0.1535, 0.1545)
    with says("So a longer memory is not most of its lead."):
        lead = table.loc["5-gram"] - table.loc["model"]
        claim(lead.iloc[1:].min() / lead["alone"], at_least=0.5)
    with says("With the same cache, our model is ahead in more than nine of ten texts."):
        text_of = (new == END_OF_TEXT).long().cumsum(0)[:-1]
        for name in ("+ cache of 256", "+ cache of all"):
            saved = np.log2(lent[name]["model"] / lent[name]["5-gram"])
            gain = np.bincount(text_of, weights=saved)
            claim((gain > 0).mean(), at_least=0.9)

with says("a token has 3.02 bytes on average"):
    if same_texts:
        claim(num_bytes / len(new), 3.015, 3.025)
