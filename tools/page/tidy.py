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
    (r'(<div id="pst-primary-sidebar")(?! role)', r'\1 role="complementary"'),
    # A formula and the full stop after it stay together.
    (
        r'(?<!"formula-end">)(<span class="math notranslate">(?:(?!</?span).)*</span>[.,;:!?)]+)',
        r'<span class="formula-end">\1</span>',
    ),
    # The entries of the bibliography are not the list items that its role promises.
    (r'<div role="list" class="citation-list"', r'<div class="citation-list"'),
    (r'(<div class="citation" id="[^"]*") role="doc-biblioentry"', r"\1"),
]
# In pictures: a hundredth of a point is seen by nobody, and a cell of a heat map is a rectangle.
PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
PLACES = re.compile(r' (?:d|x|y|x1|x2|y1|y2|width|height|style|points)="[^"]*"')
LONG = re.compile(r"\b\d+\.\d{3,}")
CELL = re.compile(
    r'd="M ([\d.]+) ([\d.]+) L ([\d.]+) \2 L \3 ([\d.]+) L \1 \4 (?:L \1 \2 )?(?:z )?"'
)
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

    return PICTURE.sub(lambda found: trimmed(found[0]), STYLE.sub(first, page))


def trimmed(picture: str) -> str:
    """Write a picture in fewer letters: two decimals, no empty space, rectangles by their sides."""
    picture = re.sub(r"\s*\n\s*", " ", re.sub(r">\s*\n\s*<", "><", picture))
    picture = PLACES.sub(lambda place: LONG.sub(_rounded, place[0]), picture)
    picture = re.sub(r"([:;]) (?=[^<>]*/>)", r"\1", picture)  # in a style
    return CELL.sub(r'd="M\1 \2H\3V\4H\1z"', picture)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
