"""The shapes at which layers are compared, and the work that each asks for."""

from __future__ import annotations

from dataclasses import dataclass

from utils.costs import multiply_adds


@dataclass(frozen=True)
class Case:
    """One shape of attention: ``queries`` of each sequence attend to ``keys``.

    With as many queries as keys, both are the same tensor: self-attention. With fewer, the queries
    are a tensor of their own.
    """

    batch: int  # B
    queries: int  # T
    keys: int  # S
    embed_dim: int  # D
    num_heads: int  # H
    causal: bool = False

    @property
    def name(self) -> str:
        """Such as "(32, 512, 64, 8) causal" or "(1, 1 of 2048, 512, 8)"."""
        few = "" if self.is_self else f"{self.queries} of "
        shape = f"({self.batch}, {few}{self.keys}, {self.embed_dim}, {self.num_heads})"
        return shape + (" causal" if self.causal else "")

    @property
    def is_self(self) -> bool:
        """Whether the queries are the keys."""
        return self.queries == self.keys

    def flops(self, backward: bool) -> float:
        """Operations of the products that the case cannot do without; a multiply-add is two.

        Of the two orders of the products (project the keys, or bring the queries to them) the one
        that needs fewer is counted, whatever a layer does. Half of the pairs count if causal. The
        backward pass has two products for each of the forward pass.
        """
        shape = (self.batch, self.queries, self.keys, self.embed_dim, self.num_heads)
        return 2.0 * multiply_adds(*shape, causal=self.causal) * (3 if backward else 1)


SHAPES = ((32, 512, 64, 8), (4, 1024, 768, 12), (1, 4096, 512, 8))
CASES = (
    *(Case(B, T, T, D, H) for B, T, D, H in SHAPES),
    *(Case(B, T, T, D, H, causal=True) for B, T, D, H in SHAPES),
    *(Case(B, 1, T, D, H) for B, T, D, H in SHAPES[:2]),
    *(Case(1, 1, S, 512, 8) for S in (512, 1024, 2048, 4096, 8192)),
)
QUICK_CASES = (Case(2, 12, 12, 16, 2), Case(2, 12, 12, 16, 2, causal=True), Case(2, 1, 24, 16, 2))
