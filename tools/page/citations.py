"""A number in square brackets leads to the chapter's source of that number, and back.

"[1]", "[2, 3]" and "[1, section 3.4]" name entries of the numbered list below the heading
"Sources". An entry whose title stands in ``book/references.bib`` gets the link that stands there.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from pybtex.database import Entry, parse_file
from pybtex.richtext import Text
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from tools.page.prose import replace, sources, texts

CITED = re.compile(r"\[(\d+(?:, ?\d+)*)(?:, [a-zA-Z][^\[\]]*)?\]")
log = logging.getLogger(__name__)


def letters(words: str) -> str:
    """Give the letters and digits of a text alone, small and without accents."""
    plain = unicodedata.normalize("NFKD", words.lower())
    return "".join(c for c in plain if c.isalnum())


def address(entry: Entry) -> str | None:
    """Give the address of a work in the bibliography, if it names one."""
    if doi := entry.fields.get("doi"):
        return f"https://doi.org/{doi}"
    return entry.fields.get("url")


def works(files: list[Path]) -> dict[str, str]:
    """Give the address of each work that has one, by the letters of its title."""
    found = {}
    for file in files:
        for entry in parse_file(str(file)).entries.values():
            if url := address(entry):
                title = Text.from_latex(entry.fields["title"]).render_as("text")
                found[letters(title)] = url
    return found


def addresses(said: str, known: dict[str, str]) -> list[str]:
    """Give the addresses of the works whose titles stand in an entry, in their order there."""
    words = letters(said)
    titles = [title for title in known if title in words]
    whole = [t for t in titles if not any(t != other and t in other for other in titles)]
    return [known[title] for title in sorted(whole, key=words.index)]


def label(url: str) -> str:
    """Name an address as readers know it: by its number at arXiv, its DOI, or its host."""
    parts = urlsplit(url)
    if parts.netloc == "arxiv.org":
        return f"arXiv:{parts.path.removeprefix('/abs/')}"
    if parts.netloc == "doi.org":
        return f"doi:{parts.path[1:]}"
    return parts.netloc.removeprefix("www.")


def link(words: str, **where: Any) -> nodes.reference:
    """Make a link to ``refid``, a place on this page, or to ``refuri``, an address."""
    return nodes.reference("", words, internal="refid" in where, **where)


class Citations(SphinxPostTransform):
    """Link numbers in brackets and the sources of a page with each other."""

    default_priority = 29  # before numbers of chapters; what the author linked is a link

    def run(self, **kwargs: Any) -> None:
        """Go through the prose of a page that lists its sources."""
        section = sources(self.document)
        listed = section.next_node(nodes.enumerated_list) if section is not None else None
        if listed is None:
            return
        entries = {str(i): entry for i, entry in enumerate(listed, listed.get("start", 1))}
        uses = self._link_uses(entries)
        known: dict[str, str] = getattr(self.env, "cited_works", {})
        for number, entry in entries.items():
            entry["ids"].append(f"source-{number}")
            self._complete(entry, known, uses.get(number, []))

    def _link_uses(self, entries: dict[str, nodes.Element]) -> dict[str, list[str]]:
        """Link each number in the prose, and give the places where each source is named."""
        uses: dict[str, list[str]] = {}
        for text in texts(self.document):
            links = []
            for match in CITED.finditer(str(text)):
                for number in re.finditer(r"\d+", match[1]):
                    if number[0] not in entries:
                        message = "there is no source %s, which the page names"
                        log.warning(message, number[0], location=text.parent)
                        continue
                    places = uses.setdefault(number[0], [])
                    places.append(f"source-{number[0]}-use-{len(places) + 1}")
                    cited = link(number[0], refid=f"source-{number[0]}", ids=[places[-1]])
                    begin, end = (match.start(1) + place for place in number.span())
                    links.append((begin, end, cited))
            replace(text, links)
        return uses

    def _complete(self, entry: nodes.Element, known: dict[str, str], uses: list[str]) -> None:
        """Add to an entry where to read it, and where the page names it."""
        said = next(iter(entry.findall(nodes.paragraph)), None)
        if said is None:
            return
        linked = {node.get("refuri") for node in entry.findall(nodes.reference)}
        for url in addresses(said.astext(), known):
            if url not in linked:
                said += [nodes.Text(" "), link(label(url), refuri=url)]
        if uses:
            back = nodes.inline("", " ↑" if len(uses) > 1 else "", classes=["used-at"])
            for letter, use in zip(ascii_lowercase if uses[1:] else "↑", uses, strict=False):
                title = "Back to where this source is named"
                back += [nodes.Text(" "), link(letter, refid=use, reftitle=title)]
            said += back


def _collect(app: Sphinx, env: BuildEnvironment) -> None:
    files = [Path(app.srcdir) / name for name in app.config.bibtex_bibfiles]
    env.cited_works = works(files)  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    """Collect the works when all pages are read, then link."""
    app.connect("env-updated", _collect)
    app.add_post_transform(Citations)
