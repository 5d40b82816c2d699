"""What chapter 17 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("at least 99.3 % of 1,000 dates that it has never seen come out right"):
    claim(whole["right"].min(), at_least=0.993)
    claim(len(whole) == 8)
heads = whole.set_index("seed")[[f"head {h}" for h in range(4)]]
with says("In the first model two heads look at the digits."):
    claim(int((heads.loc[0] > 0.9).sum()) == 2)
with says("In the second none does, and it translates as well."):
    claim(heads.loc[6].max(), at_most=0.5)
with says("With nothing to read, both guess among ten digits."):
    claim(whole["hidden from both"].max(), at_most=0.13)
with says("with its largest weight on 82 to 98 % of the digits"):
    claim(int((best > 0.8).sum()) == 7)
    claim(best[best > 0.8].min(), at_least=0.815)
    claim(best.max(), at_most=0.985)
with says("in the eighth the best head has 41 %"):
    claim(best.min(), 0.405, 0.415)
with says("this model still gives it a probability of 0.88"):
    claim(whole["hidden from the decoder"].max(), 0.875, 0.885)
with says("in each of eight runs, and not one of 1,000 dates comes out right"):
    claim(no_mask["right"].max(), at_most=0.0)
    claim(no_mask["loss"].max(), at_most=0.02)
