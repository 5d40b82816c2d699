"""XHTML that every reader of e-books takes: what HTML and a theme allow beyond it goes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml import etree

XHTML = "http://www.w3.org/1999/xhtml"
SVG = "{http://www.w3.org/2000/svg}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"
X = f"{{{XHTML}}}"

# Nothing of these can be used on paper. A style in the body belongs to the page on the screen.
GONE = (
    "button", "dialog", "fieldset", "iframe", "input", "link", "meta", "noscript", "script",
    "style", "template", "video", "audio", "canvas", "textarea", "select",
)  # fmt: skip
GONE_CLASSES = {
    "headerlink", "narrow", "copybtn", "enlarge", "no-print", "toctree-wrapper", "buttons",
}  # fmt: skip
# Attributes of HTML 4, or of scripts, that XHTML does not know.
OLD = (
    "border", "align", "halign", "valign", "loading", "tabindex", "decoding", "action", "scoped",
    "width",
)  # fmt: skip
# Code has the colours that ebook.css gives it; what has none needs no element.
COLOURED = {
    "c", "c1", "ch", "cm", "k", "kn", "kc", "kd", "ow", "s1", "s2", "sa", "sb", "sd", "se", "si",
    "mi", "mf", "nf", "nc", "fm",
}  # fmt: skip
VARIABLE = re.compile(r"var\(\s*--[\w-]+\s*(?:,\s*([^()]+|[^()]*\([^()]*\)))?\)")


def local(element: etree._Element) -> str:
    """Give a tag without its namespace."""
    return etree.QName(element).localname


def classes(element: etree._Element) -> set[str]:
    """Give the classes of an element."""
    return set(element.get("class", "").split())


def text(element: etree._Element) -> str:
    """Give what an element says, with single blanks."""
    return " ".join("".join(element.itertext()).split())


def add(parent: etree._Element, tag: str, **attributes: str) -> etree._Element:
    """Put a new XHTML element at the end of another."""
    return etree.SubElement(parent, f"{X}{tag}", attributes)


def drop(element: etree._Element) -> None:
    """Remove an element, not what follows it."""
    _say_before(element, element.tail)
    element.tail = None
    element.getparent().remove(element)


def unwrap(element: etree._Element) -> None:
    """Put what an element holds in its place."""
    held, element.text = element.text, None
    _say_before(element, held)
    for child in list(element):
        element.addprevious(child)
    drop(element)


def _say_before(element: etree._Element, words: str | None) -> None:
    before, parent = element.getprevious(), element.getparent()
    if before is not None:
        before.tail = (before.tail or "") + (words or "")
    else:
        parent.text = (parent.text or "") + (words or "")


def tidy(body: etree._Element) -> None:
    """Leave in a page what XHTML knows and paper can show."""
    _drop_all(e for e in body.iter(etree.Comment, etree.ProcessingInstruction))
    _drop_all(body.iter(*(X + tag for tag in GONE)))
    _drop_all(e for e in body.iter(etree.Element) if classes(e) & GONE_CLASSES)
    _drop_all(e for e in body.iter(etree.Element) if e.get("hidden") is not None)
    _drop_all(body.iter(f"{SVG}metadata"))
    for form in list(body.iter(f"{X}form")):
        form.tag = f"{X}div"
        for key in list(form.attrib):
            del form.attrib[key]
    for span in [e for e in body.iter(f"{X}span") if local(e.getparent()) == "pre"]:
        if not classes(span) & COLOURED:
            unwrap(span)
    for element in body.iter(etree.Element):
        _attributes(element)
    _styles_around(body)
    for names in list(body.iter(f"{X}dl")):
        _parameters(names)
    for head in body.iter(f"{X}th"):  # a cell without words is no head of anything
        if not text(head) and not len(head):
            head.tag = f"{X}td"
            head.attrib.pop("scope", None)


def plain(element: etree._Element) -> etree._Element:
    """Give a copy that is written without prefixes: each language declares itself."""
    space = etree.QName(element).namespace
    made = etree.Element(element.tag, nsmap={None: space})
    for key, value in element.attrib.items():
        made.set(key, value)
    made.text, made.tail = element.text, element.tail
    made.extend(map(plain, element))
    return made


def _drop_all(elements: Iterable[etree._Element]) -> None:
    for element in list(elements):
        if element.getparent() is not None:
            drop(element)


def _attributes(element: etree._Element) -> None:
    for key, value in list(element.attrib.items()):
        name = etree.QName(key)
        old = element.tag.startswith(X) and key in OLD and local(element) != "img"
        if (
            old
            or key.startswith(("on", "data-"))
            or name.namespace == "http://www.w3.org/2000/xmlns/"
        ):
            del element.attrib[key]
        elif "var(" in value:  # few readers of e-books know variables
            element.set(
                key, VARIABLE.sub(lambda found: (found[1] or "currentColor").strip(), value)
            )
    if element.get("role") in ("doc-biblioentry", "doc-biblioref", "doc-backlink", "list"):
        del element.attrib["role"]


def _styles_around(body: etree._Element) -> None:
    """Set a formula's style around what has it: EPUB allows it on few elements themselves."""
    own = {f"{MATHML}{name}" for name in ("math", "mstyle")}
    for element in list(body.iter(f"{MATHML}*")):
        moved = {
            key: element.attrib.pop(key)
            for key in ("displaystyle", "scriptlevel")
            if element.tag not in own and key in element.attrib
        }
        if moved:
            around = etree.Element(f"{MATHML}mstyle", moved)
            element.addprevious(around)
            around.tail, element.tail = element.tail, None
            around.append(element)


def _parameters(names: etree._Element) -> None:
    """Make divisions of a list that describes names it does not have: a long signature's."""
    if len(names) and all(local(child) == "dd" for child in names):
        names.tag = f"{X}div"
        names.set("class", "parameters")
        for child in names:
            child.tag = f"{X}div"
