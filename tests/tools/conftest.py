"""A small course in a temporary folder: a package of two modules, and a chapter to spoil."""

import textwrap
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.stamp import hashes

FIGURE = (
    '<figure class="course-figure"><div class="narrow"><svg viewBox="0 0 331 200">'
    '<text style="font: 11px sans-serif">loss</text></svg></div></figure>'
)


def stamp(nb, root):
    """Say that the chapter was executed as it is now."""
    nb.metadata.course = nbformat.from_dict({"data": "news", **hashes(nb, "08-news", root)})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a course: utils/ with two modules, and notebooks/ with results."""
    (tmp_path / "notebooks" / "results").mkdir(parents=True)
    for name in ("08-writer.json", "09-other.csv"):
        (tmp_path / "notebooks" / "results" / name).write_text("seed,accuracy\n0,0.9\n")
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "__init__.py").write_text("")
    (tmp_path / "utils" / "masks.py").write_text("PADDING = 0\n")
    (tmp_path / "utils" / "news.py").write_text(
        textwrap.dedent(
            """
            from utils.masks import PADDING

            class NEWS:
                source = None

            def load_news():
                '''Read the news.'''
                NEWS.source = "news"
                if PADDING is None:
                    raise ValueError("PADDING is None: give it a number.")
                return PADDING

            def unused():
                return 0
            """
        )
    )
    return tmp_path


@pytest.fixture
def good(root: Path) -> nbformat.NotebookNode:
    """A chapter as it should be committed."""
    words = new_code_cell(
        "from utils.news import load_news\n\nload_news()\nFILE = 'results/08-writer.json'",
        execution_count=1,
        outputs=[new_output("stream", name="stdout", text="1,225 articles\n")],
    )
    picture = new_code_cell(
        "show()",
        execution_count=2,
        outputs=[
            new_output(
                "display_data",
                data={"text/html": FIGURE, "text/plain": "Two losses that fall together."},
            )
        ],
    )
    nb = new_notebook(cells=[new_markdown_cell("# Which news is it?"), words, picture])
    stamp(nb, root)
    return nb
