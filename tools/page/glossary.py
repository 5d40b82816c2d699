"""A word of the glossary, where a chapter first uses it, leads to what the glossary says of it.

Whole words are found, small or capital, one or several. The chapter that explains a word, which is
the one that the glossary names, does not link it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from tools.page.links import FILE, named
from tools.page.prose import replace, texts

PLACE = re.compile(r"\s*\([^()]*Chapters? [^()]*\)$")


class Word(NamedTuple):
    """A term of the glossary."""

    term: str
    page: str
    place: str
    meaning: str  # without the chapter
    chapters: frozenset[str]  # that explain it


def words_of(glossary: nodes.document, page: str) -> list[Word]:
    """Read the terms of a glossary, and what it says of them."""
    found = []
    for listed in glossary.findall(addnodes.glossary):
        for item in listed.findall(nodes.definition_list_item):
            said = " ".join(item.next_node(nodes.definition).astext().split())
            explained = frozenset(number for _, _, number in named(said))
            meaning = PLACE.sub("", said)
            for term in item.findall(nodes.term):
                name = next(iter(term.findall(nodes.Text))).astext()
                found.append(Word(name, page, term["ids"][0], meaning, explained))
    return found


def pattern(term: str) -> str:
    """Write a term as a pattern of it and its plural; what it has in brackets may be left out."""
    inside = re.sub(r"\\? \\\(.*?\\\)", lambda bracket: f"(?:{bracket[0]})?", re.escape(term))
    inside = inside.replace("\\ ", r"\s+")
    if inside.endswith("y"):
        return f"{inside[:-1]}(?:y|ies)"
    return f"{inside}?" if inside.endswith("s") else f"{inside}(?:s|es)?"


def finder(words: list[Word]) -> re.Pattern[str]:
    """Make a pattern that finds the longest term first, in the group with the term's place."""
    ordered = sorted(range(len(words)), key=lambda i: -len(words[i].term))
    inside = "|".join(f"(?P<w{i}>{pattern(words[i].term)})" for i in ordered)
    return re.compile(rf"(?<![\w-])(?:{inside})(?![\w-])", re.IGNORECASE)


class GlossaryLinks(SphinxPostTransform):
    """Link the first use of each word in a chapter."""

    default_priority = 31  # after the chapters' numbers

    def run(self, **kwargs: Any) -> None:
        """Go through the prose of a chapter."""
        here = self.env.docname
        chapter = FILE.match(here)
        words: list[Word] = getattr(self.env, "glossary_words", [])
        if not chapter or not words:
            return
        seen = {i for i, word in enumerate(words) if chapter[1] in word.chapters}
        find = finder(words)
        for text in texts(self.document):
            links = []
            for match in find.finditer(str(text)):
                i = int(str(match.lastgroup)[1:])
                if i not in seen:
                    seen.add(i)
                    links.append((*match.span(), self._link(words[i], match[0])))
            replace(text, links)

    def _link(self, word: Word, said: str) -> nodes.reference:
        builder, here = self.app.builder, self.env.docname
        text = nodes.Text(said)
        link = make_refnode(builder, here, word.page, word.place, text, word.meaning)
        link["classes"].append("glossary-word")
        return link


def _collect(app: Sphinx, env: BuildEnvironment) -> None:
    terms = env.get_domain("std").get_objects()
    pages = sorted({page for _, _, kind, page, _, _ in terms if kind == "term"})
    found = [word for page in pages for word in words_of(env.get_doctree(page), page)]
    env.glossary_words = found  # type: ignore[attr-defined]


def _letters(app: Sphinx, document: nodes.document, page: str) -> None:
    """Lead from above a glossary to the first word of each letter."""
    for glossary in list(document.findall(addnodes.glossary)):
        line = nodes.paragraph(classes=["letters"])
        found = {name.astext()[0].upper(): name["ids"][0] for name in _terms(glossary)[::-1]}
        for letter, place in sorted(found.items()):
            line += [nodes.reference("", letter, internal=True, refid=place), nodes.Text(" ")]
        glossary.parent.insert(glossary.parent.index(glossary), line)


def _terms(glossary: addnodes.glossary) -> list[nodes.term]:
    return [term for term in glossary.findall(nodes.term) if term.astext()[0].isalpha()]


def setup(app: Sphinx) -> None:
    """Collect the words when all pages are read, then link them."""
    app.connect("env-updated", _collect)
    app.connect("doctree-resolved", _letters)
    app.add_post_transform(GlossaryLinks)
