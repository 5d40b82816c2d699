"""How much of a text is copied: for each character, the longest run up to it that others hold too.

The substrings of the text are put into one automaton, of at most two states a character, and the
sources are read through it once. So the cost is linear in both.

Source: Blumer and others 1985, "The smallest automaton recognizing the subwords of a text".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def copied_runs(text: str, sources: Iterable[str]) -> list[int]:
    """Give for each character the length of the longest run that ends there and is copied.

    Parameters
    ----------
    text : str, what was written
    sources : texts that it may be copied from; a run lies within one of them

    Returns
    -------
    list of int, characters, as long as ``text``: 0 where even the character is in no source

    Raises
    ------
    TypeError
        if ``sources`` is a single string
    """
    if isinstance(sources, str):
        raise TypeError("copied_runs takes a list of sources; put a single one in brackets.")
    after, link, length, ends = _automaton(text)
    longest = [0] * len(length)  # for each state, the longest of its runs that a source holds
    for source in sources:
        state = run = 0
        for character in source:
            while state and character not in after[state]:  # too long: leave out its beginning
                state = link[state]
                run = length[state]
            if character in after[state]:
                state = after[state][character]
                run += 1
                if run > longest[state]:
                    longest[state] = run
    by_length = sorted(range(1, len(length)), key=length.__getitem__)
    for state in reversed(by_length):  # where a run is held, its ends are
        if longest[state]:
            longest[link[state]] = length[link[state]]
    for state in by_length:  # where no run is, a shorter end of it may be
        if not longest[state]:
            longest[state] = longest[link[state]]
    return [longest[state] for state in ends]


def longest_copies(texts: Sequence[str], sources: Iterable[str]) -> list[int]:
    """Give for each text the length of its longest part that a source holds, in characters.

    The sources are read through once, whatever the number of texts.
    """
    runs = copied_runs("\0".join(texts), sources)  # a zero, which no source has, ends a run
    found, start = [], 0
    for text in texts:
        found.append(max(runs[start : start + len(text)], default=0))
        start += len(text) + 1
    return found


def _automaton(text: str) -> tuple[list[dict[str, int]], list[int], list[int], list[int]]:
    """Make the states of a text's substrings; two are in one state if they end at the same places.

    Returns
    -------
    after : for each state, the state that follows by each character; state 0 is the empty text
    link : the state of the longest end of its substrings that stands in other places as well
    length : the characters of its longest substring
    ends : for each character of the text, the state of the whole beginning up to it
    """
    after: list[dict[str, int]] = [{}]
    link, length, ends = [-1], [0], [0]
    for character in text:
        new, state = len(length), ends[-1]
        after.append({})
        length.append(length[state] + 1)
        link.append(0)
        ends.append(new)
        while state >= 0 and character not in after[state]:
            after[state][character] = new
            state = link[state]
        if state < 0:
            continue
        old = after[state][character]
        if length[old] > length[state] + 1:  # the longer ones end elsewhere than the shorter now
            shorter = len(length)
            after.append(dict(after[old]))
            length.append(length[state] + 1)
            link.append(link[old])
            link[old] = shorter
            while state >= 0 and after[state].get(character) == old:
                after[state][character] = shorter
                state = link[state]
            old = shorter
        link[new] = old
    return after, link, length, ends[1:]
