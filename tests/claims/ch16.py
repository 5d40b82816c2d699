"""What chapter 16 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

mean = {at: x.mean() for at, x in share.items()}  # by name and number of labels


def gap(name, other, n):
    """How far the first is ahead on average, and both ends by Student's t over draws."""
    d = share[name, n] - share[other, n]
    return d.mean(), *stats.t.interval(0.95, len(d) - 1, d.mean(), stats.sem(d))


# What stands in the kept file is what the model gives.
with says("It turns an article into a vector of 384 numbers."):
    again = embed_texts([whole[i] for i in (0, 700, N - 1)], minilm, tokenizer)
    cosines = (again.numpy() * vectors[[0, 700, N - 1]]).sum(axis=1)
    claim(cosines.min(), at_least=0.999)
with says("Everybody reads the same text: the first 256 tokens of each article"):
    claim(
        max(len(row) for row in tokenizer(texts, truncation=True, max_length=300)["input_ids"]),
        at_most=260,
    )

# The curve.
with says(
    "With one label of each class and the archive, LSA sorts 0.87 of the test articles rightly, MiniLM 0.65 as it comes and 0.81 with the archive."
):
    claim(mean["LSA", 1], 0.855, 0.885, on=NEWS)
    claim(mean["MiniLM", 1], 0.635, 0.665, on=NEWS)
    claim(mean["MiniLM, archive", 1], 0.795, 0.825, on=NEWS)
with says("From ten labels on, the three are within two points of one another."):
    for n in (10, 25, 50, ALL):
        three = [mean[name, n] for name in ("LSA", "MiniLM", "MiniLM, archive")]
        claim(max(three) - min(three), at_most=0.02, on=NEWS)
with says(
    "With one label LSA leads each time, by three points or more. With 50 nobody leads by more than a point."
):
    for seed in range(1, 5):
        order = np.random.default_rng(seed).permutation(np.concatenate([train, test]))
        known, asked = order[: len(train)], order[len(train) :]
        words, centred = (
            count(known),
            np.concatenate([vectors - vectors[known].mean(axis=0), names]),
        )
        for n, k in ((1, 5), (50, 50)):
            three = reduce(words, known, k), vectors, reduce(centred, known, k)
            lsa, *others = (
                np.mean([right(x, n, 10, known, asked, s) for s in range(10)]) for x in three
            )
            if n == 1:
                claim(lsa - max(others), at_least=0.03, on=NEWS)
                claim(lsa - others[0], at_least=0.15, on=NEWS)
            else:
                claim(max(abs(lsa - x) for x in others), at_most=0.01, on=NEWS)
with says("with one label MiniLM is far ahead of it"):
    claim(gap("MiniLM", "TF-IDF", 1)[1], at_least=0.05, on=NEWS)

with says("with up to two labels that is what was chosen"):
    claim(
        all(chosen[name, n][0] == 5 for name in ("LSA", "MiniLM, archive") for n in (0, 1, 2)),
        on=NEWS,
    )
with says("the first is what all articles have in common"):
    words = count(train)[train]
    common = np.asarray(words.mean(axis=0)).ravel()
    first = TruncatedSVD(3, random_state=0).fit(words).components_[0]
    claim(abs(first @ common) / np.linalg.norm(common), at_least=0.9, on=NEWS)

# In articles.
with says(
    "By the names of the classes alone, MiniLM sorts 0.82 of the articles rightly. LSA needs about 400 unlabelled articles to do as well: with 200 it does worse, with 800 better."
):
    alone = by_names(tables["MiniLM"][0])
    claim(alone, 0.81, 0.83, on=NEWS)
    of_size = {}
    for size in (200, 400, 800):
        draws = [
            np.random.default_rng(s).choice(train, min(size, len(train)), False)
            for s in range(8, 14)
        ]
        of_size[size] = np.array([by_names(reduce(count(x), x, k=5)) for x in draws])
    claim(of_size[200].mean(), at_most=0.80, on=NEWS)
    claim(of_size[400].mean(), 0.77, 0.87, on=NEWS)
    claim(of_size[800].mean(), at_least=0.85, on=NEWS)
with says("LSA gets 0.90."):
    claim(mean["LSA", 0], 0.895, 0.915, on=NEWS)
    claim(chosen["LSA", 0][0] == 5, on=NEWS)
with says("With the archive, MiniLM's names rise to 0.92."):
    claim(mean["MiniLM, archive", 0], 0.91, 0.93, on=NEWS)
with says("with one labelled article of each class instead, neither gets as far"):
    claim(share["LSA", 1].mean() < mean["LSA", 0], on=NEWS)
    claim(share["MiniLM, archive", 1].mean() < mean["MiniLM, archive", 0], on=NEWS)
with says(
    "| an archive, ten labels of each class | LSA first: it takes a second | 0.93, MiniLM 0.92 |"
):
    claim(mean["LSA", 10], 0.92, 0.94, on=NEWS)
    claim(mean["MiniLM, archive", 10], 0.915, 0.93, on=NEWS)

# The test set.
with says("with all labels, MiniLM is ahead of LSA"):
    claim(mean["MiniLM", ALL] > mean["LSA", ALL], on=NEWS)
with says("the coin would have to fall 192 to 45"):
    first, second, p = compare(hits["LSA", 1][0], hits["MiniLM", 1][0])
    claim(abs(first - 192) + abs(second - 45), at_most=12, on=NEWS)
    claim(p, at_most=1e-10, on=NEWS)
with says("With all labels, LSA and MiniLM differ on 10 of 487 articles, 3 to 7 (p = 0.34)."):
    first, second, p = compare(hits["LSA", ALL][0], hits["MiniLM", ALL][0])
    claim((first, second) == (3, 7), on=NEWS)
    claim(p, 0.335, 0.345, on=NEWS)
    claim(
        checks.exact_p_value(lambda a, b: stats.binomtest(a, a + b).pvalue if a + b else 1.0)
        == "Right."
    )
with says("about 1,600 articles (800 to 2,900), more than three times as many as we have"):
    claim(articles_needed(10 / 487, 0.01), 1550, 1650)
    ends = stats.binomtest(10, 487).proportion_ci()
    claim(articles_needed(max(ends.low, 0.01), 0.01), 750, 850)
    claim(articles_needed(ends.high, 0.01), 2850, 2950)
with says("To find a true difference in four experiments of five takes about this many"):
    # 1,600 articles, of which one in fifty divides the two, 3 to 1: how often p < 0.05?
    draw = np.random.default_rng(0)
    tosses = draw.binomial(articles_needed(0.02, 0.01), 0.02, 4000)
    won = draw.binomial(tosses, 0.75)
    claim(
        np.mean(
            [
                stats.binomtest(int(a), int(n)).pvalue < 0.05
                for a, n in zip(won, tosses, strict=True)
            ]
        ),
        0.74,
        0.84,
    )

# Exercises.
with says("Predict the share that is right, without any label"):
    for found in (vote(tables["MiniLM"][0]), vote(tables["LSA"][20])):
        claim(checks.archive_votes(found) == "Right.", on=NEWS)
with says("How many numbers learn?"):
    claim(checks.adapter_numbers(sum(p.numel() for p in learn)) == "Right.")
