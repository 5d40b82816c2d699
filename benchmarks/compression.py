"""What a compressor needs for a text, to compare a model with."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from typing import Any


def compressed_bits(text: str, known: str = "") -> int:
    """Give how many bits a text costs when ``lzma`` has read ``known`` before it.

    It is what both together take, less what ``known`` takes alone; the compressor looks back over
    all of ``known``, up to 64 MiB.

    Source: Benedetto, Caglioti and Loreto 2002, "Language Trees and Zipping".
    """
    before = known.encode()
    return 8 * (_size(before + text.encode()) - _size(before))


def join_texts(texts: Sequence[str]) -> str:
    """Put texts into one, a zero character after each, as a token stands after each for a model."""
    return "".join(f"{text}\0" for text in texts)


def _size(data: bytes) -> int:
    looks_back = min(max(len(data), 4096), 1 << 26)  # bytes
    filters: list[dict[str, Any]] = [
        {"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": looks_back}
    ]
    return len(lzma.compress(data, lzma.FORMAT_RAW, filters=filters))
