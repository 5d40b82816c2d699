"""English sentences and what they are in German: a small grammar of our own, whose words move.

Three things make it more than a list of words. German puts participle and infinitive at the end,
and the verb second: `yesterday the man saw the old hat` is `gestern hat der Mann den alten Hut
gesehen`. Article and adjective follow the noun's gender and case. And where English ends with a
time, German may put it in two or three places, all of which are right.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torch import Tensor

from utils.text import BEGIN, END, pad_rows

MASCULINE, FEMININE, NEUTER = range(3)
PERSONS = {
    "man": ("Mann", MASCULINE),
    "king": ("König", MASCULINE),
    "brother": ("Bruder", MASCULINE),
    "woman": ("Frau", FEMININE),
    "queen": ("Königin", FEMININE),
    "sister": ("Schwester", FEMININE),
    "child": ("Kind", NEUTER),
    "girl": ("Mädchen", NEUTER),
    "baby": ("Baby", NEUTER),
}
THINGS = {
    "hat": ("Hut", MASCULINE),
    "apple": ("Apfel", MASCULINE),
    "letter": ("Brief", MASCULINE),
    "flower": ("Blume", FEMININE),
    "lamp": ("Lampe", FEMININE),
    "cup": ("Tasse", FEMININE),
    "book": ("Buch", NEUTER),
    "picture": ("Bild", NEUTER),
    "bread": ("Brot", NEUTER),
}
NOUNS = PERSONS | THINGS
ADJECTIVES = {"small": "klein", "old": "alt", "new": "neu", "beautiful": "schön", "red": "rot"}
VERBS = {  # the infinitive: present and past, then present, participle and infinitive in German
    "see": ("sees", "saw", "sieht", "gesehen", "sehen"),
    "find": ("finds", "found", "findet", "gefunden", "finden"),
    "draw": ("draws", "drew", "zeichnet", "gezeichnet", "zeichnen"),
    "carry": ("carries", "carried", "trägt", "getragen", "tragen"),
    "buy": ("buys", "bought", "kauft", "gekauft", "kaufen"),
    "sell": ("sells", "sold", "verkauft", "verkauft", "verkaufen"),
}
FOR_THINGS = ("buy", "sell")
TIMES = {"now": "jetzt", "today": "heute", "yesterday": "gestern"}
FITTING = {"present": ("now", "today"), "past": ("today", "yesterday"), "can": ("now", "today")}
DEFINITE = ("den", "die", "das")  # of an object; a subject has "der" for the masculine
INDEFINITE = ("einen", "eine", "ein")


class Sentence(NamedTuple):
    """What is said, in no language yet; nouns, verb, adjectives and time by their English words."""

    subject: str
    subject_adjective: str  # or ""
    verb: str
    tense: str  # present, past or can
    definite: bool  # the object: "the" or "a"
    adjective: str  # of the object, or ""
    object: str
    time: str  # or ""
    time_first: bool


def draw_sentences(
    n: int, seed: int, objects: Sequence[str] = tuple(NOUNS), subjects: Sequence[str] = ()
) -> list[Sentence]:
    """Draw ``n`` different sentences.

    Parameters
    ----------
    objects : the nouns that may be an object
    subjects : the persons that may be a subject, by default all

    Raises
    ------
    ValueError
        if a noun is none of ``NOUNS``, a subject none of ``PERSONS``, or there are too few
        sentences
    """
    if unknown := {*objects} - {*NOUNS} | {*subjects} - {*PERSONS}:
        raise ValueError(f"the grammar has no such noun there: {sorted(unknown)}.")
    draw = random.Random(seed)
    found: dict[Sentence, None] = {}
    for _ in range(20 * n):
        found[_draw(draw, list(objects), list(subjects) or list(PERSONS))] = None
        if len(found) == n:
            return list(found)
    raise ValueError(f"these nouns do not make {n} different sentences.")


def _draw(draw: random.Random, objects: list[str], subjects: list[str]) -> Sentence:
    subject, thing = draw.choice(subjects), draw.choice(objects)
    verbs = [verb for verb in VERBS if thing in THINGS or verb not in FOR_THINGS]
    tense = draw.choice(list(FITTING))
    return Sentence(
        subject,
        draw.choice(["", "", *ADJECTIVES]),
        draw.choice(verbs),
        tense,
        draw.random() < 0.5,
        draw.choice(["", "", *ADJECTIVES]),
        thing,
        draw.choice(["", *FITTING[tense]]),
        draw.random() < 0.5,
    )


def in_english(sentence: Sentence) -> str:
    """Write a sentence in English, in lower case and without a full stop."""
    s = sentence
    present, past, *_ = VERBS[s.verb]
    verb = {"present": present, "past": past, "can": f"can {s.verb}"}[s.tense]
    article = "the" if s.definite else ("an" if (s.adjective or s.object)[0] in "aeo" else "a")
    words = ["the", s.subject_adjective, s.subject, verb, article, s.adjective, s.object]
    return _join([s.time, *words] if s.time_first else [*words, s.time])


def in_german(sentence: Sentence) -> list[str]:
    """Write a sentence in German, in every order of its words that is right.

    Where the English time is the last word and the object has "the", German has three: the time
    first, after the verb, or after the object. With "a" the last is not idiomatic.
    """
    s = sentence
    *_, present, participle, infinitive = VERBS[s.verb]
    verb, end = {
        "present": (present, ""),
        "past": ("hat", participle),
        "can": ("kann", infinitive),
    }[s.tense]
    subject, (thing, gender) = _subject(s), NOUNS[s.object]
    what = _join([(DEFINITE if s.definite else INDEFINITE)[gender], _ending(s, gender), thing])
    time = TIMES.get(s.time, "")
    orders = [
        [time, verb, subject, what, end],
        [subject, verb, time, what, end],
        [subject, verb, what, time, end],
    ]
    if not s.time:
        return [_join(orders[1])]
    if s.time_first:
        return [_join(orders[0])]
    return [_join(order) for order in orders[: 3 if s.definite else 2]]


def _subject(s: Sentence) -> str:
    noun, gender = NOUNS[s.subject]
    adjective = ADJECTIVES[s.subject_adjective] + "e" if s.subject_adjective else ""
    return _join([("der", "die", "das")[gender], adjective, noun])


def _ending(s: Sentence, gender: int) -> str:
    """The adjective of the object, in the accusative."""
    if not s.adjective:
        return ""
    neuter = "e" if s.definite else "es"
    return ADJECTIVES[s.adjective] + ("en", "e", neuter)[gender]


def _join(words: Iterable[str]) -> str:
    return " ".join(word for word in words if word)


def pick_order(orders: Sequence[str], draw: random.Random) -> str:
    """Choose the time first in four of ten cases; the other orders share the rest equally."""
    if len(orders) == 1 or draw.random() < 0.4:
        return orders[0]
    return draw.choice(orders[1:])


class WordVocabulary:
    """An id for each word, from 3 on, in the order of Unicode.

    Parameters
    ----------
    texts : the texts whose words it knows; between words stands a space
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.words = sorted({word for text in texts for word in text.split()})
        self._ids = {word: i for i, word in enumerate(self.words, start=END + 1)}

    def __len__(self) -> int:
        return END + 1 + len(self.words)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Give the ids of the texts, each with a begin and an end, (B, T) int64, padded.

        Raises
        ------
        ValueError
            if a text has a word that is not in the vocabulary
        """
        try:
            rows = [[BEGIN, *(self._ids[word] for word in text.split()), END] for text in texts]
        except KeyError as error:
            raise ValueError(f"the vocabulary has no word {error}.") from None
        return pad_rows(rows)

    def decode(self, ids: Tensor) -> list[str]:
        """Give the texts of ids (B, T): the words before the first end."""
        rows = [row[: row.index(END)] if END in row else row for row in ids.tolist()]
        return [" ".join(self.words[i - END - 1] for i in row if i > END) for row in rows]
