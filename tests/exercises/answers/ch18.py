"""The checks of chapter 18 accept what is right, however written, and name what is wrong."""

from itertools import pairwise

from exercises import ch18


def in_a_loop(word, merges):
    pieces = list(word)
    while known := [pair for pair in pairwise(pieces) if pair in merges]:
        pieces = joined(pieces, min(known, key=merges.index))
    return pieces


def in_the_order_learnt(word, merges):
    pieces = list(word)
    for pair in merges:
        pieces = joined(pieces, pair)
    return tuple(pieces)


def joined(pieces, pair):
    new, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair:
            new.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            new.append(pieces[i])
            i += 1
    return new


def leftmost(word, merges):
    pieces = list(word)
    while known := [i for i, pair in enumerate(pairwise(pieces)) if pair in merges]:
        pieces[known[0] : known[0] + 2] = [pieces[known[0]] + pieces[known[0] + 1]]
    return pieces


def longest_first(word, merges):
    known, pieces = {a + b for a, b in merges} | set(word), []
    while word:
        size = max(n for n in range(1, len(word) + 1) if word[:n] in known)
        pieces.append(word[:size])
        word = word[size:]
    return pieces


RIGHT = {
    ch18.merged_word: [in_a_loop, in_the_order_learnt],
    ch18.before_training: [3.64, 3.6, 11 / 3.02],
}

WRONG = {
    ch18.top_p: [
        (lambda x, p: x.square(), "the result is wrong at"),
        (lambda x, p: None, "should be a tensor"),
    ],
    ch18.merged_word: [
        (in_a_loop, {"min(known, key=merges.index)": "known[0]"}, "the first pair from the left"),
        (leftmost, "as soon as it is met, from the left"),
        (lambda word, merges: in_a_loop(word, merges[::-1]), "learnt last comes first"),
        (longest_first, "as WordPiece does"),
        (in_a_loop, {"while": "if"}, "one merge is not enough"),
        (
            in_the_order_learnt,
            {
                "joined(pieces, pair)": "[a + b * ((a, b) == pair) "
                "for a, b in pairwise([*pieces, ''])]"
            },
            "a letter is used twice",
        ),
        (lambda word, merges: list(word), "nothing is merged"),
        (lambda word, merges: in_a_loop(word, merges)[:1], "letters are lost"),
        (lambda word, merges: " ".join(word), "return a list of strings"),
        (lambda word, merges: in_a_loop(word, merges[:2]), "becomes"),
    ],
    ch18.before_training: [
        (11, "these are the bits of a token"),
        (33.2, "divide"),
        (7.62, "the nats of a token"),
        (2.52, "the base of the logarithm is 2, not e"),
        (1.1, "not 10"),
        (8, "bytes alone"),
        (9.41, "not the tokens"),
        (678.15, "take the logarithm"),
        (0, "nothing costs nothing"),
        (5, "one of 2 ** n"),
        ("many", "the number of bits"),
    ],
}
