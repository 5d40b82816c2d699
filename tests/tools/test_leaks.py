"""Paths and quotations are found wherever an output can hold them, and nothing else is."""

import tempfile
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.leaks import article_runs, machine_path, output_texts

ARTICLE = "The old mill by the river was sold to a brewer from Leeds. Prices rose 6 4 6 2 7 5 6 3."


@pytest.mark.parametrize(
    "text",
    [
        str(Path(__file__)),
        f"{Path.home()}/notes",
        tempfile.gettempdir() + "/x",
        "File /tmp/ipykernel_12/34.py",
        "\x1b[32m/home/ann/x.py\x1b[39m",
        "file:///Users/ann/x.py",
        r"C:\Users\ann",
        "/x/lib/python3.12/site-packages/torch/nn.py:1: UserWarning",
        "/usr/local/bin/python",
    ],
)
def test_a_path_of_a_machine_is_found(text):
    cell = new_code_cell("f()", outputs=[new_output("stream", text=text)])
    assert any(map(machine_path, output_texts(cell)))


def test_what_is_no_path_of_a_machine_is_not():
    for text in ("https://example.org/home/index.html", "notebooks/08-news.ipynb", "~/course",
                 "tokens a/second", "news/tmp/cache", "Users: 3"):  # fmt: skip
        assert machine_path(text) is None


def outputs_with(text):
    words = text.split()
    table = "".join(f"<td>{word}</td>" for word in words)
    return [
        new_output("stream", text=f"first: {text} …"),
        new_output("execute_result", data={"text/plain": repr(words)}),
        new_output("execute_result", data={"text/html": f"<table><tr>{table}</tr></table>"}),
        new_output("display_data", data={"image/svg+xml": f"<svg><title>{text}</title></svg>"}),
        new_output("display_data", data={"application/json": {"rows": [{"text": text}]}}),
        new_output("display_data", data={}, metadata={"image/png": {"alt": text}}),
        new_output("error", ename="E", evalue="", traceback=[f"E: {text}"]),
    ]


def test_six_words_of_an_article_are_a_quotation():
    cells = [new_code_cell("f()", outputs=[o]) for o in outputs_with("mill by THE river, was sold")]
    cells.append(new_code_cell("f()", metadata={"mystnb": {"image": {"alt": ARTICLE}}}))
    found = article_runs(new_notebook(cells=cells), ["nothing", ARTICLE])
    assert set(found) == set(range(1, len(cells) + 1))
    assert found[1] == "mill by the river was sold"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("f()", "mill by the river was painted"),  # five words
        ("predict(['The old mill by the river'])", "the old mill by the river"),  # the author's own
        ("f()", "6 4 6 2 7 5 6 3"),
    ],
)
def test_what_is_no_quotation(source, text):
    nb = new_notebook(cells=[new_code_cell(source, outputs=outputs_with(text))])
    assert article_runs(nb, [ARTICLE]) == {}


def test_pictures_of_points_are_not_read_as_text():
    letters = "/tmp/ab the old mill by the river"
    pictures = {
        "image/png": letters,
        "image/svg+xml": '<image href="data:image/png;base64,/tmp/ab"/>',
    }
    cell = new_code_cell("f()", outputs=[new_output("display_data", data=pictures)])
    assert not any(map(machine_path, output_texts(cell)))
    assert article_runs(new_notebook(cells=[cell]), [ARTICLE]) == {}
