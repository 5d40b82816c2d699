"""Make one file of the whole book, from the pages that `make book` has built.

python -m tools.ebook epub          _build/ebook/multi-head-attention-measured.epub
python -m tools.ebook pdf [PAPER]   the same as PDF; PAPER is A4 (where none is named) or Letter
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.ebook.epub import write_epub
from tools.ebook.pdf import NoBrowser, write_pdf
from tools.ebook.site import Site, read_site

ROOT = Path(__file__).resolve().parents[2]


def output(site: Site, kind: str) -> Path:
    """Give the file of this kind, named after the book's title."""
    words = "".join(c if c.isalnum() else " " for c in site.title.lower()).split()
    return ROOT / "_build" / "ebook" / f"{'-'.join(words)}.{kind}"


def main(kind: str = "", paper: str = "A4") -> None:
    """Write the file and say where it is, or stop with what is missing."""
    if kind not in ("epub", "pdf") or paper not in ("A4", "Letter"):
        sys.exit(__doc__)
    html = ROOT / "_build" / "html"
    if not (html / "index.html").is_file():
        sys.exit("The book is not built yet: `make book` builds it.")
    site = read_site(ROOT, html)
    file = output(site, kind)
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == "epub":
        write_epub(site, file)
    else:
        try:
            write_pdf(site, file, paper)
        except NoBrowser as lack:
            sys.exit(str(lack))
    print(f"The whole book is in {file} ({file.stat().st_size / 1e6:.1f} MB).")


if __name__ == "__main__":
    main(*sys.argv[1:])
