"""What chapter 6 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("The question and the statement get the same four answers, in another order."):
    claim((statement - question[:, order]).abs().max(), at_most=1e-5)
with says("The statement's weights are the question's, moved."):
    with torch.no_grad():
        _, again = layer(x[:, order], x[:, order], x[:, order])
    claim((again[0] - A[order][:, order]).abs().max(), at_most=1e-5)
with says("and so both can get the same answer, too."):
    claim((question[0, 0] - question[0, 2]).abs().max(), at_most=1e-5)
with says("With $D = 4$ there are two hands, with the frequencies 1 and 0.01."):
    claim((table[1] - torch.tensor([0.84, 0.54, 0.01, 1.0])).abs().max(), at_most=0.006)
with says("Only the offset counts."):
    scores = arrows @ arrows.T
    claim(scores[0, 1], 0.535, 0.545)
    claim((scores[5, 6] - scores[0, 1]).abs(), at_most=1e-5)
with says("Read the sentence backwards, and the same answers come out backwards."):
    new, back = MultiHeadAttention(16, 8, positions=ALiBi(8)), x.flip(1)
    with torch.no_grad():
        gap = (new(back, back, back)[0].flip(1) - new(x, x, x)[0]).abs().max()
    claim(gap, at_most=1e-5)
with says("is left: how far apart the two are, and which of them comes first."):
    new.positions = RotaryPositionalEncoding(2)
    with torch.no_grad():
        gap = (new(back, back, back)[0].flip(1) - new(x, x, x)[0]).abs().max()
    claim(gap, at_least=0.01)
with says("Eight heads have 1/2, 1/4, …, 1/256"):
    claim(alibi_slopes(8) == [2.0**-h for h in range(1, 9)])

with says("all four are right nearly always, 0.97 to 0.99 of the time."):
    claim(means["at 64"].min(), at_least=0.93)
with says("The same layer without positions cannot do better than 0.5."):
    twin, _ = which_came_first(100, 20, torch.Generator().manual_seed(0))
    other = torch.where((twin == 1) | (twin == 2), 3 - twin, twin)
    bag = OneQuestion("none").eval()
    with torch.no_grad():
        claim((bag(twin) - bag(other)).abs().max(), at_most=1e-5)
with says("the two with clocks end up well below a coin."):
    for kind in CLOCKS:
        claim(sum(interval(found[found["kind"] == kind]["at 512"])), at_most=0.5)
with says("They are right on early texts (0.86 to 0.94)"):
    claim(means["early"].min(), at_least=0.75)
with says("nearly always wrong on late ones (0.05 to 0.10)."):
    late = means["late"]
    claim(late.drop("ALiBi").max(), at_most=0.2)
with says("put the word 7 in its place, and 0.54 and 0.49 of the late answers change"):
    tested = mean_slowed.loc[["learned", "rotary"]]
    claim(tested["late, near hidden"].min(), at_least=0.3)
with says("where they have learnt nothing, only 0.11 and 0.05."):
    claim(tested["late, far hidden"].max(), at_most=0.25)
with says("and with two of them the learned models guess (0.50 ± 0.06)."):
    far = means["far apart"]
    claim(far["learned"], 0.4, 0.6)
with says("models are right in 0.19 ± 0.10 of the cases, the sinusoidal ones in 0.27 ± 0.16."):
    claim(far[CLOCKS].max(), at_most=0.4)
    for kind in CLOCKS:
        claim(sum(interval(found[found["kind"] == kind]["far apart"])), at_most=0.5)
with says("With a word at place 64 or before it is right (late: 0.96"):
    claim(late["ALiBi"], at_least=0.85)
with says("With both beyond it is hardly better than a coin (0.54 ± 0.03)."):
    claim(means.loc["ALiBi", "both beyond"], 0.45, 0.62)
with says("Of the farther word it sees nothing: put the word 7 there, and not one answer changes"):
    blind = mean_hands.loc["ALiBi"]
    claim(blind["one beyond, far hidden"], at_most=0.02)
    claim(blind["two beyond, far hidden"], at_most=0.02)

with says("rises from 0.42 to 0.97 ± 0.02 (sinusoidal) and from 0.37 to 0.98 ± 0.01"):
    for kind in CLOCKS:
        claim(mean_slowed.loc[kind, "at 512, none"], at_most=0.5)
        claim(mean_slowed.loc[kind, "at 512, 0.1 and 0.01"], at_least=0.9)
with says("Each clock needs both; which of them helps more, and where, differs"):
    for kind, low in (("sinusoidal", 0.8), ("rotary", 0.3)):
        row = mean_hands.loc[kind]
        claim(row["late, 0.1"], at_least=low)
        claim(row["far apart, 0.01"], at_least=0.5)
        claim(min(row["late, 0.1"], row["far apart, 0.1"]), at_most=0.9)
        claim(min(row["late, 0.01"], row["far apart, 0.01"]), at_most=0.8)
with says("The fastest and the slowest change next to nothing."):
    for kind in CLOCKS:
        row = mean_hands.loc[kind]
        for group in ("late", "far apart"):
            for name in ("1", "0.001"):
                claim(row[f"{group}, {name}"] - row[f"{group}, none"], -0.06, 0.06)
with says("the same models are right 0.95 to 0.98 of the time at 512 words."):
    claim(means["squeezed"].min(), at_least=0.8)
    claim(means.loc[CLOCKS, "squeezed"].min(), at_least=0.93)
with says("0.94 ± 0.04 falls to 0.69 ± 0.15 for sinusoidal positions, 0.93 ± 0.02 to 0.72 ± 0.13"):
    side = mean_slowed.loc[CLOCKS]
    claim(side["neighbours at 64, none"].min(), at_least=0.85)
    claim(side["neighbours at 64, all"].max(), at_most=0.85)
with says("(The learned table loses 0.23 ± 0.02, ALiBi 0.22 ± 0.16.)"):
    lost = mean_hands["neighbours at 64"] - mean_hands["squeezed neighbours at 64"]
    claim(lost[["learned", "ALiBi"]].min(), at_least=0.1)
with says("with the middle pair alone slowed, it is 0.61 ± 0.07 and 0.73 ± 0.10."):
    claim(side["neighbours at 64, 0.1 and 0.01"].max(), at_most=0.85)
with says("In 512 words neighbours are not far from a guess, before and after, with one exception"):
    claim(mean_hands["neighbours at 512"].max(), at_most=0.7)
    claim(mean_hands["squeezed neighbours at 512"].max(), at_most=0.7)
with says("and rotary models go from 0.56 ± 0.04 to 0.77 ± 0.04."):
    claim(side.loc["rotary", "neighbours at 512, 0.01"], at_least=0.68)
with says("they then get only 0.65 ± 0.09 right."):
    claim(side.loc["rotary", "at 512, 0.01"], 0.5, 0.8)
