"""A tiny built book of two pages in one part, beside its first page."""

from pathlib import Path

import pytest

from tools.ebook.site import read_site

FIRST = "<article><h1>The book</h1><p><a href='../notebooks/01-one.html#next'>on</a></p></article>"
CELL = "<div class='cell tag_{}'>{}</div>"
FOLD = "<details><summary><p class='collapsed'>{}</p><p>{}</p></summary><pre>{}</pre></details>"
PICTURE = "<img src='../_images/a.svg' alt='A line'>"
CHAPTER = f"""
<article class="bd-article"><section id="one"><h1>One<a class="headerlink" href="#one">#</a></h1>
{CELL.format("set-up tag_hide-cell", FOLD.format("Set-up", "", "import os"))}
{CELL.format("plot tag_hide-input", FOLD.format("Plot code", "", "draw()") + PICTURE)}
{CELL.format("solution tag_hide-cell", FOLD.format("Solution 1", "", "answer = 1"))}
<details><summary>Hint</summary><p>Look twice.</p></details>
<figure class="course-figure"><style>.x{{color:red}}</style>
<div class="wide"><svg viewBox="0 0 1 1"><clipPath id="c"></clipPath>
<g clip-path="url(#c)"><text fill="var(--fig-0,#0072b2)">wide</text></g></svg></div>
<div class="narrow"><svg viewBox="0 0 1 1"><text>narrow</text></svg></div></figure>
<div class="no-print">Point at a token.</div>
<p class="buttons"><a href="#one">Start</a></p>
<dl><dt>call(<dl><dd>first,</dd><dd>second</dd></dl>)</dt><dd>Calls.</dd></dl>
<p>Formula <math><mfrac displaystyle="true"><mi>a</mi><mi>b</mi></mfrac></math>.</p>
<table border="1" class="dataframe"><tr><th></th><th>n</th></tr><tr><th>a<td>1</table>
<pre><span></span><span class="n">x</span> <span class="c1"># note</span></pre>
<section id="next"><h2>Next</h2><p><a href="../book/intro.html">back</a>
<a href="../_sources/x.txt">source</a> <a href="#one">up</a></p><button>Copy</button>
<script>run()</script></section></section></article>
"""


CONFIG = "title: A Tiny, Tiny Book\nauthor: Nobody & Co\nhtml: {baseurl: https://example.org/book/}"
TOC = """
format: jb-book
root: book/intro
parts: [{caption: Part & parcel, chapters: [file: notebooks/01-one]}]
"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><metadata/>
<path id="p" d="M0 0L9 9"/><path id="p" d="M9 0L0 9"/></svg>"""
FILES = {
    "_config.yml": CONFIG,
    "_toc.yml": TOC,
    "_build/html/book/intro.html": FIRST,
    "_build/html/notebooks/01-one.html": CHAPTER,
    "_build/html/_images/a.svg": DRAWING,
}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("ebook")


@pytest.fixture
def site(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return read_site(tmp_path, tmp_path / "_build" / "html")
