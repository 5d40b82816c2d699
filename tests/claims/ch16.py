"""What chapter 16 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

ahead, low, high = interval(100 * (vectors - counting))
with says("With one label of each class, vectors are ahead of counting by 6.7 points (3.6 to 9.9)"):
    claim(ahead[0], 4, 10, on=NEWS)
    claim(low[0], at_least=1, on=NEWS)
with says("With five to ten the two are level, and with 50 counting leads by one (−0.1 to 2.1)."):
    claim(abs(ahead[2:4]).max(), at_most=1.5, on=NEWS)
    claim(low[3] < 0 < high[3], on=NEWS)
    claim(ahead[-1], -2, 0, on=NEWS)
with says("the names alone are worth 3.2 (2.4 to 4.1)"):
    claim(worth_of["names alone"][0][0], 2.4, 4.1, on=NEWS)
with says(
    "one label of each class with vectors 1.3 (1.2 to 1.5), and 50 are worth 29 (20 or more)"
):
    claim(worth_of["vectors"][0][0], 1.1, 1.6, on=NEWS)
    claim(worth_of["vectors"][0][-1], 20, 45, on=NEWS)
with says("the names are worth 5.3 (4.2 to 7.2) and one label 1.8 (1.6 to 2.2)"):
    claim(worth_same["names alone"][0][0], 4.2, 7.2, on=NEWS)
    claim(worth_same["vectors"][0][0], 1.5, 2.3, on=NEWS)
with says("One label of each class adds nothing that we can see (−0.8 points, −3.8 to 2.1"):
    claim(np.quantile(more[:, 0], 0.975), at_least=0, on=NEWS)
with says("two add 3.2 (0.2 to 6.2)"):
    claim(more[0, 1], 0.2, 6.2, on=NEWS)
with says("the names of the classes sort 0.82 of the articles rightly"):
    claim(by_name[0], 0.79, 0.85, on=NEWS)
with says("one alone is worth 2.0 labels, another 3.5"):
    claim(min(of_wording), 1.6, 2.4, on=NEWS)
    claim(max(of_wording), 3, 4, on=NEWS)
with says("| two of each class | vectors and names | 0.85; counting 0.76 |"):
    claim(with_names[0][1], 0.83, 0.87, on=NEWS)
same, low, high = interval(100 * (vectors - same_text))
with says("vectors lead by 12 points with one label, by 3.6 (2.1 to 5.1) with ten"):
    claim(same[0], 9, 15, on=NEWS)
    claim(low[3], at_least=0.5, on=NEWS)
with says("and with 50 the two are level"):
    claim(abs(same[-1]), at_most=1, on=NEWS)

with says("its rows give 0.67 with one label, what leaves the blocks 0.66"):
    claim(averaged["table, plain"][0][0], 0.62, 0.71, on=NEWS)
    claim(averaged["blocks, plain"][0][0], 0.62, 0.7, on=NEWS)
with says("with two the table is ahead, 0.81 to 0.78"):
    claim(gap[0, 1], -6, -1, on=NEWS)
with says("−1.0 points with one label (−3.9 to 2.3), 0.6 with ten (−0.9 to 2.1) and 0.1 with 50"):
    for i, at_most in ((0, 3), (3, 2), (-1, 1.5)):
        claim(abs(gap[0, i]), at_most=at_most, on=NEWS)
        claim(np.quantile(gap[:, i], 0.025), at_most=0, on=NEWS)
        claim(np.quantile(gap[:, i], 0.975), at_least=0, on=NEWS)
with says("compared by table rows they sort 0.77 of the articles"):
    claim(by_rows[0], 0.74, 0.81, on=NEWS)
with says("it is the trained rows that help: random ones give 0.34"):
    claim(averaged["random table, plain"][0][0], 0.28, 0.42, on=NEWS)
with says("the blocks worse, 0.58 with one label"):
    claim(averaged["blocks, by rarity"][0][0], 0.54, 0.62, on=NEWS)

place, next_word, sense = (np.array(x) for x in probed.values())  # (7, 2) each
with says("A token's place is told in 0.80 of the cases before the blocks, 0.22 after six"):
    claim(place[0, 0], 0.7, 0.9, on=NEWS)
    claim(place[6, 0], 0.12, 0.32, on=NEWS)
with says("the next word in 0.43 from the token alone, 0.86 after two blocks, 0.51 after six"):
    claim(next_word[0, 0], 0.35, 0.5, on=NEWS)
    claim(next_word[2, 0], 0.8, 0.92, on=NEWS)
    claim(next_word[6, 0], 0.42, 0.6, on=NEWS)
with says("the sense in 0.58, after one block 0.92, and so to the end"):
    claim(sense[0, 0], 0.5, 0.65)
    claim(sense[1:, 0].min(), at_least=0.88)
with says("The controls do no better than a guess: 0.03, 0.25 (always the commonest word), 0.5."):
    claim(place[:, 1].max(), at_most=0.07, on=NEWS)
    claim(next_word[:, 1].max(), at_most=commonest, on=NEWS)
    claim(abs(sense[:, 1] - 0.5).max(), at_most=0.12)
with says("also tells the sense in 0.92 of our sentences"):
    claim(np.mean(around, axis=0)[0], 0.85, 0.97)

with says("Nine articles divide the two methods, two to seven."):
    claim(on_test["first alone"], at_most=6, on=NEWS)
    claim(on_test["second alone"], 4, 12, on=NEWS)
with says("these articles cannot say which is better"):
    claim(on_test["p"], at_least=0.05, on=NEWS)
with says("where vectors give 0.969 and counting 0.979"):
    claim(each[0].mean(), 0.96, 0.98, on=NEWS)
    claim(each[1].mean(), 0.97, 0.985, on=NEWS)
with says("Eight articles get a wrong class from both"):
    claim(len(missed), 8, 12, on=NEWS)
with says("We have 487, which find a true point one time in four."):
    claim(power, 0.2, 0.3, on=NEWS)
with says("17 to 21 is what a coin does (p = 0.63)"):
    claim(in_parts["counting"]["first alone"], 11, 24, on=NEWS)
    claim(in_parts["counting"]["second alone"], 15, 30, on=NEWS)
    claim(in_parts["counting"]["p"], at_least=0.1, on=NEWS)
with says("it is 22 to 17 for the vectors (p = 0.52)"):
    claim(in_parts["same text"]["p"], at_least=0.1, on=NEWS)
with says("a billion pairs of texts are worth about a point here at most, to either side"):
    claim(max(abs(x["points"]) + x["±"] for x in in_parts.values()), at_most=1.2, on=NEWS)

with says("fine-tuning makes 15, 12 and 14 mistakes in 487 articles"):
    claim(mistakes(tuned) == ["15", "12", "14"], on=NEWS)
with says("frozen vectors 15 and counting 10"):
    claim(mistakes([by_vectors, by_words]) == ["15", "10"], on=NEWS)
with says("(p from 0.33 to 0.80)"):
    p_values = [compare(run, by_words)["p"] for run in tuned]
    claim(min(p_values), 0.325, 0.335, on=NEWS)
    claim(max(p_values), 0.795, 0.805, on=NEWS)
with says("it is 13, 7 and 11 mistakes; the frozen model's, averaged so, give 14"):
    claim(mistakes(with_words) == ["13", "7", "11"], on=NEWS)
    claim(mistakes([average]) == ["14"], on=NEWS)
with says("Three articles, all labelled politics, are wrong in every run."):
    claim([classes[i] for i in lost] == ["politics"] * 3, on=NEWS)

ours, small, still, *_ = runs_of.values()
with says("(24,576 numbers that learn) make 23, 24, 29 and 29 mistakes"):
    claim(mistakes(small) == ["23", "24", "29", "29"])
with says("fine-tuning of both blocks (3.5 million) 26, 26, 30 and 28"):
    claim(mistakes(ours) == ["26", "26", "30", "28"])
with says("it is 6 : 3, 5 : 3, 8 : 7 and 5 : 6 for the adapters"):
    pairs = [compare(a, b) for a, b in zip(small, ours, strict=True)]
    counted = [(x["first alone"], x["second alone"]) for x in pairs]
    claim(counted == [(6, 3), (5, 3), (8, 7), (5, 6)])
with says(
    "Both lead the frozen model in every draw if it, too, reads 64 tokens, not if it reads 256."
):
    for run in (ours, small):
        claim(all(a.sum() > b.sum() for a, b in zip(run, still, strict=True)))
    if NEWS.is_loaded:
        claim(mistakes(runs_of["frozen, 256 tokens"]) == ["18", "21", "22", "17"])
