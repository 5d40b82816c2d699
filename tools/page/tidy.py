"""Mend the markup that the theme, pandas and bibliographies bring, once a page is written.

What a script would mend after a page is shown is mended here: no name that contradicts what is
shown, no heading without words, no role that is not kept, nothing said twice.
"""

from __future__ import annotations

import re

# Patterns, and what stands in their place.
MENDED = [
    # A control is called what it shows.
    (r'(<summary) aria-label="Toggle hidden content"', r"\1"),
    (r'<summary>(?=<span class="toctree-toggle")', '<summary aria-label="Pages of this part">'),
    (r'(<button class="[^"]*search-button-field[^"]*"[^>]*?) aria-label="[^"]*"', r"\1"),
    (r'(<i class="theme-switch [^>]*?) title="[^"]*"', r"\1"),
    # A fold that is called the same open and shut says so once.
    (
        r'<p class="collapsed (admonition-title)">([^<]*)</p>\s*<p class="expanded \1">\2</p>',
        r'<p class="\1">\2</p>',
    ),
    # The empty corner of a table is not a heading.
    (r"<th\b([^>]*)>(?:\s|<p></p>)*</th>", r"<td\1></td>"),
    # The parameters of a signature, a line each, are no list of definitions: no term is defined.
    (r'(?s)<dd>(<em class="sig-param">.*?</em>,?)</dd>', r'<span class="parameter">\1</span>'),
    (r'(?s)(<span class="sig-paren">\(</span>)\s*<dl>(.*?)</dl>', r"\1\2"),
    # The title of the book stands in the sidebar, which is no landmark by itself.
    (r'(<div id="pst-primary-sidebar")', r'\1 role="complementary"'),
    # The entries of the bibliography are not the list items that its role promises.
    (r'<div role="list" class="citation-list"', r'<div class="citation-list"'),
    (r'(<div class="citation" id="[^"]*") role="doc-biblioentry"', r"\1"),
]
STYLE = re.compile(r"<style\b[^>]*>.*?</style>\n?", re.DOTALL)


def tidy(page: str) -> str:
    """Give a page with its markup mended and each of its inline styles once."""
    for pattern, replacement in MENDED:
        page = re.sub(pattern, replacement, page)
    seen: set[str] = set()

    def first(style: re.Match[str]) -> str:
        known = style[0].strip() in seen
        seen.add(style[0].strip())
        return "" if known else style[0]

    return STYLE.sub(first, page)
