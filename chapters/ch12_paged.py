"""A cache in pages: texts of unknown length share one memory, and equal beginnings are kept once.

Source: Kwon and others 2023, "Efficient Memory Management for Large Language Model Serving with
PagedAttention".
"""

from __future__ import annotations

from collections.abc import Hashable

import torch
from torch import Tensor


class PagedCache:
    """The keys and values of many texts, for one layer, in pages of a fixed number of rows.

    A text takes a free page when its last one is full. Its block table, ``tables[text]``, has the
    numbers of its pages in their order; ``readers[number]`` counts the texts that have the page.

    Parameters
    ----------
    pages : int, how many there are for all texts together
    page : int, tokens in a page
    num_kv_heads : int, H_kv
    head_dim : int, D_head
    dtype, device : of the memory, as for ``torch.zeros``

    Raises
    ------
    ValueError
        if one of the numbers is less than 1
    """

    def __init__(
        self,
        pages: int,
        page: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        sizes = (pages, num_kv_heads, page, head_dim)
        if min(sizes) < 1:
            raise ValueError(f"pages, heads, rows and numbers must be at least 1; got {sizes}.")
        self.room = torch.zeros(2, *sizes, dtype=dtype, device=device)
        self.page, self.free = page, list(range(pages))
        self.tables: dict[Hashable, list[int]] = {}
        self.lengths: dict[Hashable, int] = {}
        self.readers = [0] * pages

    def append(self, text: Hashable, k: Tensor, v: Tensor) -> None:
        """Add the key and the value of a text's next token, (H_kv, D_head) each.

        Raises
        ------
        ValueError
            if they have another shape
        MemoryError
            if the text needs a page and none is free; nothing has been changed then
        """
        shape = (self.room.shape[2], self.room.shape[4])
        if k.shape != shape or v.shape != shape:
            found = f"{tuple(k.shape)} and {tuple(v.shape)}"
            raise ValueError(f"a key and a value of shape {shape} are expected; got {found}.")
        length, table = self.lengths.get(text, 0), self.tables.get(text, [])
        row = length % self.page
        if row == 0:
            table = [*table, self._take()]
        elif self.readers[table[-1]] > 1:  # others read it as well: write into a copy
            shared, own = table[-1], self._take()
            self.readers[shared] -= 1
            self.room[:, own] = self.room[:, shared]
            table = [*table[:-1], own]
        self.room[:, table[-1], :, row] = torch.stack([k, v])
        self.tables[text], self.lengths[text] = table, length + 1

    def gather(self, text: Hashable) -> tuple[Tensor, Tensor]:
        """Give the keys and the values of a text, (H_kv, S, D_head) each, copied together.

        Raises
        ------
        KeyError
            if nothing is kept of the text
        """
        pages = self.room[:, self.tables[text]]  # (2, n, H_kv, page, D_head)
        k, v = pages.transpose(1, 2).flatten(2, 3)[:, :, : self.lengths[text]]
        return k, v

    def fork(self, old: Hashable, new: Hashable) -> None:
        """Let a new text begin as an old one: its table is copied, its pages are shared.

        Raises
        ------
        KeyError
            if nothing is kept of the old text
        ValueError
            if the new one is there already
        """
        if new in self.tables:
            raise ValueError(f"the text {new!r} is there already: drop it, or take another name.")
        self.tables[new], self.lengths[new] = list(self.tables[old]), self.lengths[old]
        for number in self.tables[new]:
            self.readers[number] += 1

    def drop(self, text: Hashable) -> None:
        """Forget a text; a page that nobody reads any more is free again.

        Raises
        ------
        KeyError
            if nothing is kept of the text
        """
        for number in self.tables.pop(text):
            self.readers[number] -= 1
            if self.readers[number] == 0:
                self.free.append(number)
        del self.lengths[text]

    def _take(self) -> int:
        if not self.free:
            raise MemoryError(f"all {len(self.readers)} pages are taken: drop a text, or add some.")
        number = self.free.pop()
        self.readers[number] = 1
        return number
