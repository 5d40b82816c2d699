"""A cell's tag says how the page shows it, and its first line how a fold is called."""

import pytest

from tools.page.cells import FOLDED, SHOWN_AS, as_shown, title


def cell(source="x = 1", *tags, kind="code", **metadata):
    return {"cell_type": kind, "source": source, "metadata": {"tags": [*tags], **metadata}}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("# @title Solution 3\nx", "Solution 3"),
        ("#@title Set-up", "Set-up"),
        ("x\n# @title Late", None),
        ("# a title", None),
    ],
)
def test_the_name_stands_in_the_first_line(source, name):
    assert title(source) == name


@pytest.mark.parametrize("tag", FOLDED)
def test_every_fold_has_a_name(tag):
    kind, default = SHOWN_AS[tag]
    shown = as_shown(cell("x = 1", tag))
    assert kind in shown["metadata"]["tags"]
    if tag == "claim":  # it is not on the page, so it needs none
        assert kind == "remove-cell"
    else:
        assert shown["metadata"]["mystnb"]["code_prompt_show"] == default


def test_the_title_is_the_name_of_the_fold_and_not_on_the_page():
    shown = as_shown(cell(["# @title Solution 3\n", "x = 1\n", "y = 2"], "solution"))
    assert shown["source"] == "x = 1\ny = 2"
    assert shown["metadata"]["mystnb"] == {
        "code_prompt_show": "Solution 3",
        "code_prompt_hide": "Solution 3",
    }


def test_a_check_of_a_stub_shows_no_result():
    assert "remove-output" in as_shown(cell("check(f)", "check"))["metadata"]["tags"]


@pytest.mark.parametrize("given", [cell("x"), cell("x", "exercise"), cell("# x", kind="markdown")])
def test_all_else_is_left_as_it_is(given):
    assert as_shown(given) == given
