"""Formulas in a line of text."""

import pytest
from lxml import html

from tools.page.formulas import in_a_line
from tools.page.mathematics import as_mathml


@pytest.mark.parametrize(
    ("latex", "line"),
    [
        (r"Q K^\top / \sqrt{d_k}", "QK^⊤/√(d_k)"),
        (r"\frac{1}{2}", "1/2"),
        (r"\frac{a + b}{\sqrt 2}", "(a + b)/(√2)"),
        (r"\operatorname{softmax}\!\left(x\right) V", "softmax(x)V"),
        (r"\tanh 0 = 0", "tanh 0 = 0"),
        (r"\sum_{i=1}^n x_i^2", "∑_(i = 1)^nx_i^2"),
        (r"D_{\text{head}}, \quad W^Q_h", "D_head, W_h^Q"),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}", "( 1 0 0 2 )"),
        (r"\hat y", "yˆ"),
    ],
)
@pytest.mark.parametrize("block", [True, False])
def test_a_formula_reads_in_a_line(latex, line, block):
    formula = next(html.fromstring(f"<p>{as_mathml(latex, block)}</p>").iter("math"))
    assert in_a_line(formula) == line
