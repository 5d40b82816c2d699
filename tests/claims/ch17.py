"""What chapter 17 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("at least 99.3 % of 1,000 dates that it was not trained on come out right"):
    claim(whole["right"].min(), at_least=0.993)
    claim(len(whole) == 8)
with says("each year stands about 100 times among the training dates"):
    claim(20_000 / len({day.year for day in days}), 99.5, 100.5)
with says("the eight runs have 85 to 100 % right"):
    claim(whole["longest"].min(), at_least=0.845)
    claim(whole["longest"].min(), at_most=0.855)
    claim(whole["longest"].max(), at_least=0.995)
    claim(max(map(len, english)) == max(len(text) for text in write(longest, "en")))
heads = whole.set_index("seed")[[f"head {h}" for h in range(4)]]
with says("In the first model two heads look at the digits."):
    claim(int((heads.loc[0] > 0.9).sum()) == 2)
with says("In the second, none looks at even half of them."):
    claim(heads.loc[6].max(), at_most=0.5)
with says("Left with nothing, neither knows the digit."):
    claim(whole["nowhere"].max(), at_most=0.13)
with says("Most of its mistakes drop a digit or add one"):
    pairs = zip(translate(other, source[test]), german[test], strict=True)
    miscounted = [len(a) != len(b) for a, b in pairs if a != b]
    claim(sum(miscounted), at_least=len(miscounted) / 2)
six = whole[~whole["seed"].isin([2, 6])]
two = whole.set_index("seed").loc[[2, 6]]
with says("its largest weight lies on 94 to 98 % of the digits"):
    claim(best[six.index].min(), at_least=0.935)
    claim(best[six.index].max(), at_most=0.985)
    claim(len(six) == 6)
with says("and the decoder reads them there"):
    claim(six["own place"].min(), at_least=0.99)
    claim(six["elsewhere"].max(), at_most=0.13)
with says("Seed 2 is half and half."):
    claim(two.loc[2, "own place"], 0.5, 0.8)
    claim(two.loc[2, "elsewhere"], 0.5, 0.8)
with says("In seed 6 the best head has 41 %, and most digits are read elsewhere."):
    claim(best.min(), 0.405, 0.415)
    claim(two.loc[6, "own place"], at_most=0.5)
    claim(two.loc[6, "elsewhere"], at_least=0.5)
with says("These two have the most mistakes, 5 and 7 in 1,000 dates; the others have at most one."):
    claim([round(1000 * (1 - right)) for right in two["right"]] == [5, 7])
    claim(six["right"].min(), at_least=0.999)
with says("in each of eight runs, and not one of 1,000 dates comes out right"):
    claim(no_mask["right"].max(), at_most=0.0)
    claim(no_mask["loss"].max(), at_most=0.02)
with says("in the run above, the model with the mask writes 81 of 100 at a higher loss"):
    with_mask = [row["right"] for row in history if row["loss"] > cheated[-1]["loss"]]
    claim(max(with_mask), 0.805, 0.815)
