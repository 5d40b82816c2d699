"""The words of a page that are prose, and how a part of them becomes a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docutils import nodes
from sphinx import addnodes

NOT_PROSE = (
    nodes.comment,
    nodes.FixedTextElement,  # blocks of code, and their output
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.reference,
    nodes.rubric,
    nodes.term,
    nodes.title,
    addnodes.desc_signature,
    addnodes.pending_xref,
    addnodes.toctree,
)
SOURCES = "Sources"  # the title of the section that lists what a chapter was taken from


def sources(document: nodes.document) -> nodes.section | None:
    """Find the section of a page that lists its sources, if it has one."""
    for section in document.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title is not None and title.astext() == SOURCES:
            return section
    return None


def texts(document: nodes.document) -> Iterator[nodes.Text]:
    """Give each piece of prose: no code, no heading, no link, and no list of sources.

    A piece may be replaced before the next is asked for.
    """
    apart = sources(document)
    for text in list(document.findall(nodes.Text)):
        above: nodes.Node | None = text.parent
        while above is not None and above is not apart:
            if isinstance(above, NOT_PROSE) or _is_cell(above):
                break
            above = above.parent
        if above is None:
            yield text


def _is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def replace(text: nodes.Text, links: Sequence[tuple[int, int, nodes.reference]]) -> None:
    """Put links in place of the parts of a text that they name by begin and end, in order."""
    if not links:
        return
    words, pieces, place = str(text), [], 0
    for begin, end, link in links:
        pieces += [nodes.Text(words[place:begin]), link]
        place = end
    pieces.append(nodes.Text(words[place:]))
    text.parent.replace(text, [piece for piece in pieces if piece.astext()])
