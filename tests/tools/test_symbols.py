"""The symbols of a formula are found, in order, and none in code."""

import pytest

from tools.symbols import formulas, read

FRACTION = r"\frac{Q K^{\mathsf{T}}}{\sqrt{D_\text{head}}}"
READ = [
    (rf"\operatorname{{softmax}}\!\left({FRACTION}\right) V", ["Q", "K", "D_head", "V"]),
    (
        r"W^Q_h W_h^O W^{K\mathsf{T}}_h (W^V)^{\mathsf{T}}",
        ["W^Q", "h", "W^O", "h", "W^K", "h", "W^V"],
    ),
    (r"W^{\text{up}} + b^{\text{down}} + W_1 + b^K_h", ["W^up", "b^down", "W", "b", "h"]),
    (r"x'_{t+1} D'^2 \tilde q_h \mathbf{x}", ["x", "t", "D", "q˜", "h", "𝐱"]),
    (r"d\bar X + dA_{tj} + d", ["d…", "X¯", "d…", "A", "t", "j", "d"]),
    (r"W_0^{\mathsf{T}} W_1^\mathsf{T} e / e^{-1}", ["W", "W"]),
    (r"e^{s_j - m} \text{bytes, stored} \text{loss}_i \log n", ["s", "j", "m", "i", "n"]),
    (r"\begin{array}{cc|cc} 1 & x \end{array} 10{,}000^{-2i/D}", ["x", "i", "D"]),
    (r"[\operatorname{head}_0, \dots] \omega_i \ell", ["head", "ω", "i", "ℓ"]),
    (r"q_{D_\text{head}} + \underbrace{t}_{\text{cache}}", ["q", "D_head", "t"]),
    (r"\begin{cases} 0 & \text{if } t \\ -\infty & \text{else} \end{cases}", ["t"]),
]


@pytest.mark.parametrize(("latex", "expected"), READ)
def test_the_symbols_of_a_formula(latex, expected):
    assert [name for name, _ in read(latex)] == expected


def test_where_a_symbol_stands():
    assert read(r"s_{tj}^n + \sum_i x^{k_t}") == [
        *[("s", ""), ("t", "_"), ("j", "_"), ("n", "^")],
        *[("i", "_"), ("x", ""), ("k", "^"), ("t", "^_")],
    ]


def test_formulas_are_found_wherever_markdown_has_them_and_not_in_code():
    text = """a `$no$` $x$

| $z$ | `$no$` |
|---|---|
| $u$ | b |

$$
w
$$

```
$no$
```

> - $v$
"""
    assert list(formulas(text)) == ["x", "z", "u", "w", "v"]
