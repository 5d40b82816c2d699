"""What chapter 17 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("Of 1,000 dates that it was not trained on, 999 come out right"):
    claim(judge(model, test)["right"], at_least=0.99)  # printed: another processor, another number
with says("each year stands about 100 times among the training dates"):
    claim(20_000 / len({day.year for day in days}), 99.5, 100.5)
with says("In the first model two heads look at the digits."):
    claim(int((on_digit(model) > 0.9).sum()) == 2)
with says("In the second none looks at nine tenths of them, and its dates are nearly all right"):
    claim(on_digit(other).max().item(), at_most=0.9)
    claim(judge(other, test)["right"], at_least=0.99)
with says("The first model writes the digit in its own place, where its head points."):
    claim(contradict(model)["its place"], at_least=0.98)
with says("The second mostly writes what stands *elsewhere*"):
    claim(contradict(other)["elsewhere"], at_least=0.5)
with says(
    "In each of eight runs at least 99.3 % of 1,000 new dates of 1900 to 2099 come out right."
):
    claim(runs["right"].min(), at_least=0.993)
    claim(len(runs) == 8)
six = runs[~runs["seed"].isin([2, 6])]
two = runs.set_index("seed").loc[[2, 6]]
with says("its largest weight lies on at least 94 % of them, and the decoder writes what"):
    claim(six["best head"].min(), at_least=0.94)
    claim(six["its place"].min(), at_least=0.98)
    claim(len(six) == 6)
with says("Seed 6 mostly writes what stands elsewhere, and seed 2 lies between"):
    claim(two.loc[6, "elsewhere"], at_least=0.5)
    claim(two.loc[2, "its place"], two.loc[6, "its place"], six["its place"].min())
    claim(two.loc[2, "elsewhere"], six["elsewhere"].max(), two.loc[6, "elsewhere"])
with says(
    "In this run the loss without the causal mask is as low, and not one of 1,000 dates comes out "
    "right. Eight shorter runs write none right either."
):
    claim(judge(cheat, test)["right"], at_most=0.0)
    claim(judge(cheat, test)["loss"] < judge(model, test)["loss"])
    claim(cheats["right"].max(), at_most=0.0)
    claim(len(cheats) == 8)
