"""The heads of the landing page: ``python -m benchmarks.named_heads`` writes and measures them.

The weights are all-MiniLM-L6-v2's (``utils.minilm``): the vectors of everyday whole words, and the
queries and keys of all heads of block 0. Each number takes a byte, with a scale for its row, and
for the vectors one for each column. Values are not needed: the page shows weights.

The words come from ``everyday.txt``, from the Dale-Chall list of words that children know
(``textstat`` has it), and then by their frequency, in which MiniLM's vocabulary is sorted.

What the page says is measured. In 400 sentences of the installed libraries' documentation: the
weight of a word on the word before it, and how far the rounding moves any weight. In
``two_senses.txt``, two sentences for each of 68 words, written before any was tried: in how many
some head gives the neighbour that tells the sense more than an equal share and more than any other
word with content (``first``), and in how many it gives it more than half (``half``); and how many
these are on average when the neighbour of another sentence stands in its place (``swapped``).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from chapters.live.heads import BEFORE, GIVES, MOST, PAIRS, SCRIPT, ZERO, Reader, content
from utils.docstrings import docstring_rows
from utils.minilm import TextEncoder, load_minilm
from utils.text import minilm_tokenizer

WORDS = 5_425  # as many as make a script of 2.5 MB
HERE = Path(__file__).parent
LONGEST = 14  # words of a sentence
SENTENCES = 400
MARKS = "[CLS] [SEP] . , ! ? ; : ' \" - a i s t d m"
RUDE = "(fuck|shit|bitch|porn|c[u]nt|whore|slut|nigg|bastard|sexy)|(ass|arse|cock|dick|tit|nazi)s?$"


def senses() -> dict[str, list[str]]:
    """Give for each word two sentences, in which the neighbour that tells the sense is starred."""
    lines = (HERE / "two_senses.txt").read_text("utf-8").splitlines()
    rows = (line.split(": ") for line in lines)
    return {word: pair.split(" | ") for word, pair in rows}


tokenizer = cache(minilm_tokenizer)  # which is read once


@torch.no_grad()
def published(model: TextEncoder, words: list[str]) -> Tensor:
    """Give the weights of all heads of block 0, (H, T, T), between the two marks."""
    ids = torch.tensor([tokenizer().convert_tokens_to_ids(["[CLS]", *words, "[SEP]"])])
    _, weights = next(islice(model.layers(ids), 1, None))  # of block 0
    assert weights is not None
    return weights[0]


def vocabulary() -> list[str]:
    """Give marks, what the page needs, everyday words, and frequent ones."""
    package: Any = find_spec("textstat")  # of benchmarks/requirements.txt; it need not run
    known = Path(package.origin).with_name("resources") / "en" / "easy_words.txt"
    files = [HERE / "two_senses.txt", HERE / "everyday.txt", known]
    texts = [*(s for pair in PAIRS.values() for s in pair), *(f.read_text("utf-8") for f in files)]
    frequent = tokenizer().convert_ids_to_tokens(list(range(1996, len(tokenizer()))))
    whole = [word for word in frequent if re.fullmatch("[a-z]+", word)]
    own = [word for word in re.findall("[a-z]+", " ".join(texts)) if word in set(whole)]
    first = dict.fromkeys([*MARKS.split(), *own, *whole])
    return [word for word in first if not re.match(RUDE, word)][:WORDS]


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
    """Round rows to steps of a 46th of the largest number in each, a printed character a step."""
    scales = (rows.abs().amax(dim=1) / MOST).half()
    steps = (rows / scales.float()[:, None]).round().clamp(-MOST, MOST).int() + ZERO
    return {"steps": bytes(steps.flatten().tolist()).decode(), "scales": _text(scales)}


def _text(numbers: Tensor) -> str:
    return base64.b64encode(numbers.contiguous().numpy().tobytes()).decode()


def export(model: TextEncoder, words: list[str]) -> dict[str, Any]:
    """Give what the page fetches."""
    vectors = model.tokens.weight[tokenizer().convert_tokens_to_ids(words)].detach()
    mha: Any = model.blocks[0].mha
    columns = vectors.abs().amax(dim=0).half()
    made: dict[str, Any] = {"width": mha.embed_dim, "numHeads": mha.num_heads}
    made |= {"words": " ".join(words), "vectors": in_bytes(vectors / columns.float())}
    whole = {
        "columns": columns,
        "places": model.positions.weight[: LONGEST + 2] + model.types.weight[0],
        "norm": torch.stack([model.norm.weight, model.norm.bias]),
    }
    for name in ("q_proj", "k_proj"):
        part = getattr(mha, name)
        made[name] = in_bytes(part.weight.detach())
        whole[f"{name}.bias"] = part.bias
    return made | {name: {"halves": _text(part.detach().half())} for name, part in whole.items()}


def measure(model: TextEncoder, made: dict[str, Any]) -> dict[str, float]:
    """Say what the heads do, and how far the rounding is from the published numbers."""
    reader, gap, shares, words = Reader(made), 0.0, [], made["words"].split()
    for sentence in sentences(set(words)):
        weights = published(model, sentence)
        shares.append(weights[BEFORE].diagonal(-1)[:-1].mean().item())
        gap = max(gap, (reader.weights(sentence) - weights).abs().max().item())
    rows = [(word, *text.split("*")) for word, pair in senses().items() for text in pair]
    found = {"first": 0.0, "half": 0.0, "first swapped": 0.0, "half swapped": 0.0}
    for word, start, neighbour, end in rows:
        place = len(start.split()) + 1
        others = sorted({row[2] for row in rows} - set(f"{start}{neighbour}{end}".split()))
        for kind, used in (("", [neighbour]), (" swapped", others)):
            for one in used:
                tokens, at, weights = reader.ask(word, f"{start}{one}{end}")
                weights[BEFORE] = 0
                own = weights[:, place]
                rivals = weights[:, [t for t in content(tokens, at) if t != place]]
                first = (own > 1 / len(tokens)) & (own[:, None] > rivals).all(dim=1)
                found[f"first{kind}"] += first.any().item() / len(used)
                found[f"half{kind}"] += (own > 0.5).any().item() / len(used)
    return {"before": sum(shares) / len(shares), "gap": gap, "sentences": len(rows)} | found


def script(made: dict[str, Any]) -> str:
    """Give the script that hands the weights to a page."""
    return f"{GIVES}{json.dumps(made, separators=(',', ':'))};\n"


def main() -> None:
    """Write the weights, and print what the heads do."""
    model = load_minilm(dropout=0.0)
    made = export(model, vocabulary())
    made["measured"] = measure(model, made)
    made["version"] = hashlib.sha256(script(made).encode()).hexdigest()[:8]
    SCRIPT.write_text(script(made), encoding="utf-8")
    print(f"{SCRIPT.name}: {SCRIPT.stat().st_size:,} bytes, {len(made['words'].split()):,} words")
    for name, number in made["measured"].items():
        print(f"{name}: {number:.4g}")


if __name__ == "__main__":
    main()
