"""Chapters are executed whole or not at all, and come out the same however they were run."""

import json
from functools import partial

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tqdm import tqdm

from benchmarks import page, report
from tools import notebooks
from tools.notebooks import chapters, execute, tidy
from tools.problems import other_claims, problems
from tools.stamp import kept_code
from utils.news import NEWS

FIGURE = """
from IPython.display import HTML, display
display(HTML('<figure class="course-figure"><svg viewBox="0 0 300 200"></svg></figure>'))
"""


@pytest.fixture
def chapter(root, monkeypatch):
    """Write a chapter of these cells; the kernel finds the small utils of the fixture."""
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.delenv("BBC_NEWS", raising=False)

    def make(*sources, name="01-first"):
        path = root / "notebooks" / f"{name}.ipynb"
        cells = [new_markdown_cell("# First"), *map(new_code_cell, sources)]
        nbformat.write(new_notebook(cells=cells), path)
        return path

    return make


def articles(root, monkeypatch, text):
    row = json.dumps({"text": text, "label": 0, "label_text": NEWS.classes[0]})
    for split in ("train", "test"):
        (root / f"{split}.jsonl").write_text(f"{row}\n")
    monkeypatch.setenv(NEWS.folder_variable, str(root))


@pytest.mark.processes
def test_a_chapter_is_executed_stamped_and_without_problems(chapter, root, monkeypatch):
    articles(root, monkeypatch, "nothing that is printed")
    path = chapter(
        "from utils.news import load_news\nload_news()",
        "import os, pathlib\nprint(pathlib.Path.cwd().name)",
        FIGURE,
    )
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    assert execute(path, root) == "news"
    nb = nbformat.read(path, as_version=4)
    assert problems(nb, path.name, root) == []
    assert nb.metadata.course["data"] == "news"
    assert list(nb.metadata.course.files) == ["utils/masks.py", "utils/news.py"]
    assert [cell.id for cell in nb.cells] == ids
    assert nb.cells[2].outputs[0].text == "notebooks\n"

    first = path.read_bytes()
    execute(path, root)
    assert path.read_bytes() == first, "a second execution changes nothing"
    assert [p.name for p in path.parent.iterdir() if p.is_file()] == [path.name]


@pytest.mark.processes
def test_without_articles_the_word_is_none_and_colabs_cell_is_no_python(chapter, root):
    path = chapter("try:\n    import utils.masks\nexcept ImportError:\n    %pip install x")
    assert execute(path, root) == "none"
    assert problems(nbformat.read(path, as_version=4), path.name, root) == []


@pytest.mark.slow
@pytest.mark.processes
def test_a_run_is_known_again_by_what_its_function_reaches(chapter, root, monkeypatch):
    """What ``run_all`` writes where it runs is what the stamp finds in the sources."""
    monkeypatch.setenv("PYTHONPATH", str(notebooks.ROOT))
    path = chapter(
        "from utils.attention import causal_mask\nfrom utils.experiments import run_all",
        "WIDTH = 3\ndef run(scale, seed):\n    return {'x': float(causal_mask(WIDTH, seed).sum())}",
        "table = run_all(run, [{'scale': 1}], [0, 1], file='results/99-kept.csv')",
        "WIDTH = 4",
        name="99-of-no-claims",
    )
    execute(path, notebooks.ROOT)
    nb = nbformat.read(path, as_version=4)
    code = kept_code(nb, notebooks.ROOT)["run"]
    assert f"# code run {code}\n" in (root / "notebooks" / "results" / "99-kept.csv").read_text()


def test_only_what_is_stale_is_executed(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(notebooks, "execute_all", lambda paths, *_, **__: done.append([*paths]))
    paths = chapters([])
    monkeypatch.setattr(notebooks, "problems", lambda nb, name, _: ["old"] * (name < "02"))
    notebooks.main(["execute"])
    notebooks.main(["execute", "--all"])
    notebooks.main(["execute", "03"])
    assert done == [paths[:1], paths, paths[2:3]]


def test_what_could_not_be_written_is_not_executed(monkeypatch):
    monkeypatch.setattr(notebooks.os, "access", lambda *_: False)  # as on a read-only disk
    with pytest.raises(SystemExit, match="cannot be written to"):
        notebooks.execute_all(chapters(["01"]))


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "01-first.ipynb, cell 3 failed, so the chapter was not written"),
        ("print(__import__('utils').__file__)", "cell 3: its output holds a path of a machine"),
        (
            "import utils.news\nutils.news.load_news()\nprint('Hi and so how', chr(97) + 're you')",
            "cell 3: its output quotes an article .'hi and so how are you'",
        ),
    ],
)
def test_what_may_not_be_published_is_not_written(chapter, root, monkeypatch, source, message):
    articles(root, monkeypatch, "Hi, and so: how are you?")
    path = chapter("1 + 1", source)
    before = path.read_bytes()
    with pytest.raises(SystemExit, match=message):
        execute(path, root)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if p.is_file()] == [path.name]


def test_the_time_of_a_chapter_is_kept_and_stands_on_the_page(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "measurements.md")
    monkeypatch.setattr(page, "PICTURES", tmp_path / "pictures")
    monkeypatch.setattr(notebooks, "execute", lambda path, **_: "none")
    notebooks.main(["execute", "05", "--elsewhere"])
    assert report.read("chapters") is None
    notebooks.main(["execute", "05"])
    found = report.read("chapters")["chapters"]
    assert list(found) == ["05-masks"]
    assert found["05-masks"]["date"] in page.PAGE.read_text()


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def bar(done):
    """What tqdm writes at a step of two."""
    return "\r" + tqdm.format_meter(done, 2, 1.5, ncols=60, prefix="seed 0", postfix="loss=0.1")


WARNED = "warning: it is late\n"


@pytest.mark.parametrize(
    ("outputs", "tidied"),
    [
        ([stream("a\n"), stream("b\n")], [("stdout", "a\nb\n")]),
        ([stream("a\n"), stream("b\n", "stderr")], [("stdout", "a\n"), ("stderr", "b\n")]),
        (
            [stream("\r 0%"), stream("\r50%\r99.9%"), stream("\r100%\ndone\n")],
            [("stdout", "100%%\ndone\n")],
        ),
        ([stream("loading\r       \r")], []),
        ([stream(bar(1) + bar(2), "stderr")], []),
        ([stream(bar(2) + "\nwarning: it is late\n", "stderr")], [("stderr", WARNED)]),
        ([stream(bar(1), "stderr")], [("stderr", bar(1).strip())]),
        ([stream("kept as is  \n")], [("stdout", "kept as is  \n")]),
    ],
)
def test_outputs_are_left_in_their_final_state_without_full_progress_bars(outputs, tidied):
    cell = new_code_cell("f()", outputs=outputs, metadata={"execution": {"x": "2026"}})
    tidy(cell)
    assert [(output.name, output.text) for output in cell.outputs] == tidied
    assert "execution" not in cell.metadata


def test_chapters_are_found_by_the_start_of_their_name(root):
    for name in ("01-one", "02-two"):
        (root / "notebooks" / f"{name}.ipynb").touch()
    assert [p.stem for p in chapters([], root)] == ["01-one", "02-two"]
    assert [p.stem for p in chapters(["02"], root)] == ["02-two"]
    assert [p.stem for p in chapters(["notebooks/01-one.ipynb"], root)] == ["01-one"]
    with pytest.raises(SystemExit, match=r"No chapter starts with '3'.*01-one, 02-two"):
        chapters(["3"], root)


CLAIMS = """
from tools.claims import claim, says

with says("One head ends at 0.50."):
    claim(x, 0.495, 0.505)
with says("Two heads win."):
    claim(other_name)
with says("It is less than one half."):
    claim(x, at_most=0.5)
"""


@pytest.mark.processes
def test_claims_are_asked_after_the_last_cell_and_named_by_their_sentence(chapter, root):
    path = chapter("x = 0.3", "x = 0.4")
    script = root / "tests" / "claims" / "ch01.py"
    script.parent.mkdir(parents=True)
    script.write_text(CLAIMS)
    before = path.read_bytes()
    with pytest.raises(SystemExit) as stopped:
        execute(path, root)
    said = str(stopped.value)
    assert "“One head ends at 0.50.”, but this run found 0.4, outside of 0.495 to 0.505" in said
    assert "“Two heads win.”, but NameError: name 'other_name' is not defined" in said
    assert "less than one half" not in said
    assert path.read_bytes() == before

    script.write_text(
        CLAIMS.replace("x, 0.495, 0.505", "x, 0.395, 0.405").replace("other_name", "x")
    )
    execute(path, root)
    nb = nbformat.read(path, as_version=4)
    assert other_claims(nb, path.name, root) == []
    assert len(nb.cells) == 3
    script.write_text(script.read_text() + "claimed = 1\n")
    assert problems(nb, path.name, root) == other_claims(nb, path.name, root) != []


@pytest.mark.processes
def test_elsewhere_only_what_was_timed_may_differ_from_the_text(chapter, root, capfd):
    path = chapter("seconds = 3")
    script = root / "tests" / "claims" / "ch01.py"
    script.parent.mkdir(parents=True)
    timed = 'from tools.claims import claim, says\nwith says("It takes 1 s."{}):\n' + (
        "    claim(seconds, at_most=1)\n"
    )
    script.write_text(timed.format(", timed=True"))
    with pytest.raises(SystemExit, match="It takes"):
        execute(path, root)
    execute(path, root, elsewhere=True)
    assert "on this machine, the text says “It takes 1 s.”, but this run" in capfd.readouterr().out
    script.write_text(timed.format(""))
    with pytest.raises(SystemExit, match="It takes"):
        execute(path, root, elsewhere=True)


@pytest.mark.processes
def test_claims_that_changed_alone_are_asked_and_no_output_is_written(chapter, root, monkeypatch):
    path = chapter("import time\nprint(time.time())")
    script = root / "tests" / "claims" / "ch01.py"
    script.parent.mkdir(parents=True)
    script.write_text("x = 1")
    execute(path, root)
    outputs = nbformat.read(path, as_version=4).cells[1].outputs
    script.write_text("x = 2")
    monkeypatch.setattr(notebooks, "chapters", lambda _: [path])  # not the ones of the course
    monkeypatch.setattr(notebooks, "ask_claims", partial(notebooks.ask_claims, root=root))
    for check in (problems, other_claims):
        asked = lambda nb, name, _, check=check: check(nb, name, root)  # noqa: E731
        monkeypatch.setattr(notebooks, check.__name__, asked)
    monkeypatch.setattr(page, "write_page", lambda: None)
    notebooks.main(["execute"])
    nb = nbformat.read(path, as_version=4)
    assert problems(nb, path.name, root) == []
    assert nb.cells[1].outputs == outputs
    script.write_text(CLAIMS)
    with pytest.raises(SystemExit, match="One head ends"):
        notebooks.main(["execute"])
