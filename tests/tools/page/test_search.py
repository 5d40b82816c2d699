"""Sections as the search knows them, and their index."""

from tools.page import search

PAGE = """<html><body><nav>Menu</nav><article><section id="top">
<h1>1. A page<a class="headerlink" href="#top">#</a></h1><p>Opening <em>words</em>.</p>
<div class="cell tag_set-up"><pre>seed = 0</pre></div>
<section id="inner"><h2>Inner, of size <span class="math"><math>
<msup><mi>T</mi><mn>2</mn></msup></math></span></h2>
<p>The size is <span class="math"><math><mi>T</mi></math></span>.</p>
<pre>import torch
from utils.attention import (
    causal_mask,
)
allowed = causal_mask(3)</pre>
<div class="cell tag_plot"><details><summary>Plot code</summary>
<div class="cell_input"><pre>ax.plot()</pre></div></details>
<div class="cell_output"><figcaption>A caption.</figcaption></div></div>
<table><tr><td>one</td><td>two</td></tr></table></section>
<section id="api"><h2>Functions</h2><dl class="py"><dt id="utils.f">
<span class="descname">f</span>(<em>x</em>)</dt><dd><p>Give a thing.</p></dd></dl>
<dl class="py"><dt class="sig py" id="utils.g"><span class="descname">g</span>(
<dl><dd><em>x</em>,</dd><dd><em>y</em>,</dd></dl>)</dt><dd><p>Give another.</p></dd></dl></section>
<dl class="glossary"><dt id="term-A">A</dt><dt id="term-B">B</dt><dd><p>Two names.</p></dd></dl>
<section id="sources"><h2>Sources</h2><p>A paper.</p></section>
</section></article></body></html>"""


def test_records_are_sections_in_reading_order():
    inner = ("The size is T. A caption.", "allowed = causal_mask(3) one two")
    assert search.records(PAGE) == [
        ("top", "1. A page", "Opening words.", ""),
        ("inner", "Inner, of size T^2", *inner),
        ("api", "Functions", "", ""),
        ("utils.f", "f", "f(x) Give a thing.", ""),
        ("utils.g", "g", "g( x,y,) Give another.", ""),
        ("term-A", "A", "Two names.", ""),
        ("term-B", "B", "Two names.", ""),
    ]


def test_no_synonym_is_ignored():
    words = search.yaml.safe_load(search.SYNONYMS.read_text(encoding="utf-8"))
    ignored = set(words["ignored"].split())
    names = [name for group in words["same"] for name in group]
    assert all(name == name.lower() for name in names)
    assert not [name for name in names if set(name.split()) <= ignored]
