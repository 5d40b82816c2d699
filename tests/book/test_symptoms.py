"""The page of symptoms: every answer's lines run by themselves, and hold; those of the API too."""

import ast
import re
import socket
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "book" / "symptoms.md"
LABEL = re.compile(r"^\(symptom-([a-z0-9-]+)\)=\n### (.+)\n", re.MULTILINE)
GROUP = re.compile(r"^\(symptoms-[a-z-]+\)=\n## .+\n", re.MULTILINE)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHAPTER = re.compile(r"\]\((\.\./notebooks/[^)#]+)")


def read_page():
    """Give each question's label, its words, and what stands below it."""
    pieces = LABEL.split(GROUP.sub("", PAGE.read_text("utf-8")))[1:]
    return list(zip(*(pieces[i::3] for i in range(3)), strict=True))


QUESTIONS = read_page()


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_):
        raise OSError("a snippet of this page asks the network")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)


def run(code):
    """Run the lines in a name space of their own, and leave no filter of warnings behind."""
    with warnings.catch_warnings():
        exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})


def checks(node):
    """Say whether an assertion is always reached: one in no function and no ``except``."""
    if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ExceptHandler):
        return False
    return isinstance(node, ast.Assert) or any(map(checks, ast.iter_child_nodes(node)))


def test_the_page_answers_many_questions_each_once():
    labels, questions, _ = zip(*QUESTIONS, strict=True)
    assert len(set(labels)) == len(set(questions)) == len(questions)
    text = PAGE.read_text("utf-8")
    assert len(questions) == len(re.findall(r"^### ", text, re.MULTILINE)), "one has no label"
    assert len(questions) == text.count("```python"), "one has no lines, or too many"
    listed = re.findall(r"^- \[\]\(#symptom-(.+)\)$", text, re.MULTILINE)
    assert listed == list(labels), "the list at the top has each question, in its order"


@pytest.mark.parametrize(
    "answer", [pytest.param(answer, id=label) for label, _, answer in QUESTIONS]
)
def test_the_answer_holds(answer, offline):
    (code,) = FENCE.findall(answer)
    run(code)


def test_the_lines_check_something_and_the_chapters_named_exist():
    for _, question, answer in QUESTIONS:
        (code,) = FENCE.findall(answer)
        assert max(map(len, code.splitlines())) <= 72, f"{question}: too wide beside the sidebars"
        assert checks(ast.parse(code)), f"the lines below “{question}” cannot fail"
        assert not re.search(r"\btime\b|perf_counter|timeit", code), "a stopwatch decides nothing"
        for chapter in CHAPTER.findall(answer):
            assert (PAGE.parent / chapter).is_file(), chapter


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGE.parent.glob("api/*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_page_of_the_reference_hold_one_after_the_other(page, offline):
    run("".join(FENCE.findall(page.read_text("utf-8"))))
