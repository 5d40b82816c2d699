"""The heads of the landing page: ``python -m benchmarks.named_heads`` writes and measures them.

The weights are all-MiniLM-L6-v2's (``utils.minilm``), rounded to 8 bits with a scale for each row:
the vectors of the most frequent whole words, and queries and keys of three heads of block 0. (Its
vocabulary is sorted by frequency.) Values are not needed: the page shows weights.

What the heads are said to do is measured with the published numbers. In 400 sentences of the
installed libraries' documentation: the weight of a word on the word before it. In two sentences for
each of 20 words with two senses, and three neighbours for each sense: how much weight the word
gives to the neighbour from nature, and how much to that from people's world. (The words that led to
this, such as bank, star, plant and apple, are not among the twenty.)
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from chapters.live.heads import GIVES, HEADS, PAIRS, SCRIPT, Reader
from utils.docstrings import docstring_rows
from utils.minilm import TextEncoder, load_minilm
from utils.text import minilm_tokenizer

WORDS = 4_558  # as many as make a script of 2.5 MB
LONGEST = 14  # words of a sentence
SENTENCES = 400
MARKS = "[CLS] [SEP] . , ! ? ; : ' \" - a i s t d m"
SENSES = """seal: sea ice fish | letter document king
crane: bird lake wings | building machine steel
branch: tree leaf bird | office bank company
field: grass farm sheep | science physics research
cell: blood body protein | prison guard jail
organ: heart body blood | church music piano
palm: tree beach sand | hand finger skin
bass: fish river lake | guitar music band
shell: sea beach sand | gun bomb war
bed: river garden lake | sleep room night
stream: river water forest | video data game
cloud: sky rain wind | data computer network
pitch: dark night black | ball game player
trunk: tree leaf forest | car door engine
root: tree soil garden | number problem cause
light: sun sky moon | heavy weight bag
mint: tea leaf garden | coin gold money
ring: tree moon planet | phone bell call
wave: sea beach water | hand friend crowd
pool: water lake river | game table bar"""


def senses() -> dict[str, list[list[str]]]:
    """Give for each word its neighbours from nature and from people's world."""
    rows = (line.split(": ") for line in SENSES.splitlines())
    return {word: [part.split() for part in parts.split(" | ")] for word, parts in rows}


tokenizer = cache(minilm_tokenizer)  # which is read once


@torch.no_grad()
def published(model: TextEncoder, words: list[str]) -> Tensor:
    """Give the weights of all heads of block 0, (H, T, T), between the two marks."""
    ids = torch.tensor([tokenizer().convert_tokens_to_ids(["[CLS]", *words, "[SEP]"])])
    _, weights = next(islice(model.layers(ids), 1, None))  # of block 0
    assert weights is not None
    return weights[0]


def vocabulary() -> list[str]:
    """Give marks, the words that the page and the measurements need, then the most frequent."""
    needed = " ".join([*(s for pair in PAIRS.values() for s in pair), re.sub("[:|]", "", SENSES)])
    frequent = tokenizer().convert_ids_to_tokens(list(range(1996, 12_000)))
    whole = [word for word in frequent if re.fullmatch("[a-z]+", word)]
    return list(dict.fromkeys([*MARKS.split(), *needed.split(), *whole]))[:WORDS]


def sentences(known: set[str]) -> list[list[str]]:
    """Take sentences from the documentation of installed libraries, without words not known.

    At most one word in ten is left out, as the page leaves out what it does not know.
    """
    found, rows = [], docstring_rows()
    for row in rows["train"] + rows["test"]:
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(str(row["text"]).split())):
            words = re.findall(r"[a-z]+|\S", sentence)
            own = [word for word in words if word in known]
            if 6 <= len(own) <= LONGEST and len(own) >= 0.9 * len(words):
                found.append(own)
    return [list(one) for one in dict.fromkeys(map(tuple, found))][:SENTENCES]


def in_bytes(rows: Tensor) -> dict[str, str]:
    """Round rows to 8 bits, each with its own scale."""
    scales = (rows.abs().amax(dim=1) / 127).half()
    rounded = (rows / scales.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
    return {"numbers": _text(rounded), "scales": _text(scales)}


def _text(numbers: Tensor) -> str:
    return base64.b64encode(numbers.contiguous().numpy().tobytes()).decode()


def export(model: TextEncoder) -> dict[str, Any]:
    """Give what the page fetches."""
    words = vocabulary()
    ids = tokenizer().convert_tokens_to_ids(words)
    mha: Any = model.blocks[0].mha
    places = model.positions.weight[: LONGEST + 2] + model.types.weight[0]
    norm = torch.stack([model.norm.weight, model.norm.bias])
    made: dict[str, Any] = {"width": mha.embed_dim, "numHeads": mha.num_heads}
    made |= {"words": " ".join(words), "vectors": in_bytes(model.tokens.weight[ids].detach())}
    made |= {"places": {"numbers": _text(places.detach().half())}}
    made |= {"norm": {"numbers": _text(norm.detach().half())}}
    for name in ("q_proj", "k_proj"):
        part = getattr(mha, name)
        own = torch.cat([torch.arange(mha.head_dim) + h * mha.head_dim for h in HEADS])
        made[name] = in_bytes(part.weight[own].detach())
        made[f"{name}.bias"] = {"numbers": _text(part.bias[own].detach().half())}
    return made


def measure(model: TextEncoder, made: dict[str, Any]) -> dict[str, float]:
    """Say what the heads do, and how far 8 bits are from the published numbers."""
    before, nature, people = HEADS
    reader, gap, shares = Reader(made), 0.0, []
    for words in sentences(set(made["words"].split())):
        weights = published(model, words)
        shares.append(weights[before].diagonal(-1)[:-1].mean().item())
        difference = reader.weights(words) - weights[list(HEADS)]
        gap = max(gap, difference.abs().max().item())
    preferred = dict.fromkeys((nature, people), 0)
    for word, cues in senses().items():
        given = torch.stack([_given(model, word, own) for own in cues])  # (2, H)
        preferred[nature] += int(given[0, nature] > given[1, nature])
        preferred[people] += int(given[1, people] > given[0, people])
    measured = {"before": sum(shares) / len(shares), "gap": gap}
    return measured | {"nature": preferred[nature], "people": preferred[people]}


def _given(model: TextEncoder, word: str, cues: list[str]) -> Tensor:
    """The mean weight, (H,), that a word gives to these neighbours."""
    total = []
    for cue in cues:
        for sentence in (f"the {word} is near the {cue}", f"the {cue} and the {word} are old"):
            words = sentence.split()
            weights = published(model, words)
            total.append(weights[:, 1 + words.index(word), 1 + words.index(cue)])
    return torch.stack(total).mean(dim=0)


def script(made: dict[str, Any]) -> str:
    """Give the script that hands the weights to a page."""
    return f"{GIVES}{json.dumps(made, separators=(',', ':'))};\n"


def main() -> None:
    """Write the weights, and print what the heads do."""
    model = load_minilm(dropout=0.0)
    made = export(model)
    made["measured"] = measure(model, made)
    made["version"] = hashlib.sha256(script(made).encode()).hexdigest()[:8]
    SCRIPT.write_text(script(made), encoding="utf-8")
    print(f"{SCRIPT.name}: {SCRIPT.stat().st_size:,} bytes, {len(made['words'].split()):,} words")
    for name, number in made["measured"].items():
        print(f"{name}: {number:.4g}")


if __name__ == "__main__":
    main()
