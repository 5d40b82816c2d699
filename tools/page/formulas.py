"""Formulas as a line of plain text, for the search: √(d_k), QK^⊤/√(d_k)."""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml.html import HtmlElement

APPLIED = "\u2061"  # the sign between a function's name and what it is applied to
SPACED = frozenset("=≠≈<>≤≥∈→←↦+−×·⋅∘⊙∼∝|∣")


def _group(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _index(base: str, *marks: str) -> str:
    """Write what stands below and above: x_i, x^2, ∑_(i=1)^n."""
    signs = "_^" if len(marks) > 1 else "_"
    return base + "".join(f"{sign}{_group(mark)}" for sign, mark in zip(signs, marks, strict=True))


SHAPES: dict[str, Callable[..., str]] = {
    "mfrac": lambda above, below: f"{_group(above)}/{_group(below)}",
    "msup": lambda base, power: f"{base}^{_group(power)}",
    "mover": lambda base, accent: base + accent,
    **dict.fromkeys(("msub", "munder", "msubsup", "munderover"), _index),
}


def in_a_line(part: HtmlElement) -> str:
    """Write MathML as plain text in a line.

    Parameters
    ----------
    part : HtmlElement, ``math`` or a part of it
    """
    within = [in_a_line(child) for child in part.iterchildren("*")]
    if part.tag in SHAPES:
        return SHAPES[str(part.tag)](*within)
    text = (part.text or "") + (" " if part.tag in ("mtr", "mtable") else "").join(within)
    if part.tag == "math":
        text = re.sub(f"{APPLIED}\\s*(?=\\()", "", text).replace(APPLIED, " ")
        return " ".join(text.replace("( ", "(").split())
    if part.tag == "msqrt":
        return f"√{_group(text)}"
    if part.tag == "mspace" and part.get("width"):
        return f" {text}"
    if part.tag == "mo" and text:
        return f" {text} " if text in SPACED else {",": ", "}.get(text, text)
    return f" {text} " if part.tag in ("mtd", "mtr") else text
