"""The pieces of chapters 11 and 12 beside what they replace, in turns: the benchmark.

A window, as a mask, in tiles, and as a block mask of FlexAttention; a cache in pages; and passes
that check guesses, whose time says how many guesses have to be right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from tqdm import tqdm

from benchmarks.layers import TOLERANCE
from benchmarks.ratios import quartiles, ratio
from benchmarks.wording import plain
from chapters.ch12_paged import PagedCache
from utils.attention import MultiHeadAttention, causal_mask
from utils.cache import KeyValueCache
from utils.tiled import tiled_attention
from utils.timing import interleave

H, D_HEAD = 8, 64
D = H * D_HEAD
WAYS = {
    "as a mask": "as a mask",
    "in tiles": "in the tiles of chapter 11",
    "FlexAttention": "with FlexAttention, compiled",
}


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    window: int = 512  # keys that a query sees
    texts: tuple[int, ...] = (1024, 4096, 8192)  # tokens of a text with a window
    kept: tuple[int, ...] = (512, 2048, 8192)  # tokens in a cache
    pages: tuple[int, ...] = (16, 64, 256)  # tokens in a page
    passes: tuple[int, ...] = (1, 2, 4, 8, 16)  # tokens in a pass
    layers: int = 3  # that a pass goes through


QUICK = Sizes(window=16, texts=(64,), kept=(24,), pages=(4, 16), passes=(1, 4), layers=1)


@dataclass(frozen=True)
class Way:
    """A way to do a piece of work; all that are the ``same`` give the same as the first."""

    name: str
    run: Callable[[], Tensor]
    same: bool = True


def compare_pieces(
    sizes: Sizes, device: torch.device, dtype: torch.dtype, budget: float
) -> tuple[pd.DataFrame, list[str]]:
    """Time each piece beside what it replaces, after checking that it gives the same.

    Parameters
    ----------
    budget : float, seconds for a piece at a size

    Returns
    -------
    rows : DataFrame with a row for each piece, size and way: milliseconds and the ratio to the
        first way, each with quartiles, and the largest difference from the first, where both are
        the same function
    notes : list of str, what could not be measured, and why

    Raises
    ------
    ArithmeticError
        if a way gives something else than the first, and should not
    """
    flexible, notes = compile_flexible(device, dtype)
    jobs: list[tuple[str, int, Callable[[int], list[Way]]]] = [
        *(("window", T, partial(windows, sizes, device, dtype, flexible)) for T in sizes.texts),
        *(("pages", S, partial(pages, sizes, device, dtype)) for S in sizes.kept),
        *(("guesses", S, partial(passes, sizes, device, dtype)) for S in sizes.kept),
    ]
    rows: list[dict[str, Any]] = []
    for piece, tokens, make in tqdm(jobs, desc="pieces", ncols=78):
        torch.manual_seed(0)
        with torch.no_grad():
            first, *others = ways = make(tokens)
            gaps = {way.name: difference(way, first, TOLERANCE[dtype]) for way in others}
            times = interleave({way.name: way.run for way in ways}, device, budget)
        for way in ways:
            row: dict[str, Any] = {"piece": piece, "tokens": tokens, "way": way.name}
            row |= quartiles(1e3 * times[way.name], "ms")
            row |= ratio(times, way.name, first.name, "to_first")
            rows.append(row | {"difference": gaps.get(way.name), "rounds": len(times)})
    return pd.DataFrame(rows), notes


def summarise(rows: pd.DataFrame) -> str:
    """Say in three sentences what each piece saves or costs at the longest texts."""
    last = rows[rows["tokens"] == rows.groupby("piece")["tokens"].transform("max")]
    tokens = last.groupby("piece")["tokens"].first()
    ms = last.set_index(["piece", "way"])["ms"].map(plain)
    window, kept = ms["window"], ms["pages"]
    said = [f"{window[way]} ms {words}" for way, words in WAYS.items() if way in window]
    page, most = kept.index[1], ms["guesses"].index[-1]
    longer = last.set_index("way")["to_first"][most]
    return (
        f"Over {tokens['window']:,} tokens a window takes {', '.join(said)}; no window at all "
        f"takes {window['no window']} ms. "
        f"A step over {tokens['pages']:,} keys takes {kept.iloc[0]} ms where they lie in one piece "
        f"and {kept[page]} ms where {page} are copied together first. "
        f"A pass over {most} takes {longer:.2f} times as long as one over a single token, and pays "
        "if it writes more tokens than that: the guesses that were right, and one."
    )


def difference(way: Way, first: Way, tolerance: float) -> float | None:
    """Give the largest difference of what two ways give; None if they are not the same function.

    Raises
    ------
    ArithmeticError
        if it is more than rounding explains
    """
    if not way.same:
        return None
    gap = (way.run() - first.run()).abs().max().item()
    if not gap <= tolerance:
        raise ArithmeticError(f"“{way.name}” gives something else than “{first.name}”: {gap:.1e}.")
    return gap


def compile_flexible(
    device: torch.device, dtype: torch.dtype
) -> tuple[Callable[..., Any] | None, list[str]]:
    """Compile FlexAttention, or say why not: on a processor it needs a compiler for C++.

    A compiler that is missing shows only when something is compiled, in errors of many kinds.
    """
    compiled = torch.compile(flex_attention)
    x = torch.randn(1, H, 256, D_HEAD, device=device, dtype=dtype)
    try:
        with torch.no_grad():
            compiled(x, x, x, block_mask=window_blocks(256, 16, device))
    except Exception as error:
        why = str(error).strip().partition("\n")[0]
        return None, [f"FlexAttention did not compile here: {type(error).__name__}: {why}"]
    return compiled, []


def window_blocks(T: int, window: int, device: torch.device) -> Any:
    """Give FlexAttention's list of the tiles in which a query sees a key of its window."""

    def near(b: Tensor, h: Tensor, t: Tensor, j: Tensor) -> Tensor:
        return (t - j >= 0) & (t - j < window)

    return create_block_mask(near, None, None, T, T, device.type)


def windows(
    sizes: Sizes,
    device: torch.device,
    dtype: torch.dtype,
    flexible: Callable[..., Any] | None,
    T: int,
) -> list[Way]:
    """Let each of T queries see its last keys; the last way, all keys before it, is no window."""
    q, k, v = (torch.randn(1, H, T, D_HEAD, device=device, dtype=dtype) for _ in range(3))
    mask = causal_mask(T, T, device)
    mask &= ~causal_mask(T, T, device, start=-sizes.window)
    kernel = partial(F.scaled_dot_product_attention, q, k, v)
    found = [
        Way("as a mask", partial(kernel, attn_mask=mask)),
        Way("in tiles", partial(tiled_attention, q, k, v, is_causal=True, window=sizes.window)),
    ]
    if flexible is not None:
        blocks = window_blocks(T, sizes.window, device)
        found.append(Way("FlexAttention", partial(flexible, q, k, v, block_mask=blocks)))
    return [*found, Way("no window", partial(kernel, is_causal=True), same=False)]


def pages(sizes: Sizes, device: torch.device, dtype: torch.dtype, S: int) -> list[Way]:
    """Let one query attend to S keys of one text: kept in one piece, and in pages."""
    q, k, v = (torch.randn(H, n, D_HEAD, device=device, dtype=dtype) for n in (1, S, S))
    cache = KeyValueCache(S + 1)
    cache.append(k.unsqueeze(0), v.unsqueeze(0))

    def contiguous() -> Tensor:
        cache.length = S - 1  # the step at the end of the text, again and again
        keys, values = cache.append(k[None, :, -1:], v[None, :, -1:])
        return F.scaled_dot_product_attention(q.unsqueeze(0), keys, values)[0]

    def paged(cache: PagedCache) -> Tensor:
        cache.lengths["text"] = S - 1
        cache.append("text", k[:, -1], v[:, -1])
        keys, values = cache.gather("text")
        return F.scaled_dot_product_attention(q, keys, values)

    found = [Way("in one piece", contiguous)]
    for page in sizes.pages:
        store = PagedCache(-(-S // page) + 1, page, H, D_HEAD, dtype, device)
        for j in range(S):
            store.append("text", k[:, j], v[:, j])
        found.append(Way(f"pages of {page}", partial(paged, store)))
    return found


def passes(sizes: Sizes, device: torch.device, dtype: torch.dtype, S: int) -> list[Way]:
    """Read 1, 2, 4 … new tokens in one pass, after S that are in the cache."""
    layers = [MultiHeadAttention(D, H).to(device, dtype).eval() for _ in range(sizes.layers)]
    caches = [KeyValueCache(S + max(sizes.passes)) for _ in layers]
    for cache in caches:
        cache.append(*torch.randn(2, 1, H, S, D_HEAD, device=device, dtype=dtype))

    def read(x: Tensor) -> Tensor:
        for layer, cache in zip(layers, caches, strict=True):
            cache.length = S
            x = x + layer.decode(x, cache)
        return x

    return [
        Way(f"{T} tokens", partial(read, torch.randn(1, T, D, device=device, dtype=dtype)), T == 1)
        for T in sizes.passes
    ]
