"""The page of symptoms: every answer's lines run by themselves, and hold."""

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
EACH = pytest.mark.parametrize(
    ("question", "answer"),
    [pytest.param(question, answer, id=label) for label, question, answer in QUESTIONS],
)


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


def checks(code):
    """Give the assertions that are always reached: those in no function and no ``except``."""
    conditional = (ast.FunctionDef, ast.Lambda, ast.ExceptHandler)
    waiting, found = list(ast.parse(code).body), []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Assert):
            found.append(node)
        elif not isinstance(node, conditional):
            waiting += ast.iter_child_nodes(node)
    return found


def test_the_page_answers_many_questions_each_once():
    labels, questions, _ = zip(*QUESTIONS, strict=True)
    assert len(questions) >= 40
    assert len(set(labels)) == len(set(questions)) == len(questions)
    text = PAGE.read_text("utf-8")
    assert len(questions) == len(re.findall(r"^### ", text, re.MULTILINE)), "one has no label"
    assert len(questions) == text.count("```python"), "one has no lines, or too many"


@EACH
def test_the_answer_holds(question, answer, offline):
    (code,) = FENCE.findall(answer)
    run(code)


@EACH
def test_the_lines_fit_beside_the_sidebars(question, answer):
    (code,) = FENCE.findall(answer)
    assert max(map(len, code.splitlines())) <= 72


@EACH
def test_the_lines_check_something(question, answer):
    (code,) = FENCE.findall(answer)
    assert checks(code), f"the lines below “{question}” cannot fail"
    assert not re.search(r"\btime\b|perf_counter|timeit", code), "a stopwatch decides nothing here"


@EACH
def test_the_answer_leads_to_a_chapter(question, answer):
    chapters = CHAPTER.findall(answer)
    assert chapters
    for chapter in chapters:
        assert (PAGE.parent / chapter).is_file(), chapter


def test_an_answer_that_is_wrong_is_noticed(offline):
    with pytest.raises(AssertionError):
        run("import torch\n\nassert torch.zeros(2).softmax(0)[0] == 1")
    with pytest.raises(OSError, match="network"):
        run("import socket\n\nsocket.create_connection(('192.0.2.1', 80), 1)")
    assert not checks("try:\n    1 / 0\nexcept ZeroDivisionError:\n    assert True")
