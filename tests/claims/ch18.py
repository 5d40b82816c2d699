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
with says("Three quarters of the fall comes in the first 300 of 3,912 steps."):
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
with says("it is at most 1.1 % in each of eight seeds"):
    claim(shares.max()[["top-k, 5", "top-p, 0.8", "as it is"]].max(), at_most=0.0115)
with says("at temperature 0.5, 3 to 10 %"):
    claim(shares.min()["temperature 0.5"], at_least=0.025)
    claim(shares.max()["temperature 0.5"], at_most=0.105)

table = pd.DataFrame({name: bits(p) for name, p in lent.items()})
if same_texts:
    with says("A counter that remembers everything needs 1.322 bits a byte"):
        claim(table["+ counts of everything"]["5-gram"], 1.3215, 1.3225)
    with says("needs 1.655, or 1.519 with the counts of these"):
        claim(table["alone"]["our model"], 1.6545, 1.6555)
        claim(table["+ counts of last 256"]["our model"], 1.5185, 1.5195)
    with says("Where both mix in the same counts, our model is ahead, by 0.11 to 0.19."):
        lead = table.loc["5-gram"] - table.loc["our model"]
        claim(lead.min(), at_least=0.105)
        claim(lead.max(), at_most=0.195)
    with says("Here a longer memory is worth more (0.52 bits to the counter)"):
        gain = table["alone"] - table["+ counts of everything"]
        claim(gain["5-gram"], 0.515, 0.525)
        claim(gain.min() > lead.max())
