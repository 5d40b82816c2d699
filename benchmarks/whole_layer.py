"""The layer of the live figure ``chapters.live.layer``: ``python -m benchmarks.whole_layer``.

Two heads of four numbers learn to read made sentences of at most six words. From what the layer
gives for a word, two linear maps are to tell two things: of what kind the *word before it* is, and
of what kind *its noun* is (of an article or adjective the noun it belongs to, of a verb or an
adverb the subject, of a preposition the noun after it, of a noun itself). The loss also asks head 0
to put four fifths of its weight on the word before, and head 1 on the noun: left to themselves, the
heads answer as well and mean nothing that has a name. Half a minute on one processor; the weights
are rounded to hundredths and kept in ``layer.json``.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention import MultiHeadAttention

FILE = Path(__file__).parents[1] / "chapters" / "live" / "layer.json"
D, H, PLACES = 8, 2, 7  # the longest sentence, and one place for padding
KINDS = {  # of words; the first five are nouns
    "person": "man woman child boy girl king queen teacher doctor friend he she i you we they",
    "animal": "cat dog mouse bird horse fish cow lion bear fox",
    "food": "apple bread cake cheese milk soup",
    "place": "house garden river tree street school table mat bed",
    "thing": "ball book letter car box door song boat",
    "article": "the a an my your his her our this every",
    "adjective": "small big hungry happy sad old young red blue white tired good new quick lazy",
    "verb": "chased saw ate likes loves found took heard carried sat slept ran walked jumped lived "
    "waited is was",
    "preposition": "on in at to under with near by",
    "adverb": "today here quickly slowly now again",
}
LIKE = {  # words of the page that it does not learn, and which it reads them like
    "man": "father mother mum dad brother sister son daughter baby kid people person children men",
    "he": "me him us them it who everyone someone nobody",
    "cat": "puppy kitten dragon unicorn elephant tiger wolf monkey snake frog duck chicken pig "
    "sheep goat rabbit rat spider bee mice",
    "apple": "pizza pasta rice egg meat chocolate sandwich coffee tea water wine beer food "
    "breakfast dinner lunch cookie",
    "house": "home park city town beach sea forest mountain field road church kitchen room office",
    "the": "that these those some no two three many all its their one each",
    "small": "tall short long green yellow black brown dark beautiful bad nice funny angry clever "
    "stupid rich poor cold hot little huge strong",
    "chased": "read eat see love hate want need drink drank wrote write play sing sang go went "
    "make made take gave say said tell told think know buy bought sell sold bite bit lost run "
    "sleep sit find have has had do did does can will came come got get put",
    "is": "am are were be",
    "on": "of for from into over through behind about up down and or but",
    "again": "tomorrow yesterday tonight soon never always often outside there very so too not",
}
NOUNS = list(KINDS)[:5]
WORDS = [word for words in KINDS.values() for word in words.split()]
# Of padding, the last, it is 0.
KIND = torch.tensor([n for n, w in enumerate(KINDS.values()) for _ in w.split()] + [0])
PRONOUNS = "he she i you we they".split()  # noqa: SIM905
RESTS = "v vm vN vaN vpN vaaN vpaN cj cjm vNm mv mvN mvaN mvn vn van".split()  # noqa: SIM905
RESTS += "vnm vnpN vpn vNpN vmpN vpNm mcj cN caN cpN".split()  # noqa: SIM905  # n has no article
SURE = 0.8  # how much of its weight a head is to put on its word


def sentence(draw: random.Random) -> tuple[list[str], list[int]]:
    """Make words, and for each the place of its noun."""
    pattern = ""
    while not pattern or len(pattern) > PLACES - 1:  # P pronoun, N noun, c copula, j its adjective
        rest = draw.choice(RESTS)
        object_ = re.sub("a*N", lambda found: f"d{found[0]}", rest)  # with its article
        pattern = draw.choice(("P", "P", "dN", "daN", "daaN", "n")) + object_
    nouns = [place for place, one in enumerate(pattern) if one in "PNn"]
    its = [  # the next noun; of verbs, adverbs and what a copula joins, the subject
        min(n for n in nouns if n >= place) if one in "PNndap" else nouns[0]
        for place, one in enumerate(pattern)
    ]
    return [draw.choice(choices(one, draw)) for one in pattern], its


def choices(one: str, draw: random.Random) -> list[str]:
    """Give the words that can stand for a letter of a pattern."""
    verbs = KINDS["verb"].split()
    if one in "Nn":  # all kinds alike often
        return [word for word in KINDS[draw.choice(NOUNS)].split() if word not in PRONOUNS]
    named = {"d": "article", "a": "adjective", "j": "adjective", "p": "preposition", "m": "adverb"}
    return {"P": PRONOUNS, "v": verbs[:-2], "c": verbs[-2:]}.get(one) or KINDS[named[one]].split()


def batch(draw: random.Random, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Give ids (B, T), what is padding (B, T), and the place of each word's noun (B, T)."""
    ids = torch.full((count, PLACES), len(WORDS))  # the last is the padding
    its = torch.zeros(count, PLACES, dtype=torch.long)
    for n in range(count):
        words, nouns = sentence(draw)
        ids[n, : len(words)] = torch.tensor([WORDS.index(word) for word in words])
        its[n, : len(words)] = torch.tensor(nouns)
    return ids, ids == len(WORDS), its


class Reader(nn.Module):
    """Words and places, one layer of attention without biases, two linear maps."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(len(WORDS) + 1, D, padding_idx=len(WORDS))
        self.places = nn.Parameter(0.5 * torch.randn(PLACES, D))
        self.attention = MultiHeadAttention(D, H, bias=False)
        self.before, self.noun = nn.Linear(D, len(KINDS)), nn.Linear(D, len(KINDS))

    def forward(self, ids: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """Give what the layer gives, (B, T, D), and the weights of each head, (B, H, T, T)."""
        x = self.words(ids) + self.places  # (B, T, D)
        output, weights = self.attention(x, x, x, padding, average_attn_weights=False)
        assert weights is not None
        return output, weights

    def questions(self, its: Tensor) -> list[tuple[Tensor, nn.Linear]]:
        """Give for each head the places it is to find, (B, T), and the map that tells the kind."""
        before = (torch.arange(PLACES) - 1).clamp(0).expand_as(its)  # of the first word itself
        return [(before, self.before), (its, self.noun)]


def train(seed: int = 0, steps: int = 1000) -> Reader:
    """Train it on 20,000 sentences."""
    torch.manual_seed(seed)
    model, every = Reader(), batch(random.Random(seed), 20_000)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.03, steps)
    for _ in range(steps):
        chosen = torch.randint(len(every[0]), (128,))
        ids, padding, its = (x[chosen] for x in every)
        output, weights = model(ids, padding)
        seen, loss = ~padding, torch.zeros(())
        even = (1 - SURE) / seen.sum(dim=1).view(-1, 1, 1)
        for head, (place, tell) in enumerate(model.questions(its)):
            kind = KIND[ids].gather(1, place)  # (B, T)
            loss = loss + F.cross_entropy(tell(output)[seen], kind[seen])
            wanted = SURE * F.one_hot(place, PLACES) + even  # (B, T, T)
            surprise = -wanted * weights[:, head].clamp(min=1e-9).log()
            loss = loss + 0.5 * (surprise * seen.unsqueeze(1)).sum(dim=-1)[seen].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def rounded(model: Reader) -> dict[str, Any]:
    """Round all weights to hundredths, in the model too, and give these and the words."""
    for parameter in model.parameters():
        parameter.copy_(parameter.mul(100).round() / 100)
    state = {name: x.flatten() for name, x in model.attention.state_dict().items()}
    weights = {"vectors": model.words.weight, "places": model.places, "state": state}
    return {"words": KINDS, "like": LIKE, "hundredths": _hundredths(weights)}


def _hundredths(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: _hundredths(one) for name, one in x.items()}
    return (x * 100).round().int().tolist()


@torch.no_grad()
def found(model: Reader, count: int = 2000, seed: int = 1) -> dict[str, float]:
    """Measure on new sentences: answers that are right, rows that look most at their word."""
    ids, padding, its = batch(random.Random(seed), count)
    output, weights = model(ids, padding)
    measured = {}
    for head, (place, tell) in enumerate(model.questions(its)):
        kind, own = KIND[ids].gather(1, place), weights[:, head]
        on = own.gather(2, place.unsqueeze(-1)).squeeze(-1)
        for name, x in (
            ("answers right", tell(output).argmax(dim=-1) == kind),
            ("looks most there", own.argmax(dim=-1) == place),
            ("weight there", on),
        ):
            measured[f"head {head}: {name}"] = x[~padding].float().mean().item()
    return measured


if __name__ == "__main__":
    torch.set_num_threads(1)
    trained = train()
    FILE.write_text(json.dumps(rounded(trained), separators=(",", ":")) + "\n", encoding="utf-8")
    for name, share in found(trained).items():
        print(f"{name} {share:.3f}")
