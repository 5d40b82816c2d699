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


def divisions():
    for seed in range(1, 5):
        order = np.random.default_rng(seed).permutation(np.concatenate([train, test]))
        yield order[: len(train)], order[len(train) :]


# Names and k-means.
OTHERS = ["computers", "economy", "athletics", "film", "government"]
lines = [*classes, *OTHERS]
words_all, mini_all = (
    count(train),
    np.concatenate([vectors, embed_texts(lines, minilm, tokenizer).numpy()]),
)
lsa_all = reduce(words_all, train, 20)
with says("The names alone sort 0.76 of the test articles rightly with MiniLM."):
    claim(share_of(mini_all, names, train, 0), 0.755, 0.765, on=NEWS)
with says("Five class names, 1,225 unlabelled articles and k-means get 0.96 right"):
    for rows in (lsa_all, mini_all):
        claim(share_of(rows, names, train), 0.955, 0.965, on=NEWS)
    for known, asked in divisions():  # other divisions of the articles
        for rows in (reduce(count(known), known, 20), mini_all):
            for start in (names, names + 5):
                correct = nearest(rows[asked], k_means(rows, start, known)) == labels[asked]
                claim(correct.mean(), 0.945, 0.97, on=NEWS)
with says("with *computers, economy, athletics, film, government* in their place it is 0.96 again"):
    for rows in (lsa_all, mini_all):
        claim(share_of(rows, names + 5, train), 0.955, 0.965, on=NEWS)
with says("*Growth*, *economy* and *bank* stand in the same articles"):
    claim({"growth", "economy", "bank"} <= {*words_of.get("business", ())}, on=NEWS)
with says("A logistic regression needs 25 to 50 labels per class for that."):
    for name in outer:
        claim(hits[name, 10].mean(), at_most=0.95, on=NEWS)
        claim(hits[name, 50].mean(), 0.955, 0.965, on=NEWS)
    claim(hits["LSA", 25].mean(), at_least=0.955, on=NEWS)
with says("It must hold enough of every class, though"):
    for seed in range(4):
        c = len(classes) - 1
        ten = np.random.default_rng(seed).permutation(train[labels[train] == c])[10:]
        centres = k_means(mini, names, np.setdiff1d(train, ten))
        found_of = (nearest(mini[test], centres) == labels[test])[labels[test] == c].mean()
        claim(checks.rare_class(found_of) == "Right.", on=NEWS)
with says("By the names, MiniLM finds 0.81 of the test articles on politics."):
    hit = nearest(mini[test], mini[names]) == labels[test]
    claim(hit[labels[test] == len(classes) - 1].mean(), 0.805, 0.815, on=NEWS)

# The archive.
lead = small["MiniLM"] - small["LSA"]
with says("*politics* does not occur"):
    missing = 0
    for i in range(8):
        few = np.random.default_rng(i).permutation(train)[:50]
        known_words = TfidfVectorizer().fit([texts[j] for j in few]).vocabulary_
        missing += classes[-1] not in known_words
    claim(missing, at_least=5, on=NEWS)
with says("From one word per class and no archive, MiniLM sorts 0.76 rightly"):
    claim(small["MiniLM"]["names", 0], 0.755, 0.765, on=NEWS)
with says("most articles contain none of the names"):
    claim(guessed.mean(), at_least=0.75, on=NEWS)
with says("From fifteen words it gets 0.87 to MiniLM's 0.91."):
    claim(small["LSA"]["15 words", 0], 0.865, 0.875, on=NEWS)
    claim(small["MiniLM"]["15 words", 0], 0.905, 0.915, on=NEWS)
with says("with 800 articles nothing of this lead is left."):
    claim(lead.xs(800, level=1).max(), at_most=0.005, on=NEWS)
with says(
    "| 800 articles, in classes of like size (exercise 1) | LSA or MiniLM, and k-means | 0.95 |"
):
    claim(small.xs(800, level=1)[["LSA", "MiniLM"]].min().min(), at_least=0.945, on=NEWS)

# The test set.
with says("the regression gets 0.98 with MiniLM and 0.97 with LSA"):
    claim(hits["MiniLM", ALL].mean(), 0.975, 0.985, on=NEWS)
    claim(hits["LSA", ALL].mean(), 0.965, 0.975, on=NEWS)
with says("| all of them labelled | LSA or MiniLM, and a regression | 0.97 |"):
    claim(np.concatenate(pairs, axis=1).mean(axis=1).min(), 0.965, 0.975, on=NEWS)
with says("Not below 0.05."):
    p = stats.binomtest(int(a), int(a + b)).pvalue if a + b else 1.0
    claim(p, at_least=0.05, on=NEWS)
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


with says("Below 0.05, if only just."):
    apart = [int(x.sum()) for x in (by_lsa & ~by_mini, by_mini & ~by_lsa)]
    claim(stats.binomtest(apart[0], max(1, sum(apart))).pvalue, 0.035, 0.05, on=NEWS)
with says("1,712 articles would show a lead of a point in about 80 of 100 cases; 487, in 23"):
    claim(power(1712), 0.78, 0.82)
    claim(power(487), 0.225, 0.235)
with says("would be right alone on 17 to MiniLM's 20: p = 0.74"):
    claim(len(everyone) == 1712, on=NEWS)
    more = []
    for others, part in KFold(8, shuffle=True, random_state=0).split(everyone):
        known, asked = everyone[others], everyone[part]
        more.append(right(reduce(count(known), known, 200), 10, ALL, known, asked, 0))
    by_200 = np.concatenate(more)
    two = [int(x.sum()) for x in (by_200 & ~by_mini, by_mini & ~by_200)]
    claim(two == [17, 20], on=NEWS)
    claim(stats.binomtest(two[0], max(1, sum(two))).pvalue, 0.735, 0.75, on=NEWS)
