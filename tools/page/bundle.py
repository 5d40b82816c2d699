"""One stylesheet and one script: a page asks for two files where the theme asks for two dozen."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

# In their order on a page, which has the course's own between these two parts.
THEME_STYLES = (
    "basic.css",  # which theme.css asks for, and says nothing else
    "styles/theme.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "mystnb.*.css",
    "copybutton.css",
)
LAST_STYLES = ("icons.css",)
THEME_SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "scripts/sphinx-book-theme.js",
    "clipboard.min.js",
    "copybutton.js",
)
LAST_SCRIPTS = ("scripts/pydata-sphinx-theme.js",)
# A stylesheet may ask for others, and name its encoding, on its first lines alone.
NOT_JOINED = re.compile(r'^//# sourceMappingURL=.*$|@import "[^"]*";|@charset "[^"]*";', re.M)


def joined(static: Path, names: Iterable[str]) -> str:
    """Join files of a folder; what they name in theirs is named from the folder itself."""
    texts = []
    for name in names:
        for path in sorted(static.glob(name)):
            text = path.read_text(encoding="utf-8")
            text = NOT_JOINED.sub("", text).strip()
            end = ";" if path.suffix == ".js" and not text.endswith(";") else ""
            up = r"\1" if path.parent != static else r"\1../"
            texts.append(re.sub(r"(url\([\"']?)\.\./", up, text) + end)
    return "\n".join(texts)


def asks_for(page: str, names: Iterable[str], bundle: str, tag: str) -> str:
    """Replace the tags of bundled files by one, where the first of them stands.

    Parameters
    ----------
    names : files of the folder _static
    bundle : str, the file that holds them
    tag : str, how it is asked for, with {} for its address
    """
    files = "|".join(re.escape(name).replace(r"\*", r"[\w.]*") for name in names)
    asked = re.compile(
        rf'[ \t]*<(?:link|script)\b[^>]*\b(?:href|src)="(?P<root>(?:\.\./)*_static/)(?:{files})'
        r'(?:\?[^"]*)?"[^>]*>(?:</script>)?\n?'
    )
    first = asked.search(page)
    if first is None:
        return page
    before, after = page[: first.start()], asked.sub("", page[first.start() :])
    return before + tag.format(first["root"] + bundle) + "\n" + after


def write(static: Path, name: str, names: Iterable[str]) -> str:
    """Write a bundle, and give its name with a mark that changes with what it holds."""
    text = joined(static, names)
    (static / name).write_text(text, encoding="utf-8")
    return f"{name}?v={hashlib.sha256(text.encode()).hexdigest()[:8]}"
