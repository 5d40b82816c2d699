"""What can be wrong with a chapter as it is committed. Each message says what to do."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

from nbformat import NotebookNode

from tools.leaks import article_runs, machine_path, output_texts
from tools.page.cells import FOLDED, title
from tools.stamp import cell_source, claims_hash, code_cells, file_hashes, hashes, kept_code
from utils.news import NEWS

MAX_LINES = 30  # of one code cell, imports aside
PHONE = 350  # pixels that a figure has on a screen of 390
LEGIBLE = 10.9  # pixels


def problems(nb: NotebookNode, name: str, root: Path) -> list[str]:
    """List what is wrong with a chapter; all but quotations, for which the articles are needed."""
    return [
        *stale(nb, name, root),
        *other_claims(nb, name, root),
        *old_results(nb, name, root),
        *not_the_news(nb, name),
        *malformed(nb, name),
    ]


def stale(nb: NotebookNode, name: str, root: Path) -> list[str]:
    """List what changed since the chapter was executed."""
    chapter = name.removesuffix(".ipynb")
    again = f"run `make notebooks CHAPTERS={chapter}`."
    if not (old := nb.metadata.get("course")):
        return [f"{name}: it has no stamp, so it was never executed as a whole; {again}"]
    now = hashes(nb, chapter, root)
    found = []
    if old.get("cells") != now["cells"]:
        found.append(f"{name}: its code cells changed after it was executed; {again}")
    if old.get("outputs") != now["outputs"]:
        found.append(f"{name}: its outputs are not those of its last whole execution; {again}")
    before, after = old.get("files", {}), now["files"]
    if changed := [f for f in sorted({*before, *after}) if before.get(f) != after.get(f)]:
        found.append(f"{name}: {', '.join(changed)} changed after it was executed; {again}")
    return found


def other_claims(nb: NotebookNode, name: str, root: Path) -> list[str]:
    """Say if the claims about a chapter changed since they were last asked."""
    chapter = name.removesuffix(".ipynb")
    if nb.metadata.get("course", {}).get("claims") == claims_hash(chapter, root):
        return []
    return [f"{name}: its claims changed; run `make notebooks CHAPTERS={chapter}` to ask them."]


def old_results(nb: NotebookNode, name: str, root: Path) -> list[str]:
    """List the kept results that were made by other code than the chapter's."""
    found = []
    current = {f"# code {function} {code}" for function, code in kept_code(nb, root).items()}
    for file in file_hashes(nb, root):
        if file.endswith(".csv") and (root / file).read_text().partition("\n")[0] not in current:
            found.append(
                f"{name}: {file} was made by other code than what the chapter runs now; see with "
                f"`RECHECK=1 make notebooks CHAPTERS={name.removesuffix('.ipynb')}` whether it "
                "gives the same, or remove the file, and the chapter runs everything anew."
            )
    return found


def not_the_news(nb: NotebookNode, name: str) -> list[str]:
    """Say if a chapter that reads the news was executed with something else."""
    word = nb.metadata.get("course", {}).get("data")
    reads = any("load_news" in cell.source for cell in code_cells(nb))
    if word == NEWS.name or (word == "none" and not reads):
        return []
    return [
        f"{name}: its outputs were made with the data {word!r}, not the {NEWS.name}; "
        f"run `make notebooks` with {NEWS.folder_variable} set or the hub within reach."
    ]


def malformed(nb: NotebookNode, name: str) -> list[str]:
    """List what is wrong with the cells and their outputs, however they were made."""
    found = []
    for number, cell in enumerate(nb.cells, start=1):
        if cell.cell_type == "code":
            found += [f"{name}, cell {number}: {problem}" for problem in _in_code_cell(cell)]
    counts = [cell.execution_count for cell in code_cells(nb)]
    if counts != list(range(1, len(counts) + 1)):
        found.append(
            f"{name}: its execution counts are {counts}, not 1, 2, 3 …; run `make notebooks`."
        )
    return found


def quotations(nb: NotebookNode, name: str, articles: list[str]) -> list[str]:
    """List the cells whose outputs quote an article."""
    return [
        f"{name}, cell {number}: its output quotes an article ({quoted!r}); "
        "show counts, or a sentence of your own."
        for number, quoted in sorted(article_runs(nb, articles).items())
    ]


def _in_code_cell(cell: NotebookNode) -> list[str]:
    found = []
    lines = len(cell.source.splitlines()) - _import_lines(cell_source(cell))
    if not cell.source.strip():
        found.append("it is empty; delete it.")
    if lines > MAX_LINES:
        found.append(f"it has {lines} lines; split it into cells of at most {MAX_LINES}.")
    if "execution" in cell.metadata:
        found.append("it holds time stamps; run `make notebooks`.")
    if path := next(filter(None, map(machine_path, output_texts(cell))), None):
        found.append(f"its output holds a path of a machine ({path}); print something else.")
    failed = any(output.output_type == "error" for output in cell.outputs)
    if failed and "raises-exception" not in cell.metadata.get("tags", []):
        found.append("it ends in an error; mend it, or tag it raises-exception if that is meant.")
    return found + _in_figures(cell) + _folds(cell)


def _import_lines(source: str) -> int:
    tree = ast.parse(source)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum(node.end_lineno - node.lineno + 1 for node in imports if node.end_lineno)


def _in_figures(cell: NotebookNode) -> list[str]:
    """A picture has a caption and a text and is legible on a phone: a described figure has all."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        html = data.get("text/html", "")
        if any(mime.startswith("image/") for mime in data):
            found.append("its image has no caption; show it with utils.figures.DescribedFigure.")
        elif "course-figure" in html and (size := smallest_text(html)) < LEGIBLE:
            found.append(
                f"its figure has text of {size:.1f} pixels on a phone, less than {LEGIBLE}; draw "
                f"it at most {PHONE} points wide, or give a narrow one."
            )
    return found


def smallest_text(figure: str) -> float:
    """Give the height in pixels of the smallest text of a figure, on a phone."""
    svg = figure[figure.rindex("<svg") :]  # the narrow one stands last
    width = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    sizes = re.findall(r"<text[^>]*?font(?:-size)?: (?:\w+ )*([\d.]+)px", svg)
    return min(map(float, sizes), default=math.inf) * min(1.0, PHONE / width)


def _folds(cell: NotebookNode) -> list[str]:
    """Colab folds a cell that has a title and is shown as a form; the page folds it by its tag."""
    tags = set(cell.metadata.get("tags", []))
    marks = (bool(tags & set(FOLDED)), bool(title(cell.source)), "cellView" in cell.metadata)
    if len(set(marks)) == 1:
        return []
    return [
        f"a folded cell has a tag ({', '.join(FOLDED)}), a first line `# @title NAME` and the "
        "metadata `cellView: form`; this one lacks one of them, or the tag."
    ]
