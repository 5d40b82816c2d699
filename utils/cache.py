"""What a layer keeps while it writes one token after another: the keys and values so far.

Source: Shazeer 2019, "Fast Transformer Decoding: One Write-Head is All You Need", section 2.4.
"""

from __future__ import annotations

from torch import Tensor


class KeyValueCache:
    """The keys and values of the tokens so far, for one layer and a batch of sequences.

    The room for all of them is set aside at the first call, so that a step copies only what is new.

    Parameters
    ----------
    max_length : int, the most tokens that it is to hold

    Raises
    ------
    ValueError
        if ``max_length`` is less than 1
    """

    def __init__(self, max_length: int) -> None:
        if max_length < 1:
            raise ValueError(f"a cache needs room for at least one token; got {max_length}.")
        self.max_length = max_length
        self.length = 0  # S, the tokens that it holds
        self._rooms: list[Tensor] = []  # for keys and values, (B, H_kv, max_length, D_head) each

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new tokens, (B, H_kv, T, D_head) each, and give all of them.

        Returns
        -------
        keys, values : Tensors of shape (B, H_kv, S, D_head), views of what is stored

        Raises
        ------
        ValueError
            if they do not fit each other or those before, or there is no room for them
        """
        if k.dim() != 4 or k.shape[:-1] != v.shape[:-1]:
            raise ValueError(
                f"keys {tuple(k.shape)} and values {tuple(v.shape)} do not fit each other; "
                "expected (B, H_kv, T, D_head) each."
            )
        end = self.length + k.shape[-2]
        if end > self.max_length:
            raise ValueError(
                f"the cache has room for {self.max_length} tokens, and this would be {end}: build "
                "it with a larger max_length."
            )
        if not self._rooms:
            shapes = [(*new.shape[:2], self.max_length, new.shape[-1]) for new in (k, v)]
            self._rooms = [k.new_empty(shapes[0]), v.new_empty(shapes[1])]
        for new, room_ in zip((k, v), self._rooms, strict=True):
            if (*new.shape[:2], new.shape[-1]) != (*room_.shape[:2], room_.shape[-1]):
                raise ValueError(
                    f"the cache holds keys or values of shape {tuple(room_.shape)} and got "
                    f"{tuple(new.shape)}; take a new cache for another batch or another layer."
                )
        for new, room_ in zip((k, v), self._rooms, strict=True):
            room_[..., self.length : end, :] = new
        self.length = end
        keys, values = (room_[..., :end, :] for room_ in self._rooms)
        return keys, values
