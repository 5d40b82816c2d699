"""The landing page of a small course: what it shows comes from the course, not from a list."""

import gc
import io
import json
import re
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.environment.collectors.toctree import TocTreeCollector

from tools.page.landing import live_figure, short

ROOT = Path(__file__).resolve().parents[3]
INTRO = """# A Course

:::{landing} hero
Learn it in a day.
:::

:::{landing} findings
:::

:::{landing} map
:::
"""
TOC = """format: jb-book
root: book/intro
parts:
  - caption: First & foremost
    chapters:
      - file: book/notation
      - file: notebooks/01-masks
  - caption: Later
    chapters:
      - file: notebooks/02-quite-new
      - file: notebooks/A1-<four>-libraries
"""
PAGES = {
    "book/intro": INTRO,
    "book/notation": "# Notation",
    "notebooks/01-masks": "# 1. Why is it so, and for how long?",
    "notebooks/02-quite-new": "# 2. What is <new>?",
    "notebooks/A1-four-libraries": "# A1. The same in four",
}


def write(folder, pages):
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.md").write_text(text)


@pytest.fixture(autouse=True)
def only_collectors(monkeypatch):
    """Let the contents look for Sphinx's collector by type: it asks whatever is in memory for its
    class, and what other tests left there, a proxy of something gone, may raise.
    """
    everything = gc.get_objects
    monkeypatch.setattr(
        gc, "get_objects", lambda: [one for one in everything() if type(one) is TocTreeCollector]
    )


@pytest.fixture
def build(tmp_path):
    """Write the course, build it, and give the landing page with what was complained of."""
    source = tmp_path / "source"
    source.mkdir()
    write(source, PAGES)
    (source / "_toc.yml").write_text(TOC.replace("<four>", "four"))

    def build():
        said = io.StringIO()
        app = Sphinx(
            source,
            None,
            tmp_path / "out",
            tmp_path / "trees",
            "html",
            confoverrides={
                "extensions": ["myst_parser", "sphinx_external_toc", "tools.page.landing"],
                "myst_enable_extensions": ["colon_fence"],
                "html_theme": "basic",
                "html_theme_options": {},
            },
            status=None,
            warning=said,
        )
        app.config.html_theme_options = {
            "repository_url": "https://github.com/some/course",
            "launch_buttons": {"colab_url": "https://colab.example"},
        }
        app.build()
        page = (tmp_path / "out" / "book" / "intro.html").read_text(encoding="utf-8")
        return page, said.getvalue()

    build.source = source
    return build


def tiles(page):
    found = re.findall(
        r'<a class="tile" href="([^"]+)".*?<b>(\w+)</b> (.*?)</span><svg.*?aria-label="([^"]+)"',
        page,
    )
    return {number: (link, question, alt) for link, number, question, alt in found}


def test_each_chapter_has_its_tile_and_other_pages_a_link(build):
    page, _ = build()
    found = tiles(page)
    assert list(found) == ["1", "2", "A1"]
    assert found["1"][:2] == ("../notebooks/01-masks.html", "Why is it so?")
    assert found["1"][2].startswith("A causal mask")
    assert found["2"][1:] == ("What is &lt;new&gt;?", "Two heads over five tokens")
    assert "<h3>First &amp; foremost</h3>" in page
    assert '<a href="notation.html">Notation</a>' in page


def test_the_buttons_lead_to_the_first_chapter(build):
    page, _ = build()
    assert '<a class="start" href="../notebooks/01-masks.html">' in page
    assert (
        'href="https://colab.example/github/some/course/blob/main/notebooks/01-masks.ipynb"' in page
    )
    assert "<p>Learn it in a day.</p>" in page


def test_a_chapter_that_is_renamed_is_renamed_here_though_this_page_did_not_change(build):
    build()
    write(build.source, {"notebooks/02-quite-new": "# 2. What is old?"})
    page, _ = build()
    assert tiles(page)["2"][1] == "What is old?"


def test_a_finding_without_its_number_is_left_out_and_complained_of(build):
    (build.source / "notebooks" / "01-masks.md").write_text("# 1. Why?\n")
    page, said = build()
    assert "no chapter is named 'fast-attention'" in said
    assert '<ul class="findings"></ul>' in page


FIGURE = '<figure class="course-figure live" data-live="heads">They look.</figure>'


def test_the_live_heads_are_those_of_their_chapter(build):
    invited = INTRO + "\n:::{landing} heads\nType a sentence.\n:::\n"
    write(build.source, {"book/intro": invited})
    page, said = build()
    assert "no chapter is named 'naive-multi-head'" in said
    assert '<div class="no-print"><p>Type a sentence.</p>' in page.replace("\n", "")


def test_a_live_figure_is_found_among_the_outputs_of_a_notebook(tmp_path):
    notebook = tmp_path / "04-heads.ipynb"
    outputs = [{"text": "1"}, {"data": {"text/html": ["<p>", "</p>"]}}]
    cells = [{"cell_type": "markdown"}, {"outputs": outputs}]
    notebook.write_text(json.dumps({"cells": cells}))
    with pytest.raises(ValueError, match=r"04-heads\.ipynb has no live figure 'heads'"):
        live_figure(notebook, "heads")
    outputs.append({"data": {"text/html": [FIGURE[:20], FIGURE[20:]]}})
    notebook.write_text(json.dumps({"cells": cells}))
    assert live_figure(notebook, "heads") == FIGURE


def test_the_style_is_loaded_where_it_is_needed(build, tmp_path):
    page, _ = build()
    other = (tmp_path / "out" / "book" / "notation.html").read_text(encoding="utf-8")
    assert "landing.css" in page
    assert "landing.css" not in other


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why is it slow, and where from?", "Why is it slow?"),
        ("How long may a text be?", "How long may a text be?"),
        ("One, two, three", "One, two, three"),
    ],
)
def test_a_double_question_is_cut_to_its_first_half(question, expected):
    assert short(question) == expected
