"""Every check of a chapter is seen to fail on a chapter that is wrong in just that way."""

import nbformat
import pytest
from nbformat.v4 import new_output

from tools.problems import malformed, old_results, problems, stale
from tools.stamp import kept_code

NAME = "08-news.ipynb"


def test_a_good_chapter_has_no_problems(good, root):
    assert problems(good, NAME, root) == []


def no_stamp(nb, root):
    del nb.metadata["course"]


def other_cell(nb, root):
    nb.cells[1].source += "  # and more"


def other_output(nb, root):
    nb.cells[1].outputs[0].text = "1,226 articles\n"


def edited(root, file, old, new):
    text = (root / "utils" / file).read_text()
    assert old in text
    (root / "utils" / file).write_text(text.replace(old, new))


def other_function(nb, root):
    edited(root, "news.py", "return PADDING", "return PADDING + 1")


def other_results(nb, root):
    (root / "notebooks" / "results" / "08-writer.json").write_text("{}")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_stamp, "it has no stamp"),
        (other_cell, "its code cells changed"),
        (other_output, "its outputs are not those of its last"),
        (other_function, "utils/news.py changed"),
        (other_results, "results/08-writer.json changed"),
    ],
)
def test_what_is_older_than_its_sources_is_stale(good, root, spoil, message):
    spoil(good, root)
    found = stale(good, NAME, root)
    assert len(found) == 1
    assert message in found[0]
    assert "make notebooks CHAPTERS=08-news" in found[0]
    assert found[0] in problems(good, NAME, root)


KEPT = """
from utils.news import load_news

KEPT = {"file": "results/08-kept.csv"}

def run(seed):
    return {"accuracy": load_news()}

run_all(run, [], [], **KEPT)
"""


def test_kept_results_depend_on_all_that_their_function_runs(good, root):
    good.cells[1].source = KEPT
    path = root / "notebooks" / "results" / "08-kept.csv"
    path.write_text(f"# code run {kept_code(good, root)['run']}\nseed,accuracy\n0,0.9\n")
    assert old_results(good, NAME, root) == []
    edited(root, "news.py", "give it a number.", "a number is wanted.")
    assert old_results(good, NAME, root) == []
    edited(root, "masks.py", "0", "1")
    (found,) = old_results(good, NAME, root)
    assert "results/08-kept.csv" in found
    assert "RECHECK=1 make notebooks CHAPTERS=08-news" in found


@pytest.mark.parametrize("word", ["docstrings", None])
def test_outputs_must_be_those_of_the_news(good, root, word):
    good.metadata.course.data = word
    (found,) = problems(good, NAME, root)
    assert f"with the data {word!r}, not the news" in found


def test_a_chapter_that_reads_no_articles_needs_none(good, root):
    good.cells[1].source = "print('1,225 articles')"
    good.metadata.course.update(data="none")
    assert not any("not the news" in problem for problem in problems(good, NAME, root))


def printed(text):
    return lambda cell: cell.outputs.append(new_output("stream", name="stderr", text=text))


def failed(cell):
    cell.outputs.append(new_output("error", ename="ValueError", evalue="no", traceback=["no"]))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda cell: cell.update(source=" \n"), "it is empty"),
        (lambda cell: cell.update(source="x = 1\n" * 31), "it has 31 lines"),
        (lambda cell: cell.metadata.update(execution={"shell.execute": "…"}), "time stamps"),
        (printed("/tmp/ipykernel_5/1.py:1: UserWarning"), "holds a path of a machine (/tmp/ipy"),
        (failed, "it ends in an error"),
    ],
)
def test_a_wrong_cell_is_named(good, spoil, message):
    spoil(good.cells[1])
    (found,) = malformed(good, NAME)
    assert found.startswith(f"{NAME}, cell 2: ")
    assert message in found


def test_30_lines_beside_imports_and_an_error_that_is_meant_are_allowed(good):
    good.cells[1].source = "x = 1\n" * 30 + "from a import (\n    b,\n    c,\n)\n"
    failed(good.cells[1])
    good.cells[1].metadata["tags"] = ["raises-exception"]
    assert malformed(good, NAME) == []


@pytest.mark.parametrize("counts", [(1, 3), (None, 1)])
def test_execution_counts_must_be_1_2_3(good, counts):
    good.cells[1].execution_count, good.cells[2].execution_count = counts
    (found,) = malformed(good, NAME)
    assert f"its execution counts are {list(counts)}" in found


def test_a_bare_image_is_refused(good):
    for mime in ("image/png", "image/svg+xml"):
        good.cells[2].outputs = [new_output("display_data", data={mime: "iVBORw0KGgo="})]
        (found,) = malformed(good, NAME)
        assert found.startswith(f"{NAME}, cell 3: its image has no caption")


@pytest.mark.parametrize(
    ("old", "new", "legible"),
    [
        ("11px", "10px", False),
        ("font: 11px", "font-size: 10px", False),
        ("331", "400", False),
        ("331", "350", True),
    ],
)
def test_text_of_a_figure_is_legible_on_a_phone(good, old, new, legible):
    data = good.cells[2].outputs[0].data
    data["text/html"] = data["text/html"].replace(old, new)
    found = malformed(good, NAME)
    assert bool(found) != legible
    if found:
        assert "pixels on a phone" in found[0]


def test_of_two_widths_the_narrow_one_is_measured(good):
    data = good.cells[2].outputs[0].data
    wide = '<svg viewBox="0 0 700 200"><text style="font: 9px serif">loss</text></svg>'
    data["text/html"] = data["text/html"].replace("<div", f"{wide}<div", 1)
    assert malformed(good, NAME) == []


@pytest.mark.parametrize(
    ("source", "metadata", "right"),
    [
        ("# @title Proof\nx", {"tags": ["proof"], "cellView": "form"}, True),
        ("x", {"tags": ["exercise"]}, True),
        ("# @title Proof\nx", {"tags": ["proof"]}, False),
        ("# @title Proof\nx", {"cellView": "form"}, False),
        ("# @title Proof\nx", {"tags": ["check"]}, False),
    ],
)
def test_a_folded_cell_is_folded_everywhere(good, source, metadata, right):
    good.cells[1].source, good.cells[1].metadata = source, nbformat.from_dict(metadata)
    found = malformed(good, NAME)
    assert bool(found) != right
    assert right or "a folded cell has a tag" in found[0]
