"""Names of the course's packages in code, and in prose, lead to the API reference.

In a chapter those are the names that its code imports and does not define itself; on a page of the
reference all that it describes; and anywhere a name that is written in full, such as
``utils.attention``. In prose a name is linked once a section.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from tools.page.prose import NOT_PROSE

REFERENCE = "book/api/"
PACKAGES = ("utils", "chapters", "exercises")
BLOCK = re.compile(r'<div class="highlight">.*?</pre>', re.DOTALL)
SPAN = r'<span class="n[a-z]?">(?P<{}>[\w.]+)</span>'
NAME = re.compile(
    rf'(?P<dot><span class="o">\.</span>)?(?P<shown>{SPAN.format("name")})'
    rf'(?P<more><span class="o">\.</span>{SPAN.format("attribute")})?'
    r'(?P<given><span class="o">=</span>)?'
)
Places = dict[str, tuple[str, str]]


def described(env: BuildEnvironment) -> Places:
    """Give the page and the place of each thing in the reference, by its name."""
    objects = env.get_domain("py").objects  # type: ignore[attr-defined]
    return {
        name: (entry.docname, entry.node_id) for name, entry in objects.items() if _is_ours(name)
    }


def imported(blocks: Iterator[str]) -> dict[str, str]:
    """Give the names that a page's code imports from our packages, and what each stands for."""
    names: dict[str, str] = {}
    own: set[str] = set()
    for block in blocks:
        try:
            program = ast.parse(block)
        except SyntaxError:  # a command for the notebook, or output
            continue
        for node in ast.walk(program):
            if isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
                for name in node.names:
                    names[name.asname or name.name] = f"{node.module}.{name.name}"
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
    return {name: full for name, full in names.items() if name not in own}


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in PACKAGES


def _names(document: nodes.document) -> dict[str, str]:
    blocks = document.findall(nodes.literal_block)
    return imported(block.astext() for block in blocks if "ython" in block.get("language", ""))


def linked(body: str, names: dict[str, str], hrefs: dict[str, str]) -> str:
    """Link names in the blocks of highlighted code of a page.

    Parameters
    ----------
    names : what each name of the page's code stands for
    hrefs : where what it stands for is described
    """

    def link(match: re.Match[str]) -> str:
        full = names.get(match["name"], match["name"])
        if match["dot"] or match["given"]:
            return match[0]
        shown = match["shown"]
        if match["more"] and f"{full}.{match['attribute']}" in hrefs:
            full, shown = f"{full}.{match['attribute']}", shown + match["more"]
        if full not in hrefs:
            return match[0]
        link = f'<a class="api-name" href="{escape(hrefs[full])}">{shown}</a>'
        return link + match[0].removeprefix(shown)

    return BLOCK.sub(lambda block: NAME.sub(link, block[0]), body)


class NameLinks(SphinxPostTransform):
    """Link the names in a page's prose."""

    default_priority = 32

    def run(self, **kwargs: Any) -> None:
        """Go through what is set as code in the prose of a page."""
        here, places = self.env.docname, described(self.env)
        names = _names(self.document)
        if here.startswith(REFERENCE):
            # A module may be called as an argument is, so it is not linked here.
            things = [full for full, (page, _) in places.items() if page == here]
            modules = {full for full in things if places[full][1].startswith("module-")}
            names = {_in_module(full, modules): full for full in things if full not in modules}
        seen = set()
        for literal in list(self.document.findall(nodes.literal)):
            if any(isinstance(above, NOT_PROSE) for above in _above(literal)) or _is_head(literal):
                continue
            said = literal.astext().split("(")[0]
            first, _, rest = said.partition(".")
            full = f"{names[first]}.{rest}".rstrip(".") if first in names else said
            section = next((x for x in _above(literal) if isinstance(x, nodes.section)), None)
            if full in places and (full, section) not in seen:
                seen.add((full, section))
                page, place = places[full]
                link = make_refnode(self.app.builder, here, page, place, literal.deepcopy(), full)
                literal.parent.replace(literal, link)


def _in_module(full: str, modules: set[str]) -> str:
    """Leave out the module from the name of a thing."""
    around = (module for module in modules if full.startswith(f"{module}."))
    return full.removeprefix(max(around, key=len, default="") + ".")


def _is_head(literal: nodes.literal) -> bool:
    """Whether a literal is the argument that an item of a field describes."""
    item = literal.parent.parent
    in_field = isinstance(item, nodes.list_item) and isinstance(
        item.parent.parent, nodes.field_body
    )
    return in_field and literal.parent.index(literal) == 0


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def _link_code(
    app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document | None
) -> None:
    if document is None or not (names := _names(document)):
        return
    where = {
        full: f"{app.builder.get_relative_uri(page, target)}#{place}"
        for full, (target, place) in described(app.env).items()
    }
    context["body"] = linked(context["body"], names, where)


def setup(app: Sphinx) -> None:
    """Link names in prose when all pages are read, and those in code when one is written."""
    app.add_post_transform(NameLinks)
    app.connect("html-page-context", _link_code)
