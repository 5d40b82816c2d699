"""What chapter 16 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

# What stands in the kept file is what the model gives.
with says("the mean over the tokens (*mean pooling*) is the vector of the article"):
    again = embed_texts([whole[i] for i in (0, 700, N - 1)], minilm, tokenizer)
    cosines = (again.numpy() * vectors[[0, 700, N - 1]]).sum(axis=1)
    claim(cosines.min(), at_least=0.999)
    claim(vectors.shape[1] == 384)
with says("the first 256 tokens of each article"):
    claim(
        max(len(row) for row in tokenizer(texts, truncation=True, max_length=300)["input_ids"]),
        at_most=260,
    )

with says("the first is what all articles have in common"):
    table = count(train)[train]
    common = np.asarray(table.mean(axis=0)).ravel()
    first = TruncatedSVD(3, random_state=0).fit(table).components_[0]
    claim(abs(first @ common) / np.linalg.norm(common), at_least=0.9, on=NEWS)


def divisions():
    for seed in range(1, 5):
        order = np.random.default_rng(seed).permutation(np.concatenate([train, test]))
        yield order[: len(train)], order[len(train) :]


# Lines and k-means.
words_all = outer["TF-IDF"][0]  # with the five lines
with says("more than three quarters of the articles that go to a line belong there"):
    goes = nearest(mini[train], mini[five])
    for c in range(len(classes)):
        claim((labels[train][goes == c] == c).mean(), at_least=0.75, on=NEWS)
with says("With TF-IDF, 528 articles share no word with any line"):
    shared = np.asarray(words_all @ means(words_all[five], known_class[five]).T)
    goes, apart = shared.argmax(axis=1), shared.max(axis=1) == 0
    claim(apart[train].sum() == 528, on=NEWS)
    claim((goes[train][apart[train]] == classes.index("tech")).all(), on=NEWS)
with says("left out of the first round, they leave it at 0.95"):
    came = train[~apart[train]]
    centres = means(words_all[came], goes[came])
    for _ in range(9):
        centres = means(words_all[train], nearest(words_all[train], centres))
    claim((nearest(words_all[test], centres) == labels[test]).mean(), 0.945, 0.955, on=NEWS)
with says("With ten articles of one class among all the others"):
    for seed in range(4):
        c = len(classes) - 1
        ten = np.random.default_rng(seed).permutation(train[labels[train] == c])[10:]
        centres = k_means(mini, five, np.setdiff1d(train, ten))
        found_of = (nearest(mini[test], centres) == labels[test])[labels[test] == c].mean()
        claim(checks.rare_class(found_of) == "Right.", on=NEWS)
with says("By the lines, MiniLM finds 0.78 of the test articles on politics."):
    hit = nearest(mini[test], mini[five]) == labels[test]
    claim(hit[labels[test] == len(classes) - 1].mean(), 0.775, 0.785, on=NEWS)

# Labels.
with says(
    "With five labels per class as its seeds, k-means gets 0.96 right with each of the three"
):
    for name in outer:
        claim(mean[name, "k-means", 5], 0.955, 0.965, on=NEWS)
    for known, asked in divisions():  # others: as much as a regression with fifty, or nearly
        words = count(known)
        for rows in (words, reduce(words, known, 50), mini):
            few, many = (
                np.mean([right(rows, C, n, known, asked, s) for s in range(3)])
                for C, n in ((None, 5), (10, 50))
            )
            claim(few, 0.94, 0.97, on=NEWS)
            claim(few - many, at_least=-0.02, on=NEWS)
with says("A regression needs 25 to 50 for that."):
    for name in outer:
        claim(mean[name, "regression", 10], at_most=0.95, on=NEWS)
        claim(mean[name, "regression", 50], 0.955, 0.965, on=NEWS)
    claim(mean["LSA", "regression", 25], at_least=0.955, on=NEWS)
with says("With LSA or MiniLM, five lines and no label do about as well."):
    for name in ("LSA", "MiniLM"):
        claim(mean[name, "k-means", 0] - mean[name, "k-means", 5], at_least=-0.005, on=NEWS)
    for known, asked in divisions():
        for rows in (mini, reduce(count(known), known, 50)):
            lines_alone = right(rows, None, 0, known, asked, 0).mean()
            labelled = np.mean([right(rows, None, 5, known, asked, s) for s in range(3)])
            claim(lines_alone - labelled, at_least=-0.01, on=NEWS)
with says("With all labels the regression is ahead."):
    for name in outer:
        claim(mean[name, "regression", ALL] > mean[name, "k-means", ALL], on=NEWS)
with says("the worst of 20 draws gets 0.95 with MiniLM, 0.74 with TF-IDF and 0.66 with LSA"):
    claim(one["MiniLM"].min(), 0.945, 0.955, on=NEWS)
    claim(one["TF-IDF"].min(), 0.735, 0.745, on=NEWS)
    claim(one["LSA"].min(), 0.655, 0.665, on=NEWS)

# The archive.
with says(
    "0.86 to 0.74 with six words a class, 0.88 to 0.82 with fifteen, 0.88 to 0.83 with five labels"
):
    for start, ours, without in (
        ("6 words", 0.86, 0.74),
        ("15 words", 0.88, 0.82),
        ("5 labels", 0.88, 0.83),
    ):
        claim(small["MiniLM"][start, 50], ours - 0.005, ours + 0.0051, on=NEWS)
        claim(best[start, 50], without - 0.005, without + 0.0051, on=NEWS)
with says("With 800 articles nothing of this lead is left."):
    claim((small["MiniLM"] - best).xs(800, level=1).max(), at_most=0.005, on=NEWS)
with says(
    "With no archive at all, MiniLM gets 0.85 from the short lines and 0.91 from the long ones"
):
    short, long = (
        (nearest(mini[test], mini[rows]) == labels[test]).mean() for rows in (five, five + 5)
    )
    claim(short, 0.845, 0.855, on=NEWS)
    claim(long, 0.905, 0.915, on=NEWS)
with says("| 800 articles | LSA or MiniLM, and k-means | 0.95 |"):
    for start in ("6 words", "5 labels"):
        claim(min(small["MiniLM"][start, 800], best[start, 800]), at_least=0.945, on=NEWS)

# The test set.
with says("the regression does a little better with MiniLM than with LSA"):
    claim(
        mean["MiniLM", "regression", ALL] - mean["LSA", "regression", ALL],
        0.0001,
        0.01,
        on=NEWS,
    )
with says("With all labels, LSA and MiniLM differ on 10 of 487 articles, 3 to 7 (p = 0.34)."):
    claim((a, b) == (3, 7), on=NEWS)
    p = stats.binomtest(int(a), int(a + b)).pvalue if a + b else 1.0
    claim(p, 0.335, 0.345, on=NEWS)
    claim(
        checks.exact_p_value(lambda a, b: stats.binomtest(a, a + b).pvalue if a + b else 1.0)
        == "Right."
    )


def power(n):
    """How often the exact test finds a lead of a point, where 2 % of the articles differ."""
    tosses = np.arange(201)
    of_one = stats.binom.pmf(tosses[:, None], tosses, 0.75)  # (first alone, tosses)
    fewer = np.minimum(tosses[:, None], tosses - tosses[:, None])
    found = 2 * stats.binom.cdf(fewer, tosses, 0.5) < 0.05
    return (of_one * found).sum(axis=0) @ stats.binom.pmf(tosses, n, 0.02)


with says("A test set of this size would show a lead of a point, as above, in 23 of 100 cases."):
    claim(power(487), 0.225, 0.235)
with says(
    "Cross-validated on all 1,712, where it would show in about 80, they differ by 18 to 23 (p = 0.53)."
):
    claim(len(everyone) == 1712, on=NEWS)
    claim(power(1712), 0.78, 0.82)
    apart = [int(x.sum()) for x in (by_lsa & ~by_mini, by_mini & ~by_lsa)]
    claim(apart == [18, 23], on=NEWS)
    claim(stats.binomtest(apart[0], sum(apart)).pvalue, 0.525, 0.535, on=NEWS)
with says("To see a lead of one point in 80 of 100 cases takes about 1,700 articles."):
    claim(power(1650), at_most=0.8)
    claim(power(1750), at_least=0.8)
