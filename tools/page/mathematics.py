"""Formulas: set as MathML while the book is built, so that no page needs a script for them.

Every browser shows MathML, and so do readers of EPUB files. A formula that cannot be converted is
a warning of the build, and the page shows its source.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)\w+;")  # names that XML does not know
logger = logging.getLogger(__name__)


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(xml_namespace=True, fancy_error=False)


def as_mathml(latex: str, block: bool) -> str:
    """Give a formula as MathML that is good HTML and good XML.

    Parameters
    ----------
    latex : str, the formula without the dollar signs around it
    block : bool, whether it stands on a line of its own

    Raises
    ------
    ValueError, if the formula is wrong or holds a command that is not known
    """
    try:
        found = _converter().convert_with_local_state(latex.strip(), displaystyle=block)
    except LatexError as error:
        raise ValueError(str(error)) from error
    return ENTITY.sub(lambda name: unescape(name[0]), found)


def _formula(node: nodes.math | nodes.math_block) -> str:
    latex = node.astext()
    try:
        return as_mathml(latex, block=isinstance(node, nodes.math_block))
    except ValueError as error:
        logger.warning("The formula %s cannot be set: %s", latex.strip(), error, location=node)
        return f"<code>{escape(latex)}</code>"


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    formula = _formula(node)
    translator.body.append(f'<span class="math notranslate">{formula}</span>')
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append(f"{_formula(node)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Offer the renderer; ``html_math_renderer`` chooses it for HTML and EPUB."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
