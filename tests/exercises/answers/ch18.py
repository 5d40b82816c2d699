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


RIGHT = {
    ch18.merged_word: [in_a_loop, in_the_order_learnt],
}

WRONG = {
    ch18.merged_word: [
        (lambda word, merges: [*word, word[-1]], "a letter is used twice"),
        (lambda word, merges: in_a_loop(word, merges)[:1], "letters are lost"),
        (lambda word, merges: " ".join(word), "return a list of strings"),
        (lambda word, merges: in_a_loop(word, merges[:2]), "becomes"),
    ],
}
