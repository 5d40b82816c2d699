"""What chapter 18 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("With 1.4 million parameters, 2.9 megabytes at two bytes each"):
    claim(size / 1e6, 1.4, 1.5)
texts_kept = [sample["text"] for sample in recipe["samples"][:2]]
with says("There is no DataFrame.is_people"):
    claim("DataFrame.is_people" in texts_kept[0] and not hasattr(pd.DataFrame, "is_people"))
with says("the bracket that opens in pd.DataFrame( is closed by a }"):
    claim("index=[0, 2, 3]}" in texts_kept[0])
with says("must accept two variables, such as floats, or None says nothing at all"):
    claim("must accept two variables, such as floats, or None" in texts_kept[1])

kept_bits = recipe["bits_per_byte"]
same_packages = package_versions() == recipe["packages"]  # others have other texts
with says("in 39 minutes on two cores"):
    claim(recipe["curve"][-1]["seconds"] / 60, 38, 40)
with says("our model takes 1.67 bits a byte"):
    claim(kept_bits["model"], 1.665, 1.675)
with says("the best counter, which looks four tokens back, 1.88"):
    claim(kept_bits["5-gram"], 1.875, 1.885)
with says("0.20 more (0.19 to 0.21; the interval says what other texts could have given)"):
    if same_packages:
        claim(abs(np.subtract(ahead["window"], (0.20, 0.19, 0.21))).max(), at_most=0.008)
with says("it is 1.24 with our model, 1.34 with the counter"):
    if same_packages:
        claim(helped["model"], 1.235, 1.245)
        claim(helped["5-gram"], 1.335, 1.345)
with says("0.10 more (0.10 to 0.11)"):
    if same_packages:
        claim(abs(np.subtract(ahead["memory"], (0.10, 0.10, 0.11))).max(), at_most=0.008)
with says("and 1.59 for lzma"):
    claim(kept_bits["lzma"], 1.585, 1.595)
with says(
    "better than knowing which tokens are frequent (3.02), and worse than counting pairs (2.16)"
):
    claim(found["live"], kept_bits["2-gram"], kept_bits["1-gram"])
with says("the four mixtures take 2.87 to 2.91 bits a byte after 100 steps"):
    claim(mixtures.mean().min(), 2.86, 2.88)
    claim(mixtures.mean().max(), 2.90, 2.92)

with says("of its runs of eight tokens, 47 % have stood in the same text before"):
    claim(shares["greedy"][0], 0.465, 0.475)
with says("In texts that people wrote it is 2 % (0.4 to 4.1)."):
    claim(shares["people"][0], 0.015, 0.025)
with says("With top-k, with top-p, or drawn as it is, it is 1.1 % at most in any of eight seeds"):
    for way in ("top-k, 5", "top-p, 0.8", "as it is"):
        claim(shares[way][2], at_most=0.0115)
with says("as our samples were drawn, 0.3 to 6 %; at temperature 0.5, 3 to 10 %"):
    claim(shares["as above: 0.8, 0.95"][2], at_most=0.06)
    claim(shares["temperature 0.5"][1], at_least=0.025)
    claim(shares["temperature 0.5"][2], at_most=0.105)
with says("With a penalty greedy repeats nothing"):
    claim(shares["greedy, penalty 1.3"][0], at_most=0.01)
with says("but then 14 of the 16 texts soon end, after 78 of 224 tokens in the median"):
    claim(sum(length < 224 for length in lengths), 13, 15)
    claim(np.median(lengths), 70, 90)

copied = two["second half"] < 1.25
with says("With two blocks, six of eight seeds learn to copy in 800 steps"):
    claim(copied.sum() == 6)
with says("a token of the second half then costs 0.1 to 1.2 nats"):
    claim(two["second half"].min(), at_most=0.2)
with says("With one block none of sixteen does"):
    for of_one in (one, wide):
        claim(of_one["second half"].min(), at_least=2.0)
with says("To know which tokens were said, and not in what order, makes it 2.6"):
    claim(bag, 2.58, 2.68)
with says("Only the best of the six, seed 0, does it as in the picture"):
    claim(after, at_least=0.5)
    claim((two[copied]["last, behind copy"] > 0.025).sum() == 1)
with says("Their second head looks at another place, to which the first has brought the copy"):
    claim(two[copied]["with weight"].min(), 0.58, 0.62)
    claim(two[copied]["brought there: copy"].min(), 0.31, 0.35)
    claim(two[copied]["what followed"].min(), 0.22, 0.26)
with says("Without either head all eight are worse than chance"):
    for without in ("without first head", "without last head"):
        claim(two[without].min(), at_least=np.log(32))
with says("but so is the one block of one head, at 4.4 to 4.8"):
    for without in ("without first head", "without last head"):
        claim(one[without].min(), at_least=np.log(32))

with says("the words of a repetition save the writer 0.20 nats a token of 3.8"):
    claim(saved["words"], 0.18, 0.22)
    claim(losses(model, cases["others"])[:, n:].mean(), 3.7, 3.9)
with says("and their order 0.01 (−0.01 to 0.04)"):
    claim(saved["order"], -0.01, 0.03)
strongest = one_back.amax(dim=1)
with says(
    "one in block 3 gives 0.39 of its weight to the token before, and one in block 4 gives 0.44"
):
    claim(strongest[3], 0.375, 0.405)
    claim(strongest[4], 0.425, 0.455)
with says("The strongest, 0.50, stands in the last block"):
    claim(strongest[5], 0.485, 0.515)
    claim(strongest.argmax() == 5)
with says("In the first three blocks, none gives more than 0.13."):
    claim(strongest[:3].max(), 0.11, 0.15)
with says("no head gives it more than 1.6 %, where an even share is 0.7 %"):
    even, spread = rests["first token"]
    claim(spread.max(), 0.0155, 0.0165)
    claim(even, 0.0065, 0.0075)
with says("34 to 42 % of the weight of one head in each of the last three blocks"):
    even, spread = rests["line breaks"]
    claim((spread.amax(dim=1)[3:] > 0.33).sum() == 3)
    claim((spread > 0.33).sum() == 3)
    claim(spread.max(), 0.40, 0.43)
    claim(even, 0.085, 0.095)

with says("The longest run in a text of the model has 52 characters (the median; 45 to 60)"):
    claim(abs(np.divide(medians["the model"], (52, 45, 60)) - 1).max(), at_most=0.06)
with says("in one of another library 34 (33 to 34)"):
    if same_packages:
        claim(abs(np.divide(medians["other libraries"], (34, 33, 34)) - 1).max(), at_most=0.06)
with says("in one that people wrote for the same six 115 (66 to 164)"):
    if same_packages:
        claim(abs(np.divide(medians["the same libraries"], (115, 66, 164)) - 1).max(), at_most=0.06)
with says("The longest of all has 101 characters in the model's texts"):
    if same_packages:
        claim(longest["the model"].max(), 101, 101)
with says("some of people's stand in another place word for word"):
    if same_packages:
        claim(longest["the same libraries"].max(), 450, 450)
with says("the beginning of a text costs our writer 0.01 nats a token less"):
    claim(cost.mean(), -0.03, 0.01)
