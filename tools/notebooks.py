"""Execute the chapters in place, and check what is committed.

python -m tools.notebooks execute [--all] [--elsewhere] [NAME ...]
    Run each chapter that is stale, or all of them, or those whose file names start with a NAME,
    from top to bottom in a fresh kernel. A chapter is written, whole and stamped, only if every
    cell succeeded, every claim about it (tests/claims) holds, and no output gives away a path of
    the machine or the text of an article. How long it took is noted, and the book's page of
    measurements, which says so, written anew. Where the claims alone have changed, the chapter is
    run for them, and its outputs stay as they are. With --elsewhere, on a machine whose times are
    not those of the text, a claim about times that does not hold is reported and no more, and no
    time is noted.

python -m tools.notebooks check [NAME ...]
    Say what is wrong with the chapters as they are.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tools.claims import claims_file
from tools.leaks import news_articles
from tools.problems import malformed, other_claims, problems, quotations
from tools.stamp import claims_hash, code_cells, hashes, kept_code
from utils.experiments import KEPT_CODE, replacing

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 6 * 3600  # seconds for one cell: a chapter without its kept results runs for long
# The same on every machine, so that executing again changes nothing here.
METADATA: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}
FULL_BAR = re.compile(r".*100%\|.*\| (\d+)/\1 \[.*\]")  # as tqdm leaves it
# The data set, if the chapter has loaded it, knows where it came from.
DATA_WORD = (
    "import sys; news = getattr(sys.modules.get('utils.news'), 'NEWS', None); "
    "print(getattr(news, 'source', None) or 'none')"
)
NOTED = "from tools import claims; print('\\n'.join(claims.{}))"


def chapters(names: list[str], root: Path = ROOT) -> list[Path]:
    """Give the chapters whose file names start with one of these names, or all of them."""
    found = sorted((root / "notebooks").glob("*.ipynb"))
    starts = [Path(name).name for name in names]
    for start in starts:
        if not any(path.name.startswith(start) for path in found):
            have = ", ".join(path.stem for path in found) or "none"
            raise SystemExit(f"No chapter starts with {start!r}. The chapters are: {have}.")
    return [path for path in found if not names or path.name.startswith(tuple(starts))]


def execute(path: Path, root: Path = ROOT, *, elsewhere: bool = False) -> str:
    """Run one chapter and its claims and write it back; give the word for the data that it used.

    Raises SystemExit, and writes nothing, if a cell or a claim fails or an output may not be
    published.
    """
    nb = nbformat.read(path, as_version=4)
    word = run(nb, path, root, elsewhere=elsewhere)
    for cell in code_cells(nb):
        tidy(cell)
    nb.metadata.update(METADATA, course={"data": word, **hashes(nb, path.stem, root)})
    found = malformed(nb, path.name)
    if word == "news":
        found += quotations(nb, path.name, news_articles())
    if found:
        raise SystemExit("\n".join([f"{path.name} was executed, but not written:", *found]))
    write(nb, path)
    return word


def ask_claims(path: Path, root: Path = ROOT, *, elsewhere: bool = False) -> str:
    """Run one chapter for its claims alone: of the file, only the stamp of the claims changes."""
    nb = nbformat.read(path, as_version=4)
    word = run(copy.deepcopy(nb), path, root, elsewhere=elsewhere)
    nb.metadata.course["claims"] = claims_hash(path.stem, root)
    write(nb, path)
    return word


def run(nb: NotebookNode, path: Path, root: Path = ROOT, *, elsewhere: bool = False) -> str:
    """Execute all cells in a fresh kernel, then the claims; give the word for the data used."""
    client = NotebookClient(
        nb,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # a kernel of our own need not warn of TCP
        resources={"metadata": {"path": str(path.parent)}},
    )
    claims = claims_file(path.stem, root)
    kept = json.dumps(kept_code(nb, root)) if any("run_all" in c.source for c in nb.cells) else "{}"

    def ask(source: str) -> str:
        """Execute what is not saved; give what it prints."""
        nb.cells.append(nbformat.v4.new_code_cell(source))
        client.execute_cell(nb.cells[-1], len(nb.cells) - 1, store_history=False)
        return "".join(output.get("text", "") for output in nb.cells.pop().outputs).strip()

    where = ""
    try:
        with client.setup_kernel(env={**os.environ, KEPT_CODE: kept}):
            for number, cell in enumerate(nb.cells, start=1):
                where = f"{path.name}, cell {number}"
                client.execute_cell(cell, number - 1)
            where, failed = claims.name, ""
            if claims.is_file():
                ask(f"__import__('sys').path.insert(0, {str(ROOT)!r})")
                ask(claims.read_text(encoding="utf-8"))
                failed, timed = ask(NOTED.format("FAILED")), ask(NOTED.format("TIMED"))
                if elsewhere and timed:
                    print(f"on this machine, {timed}", flush=True)
                elif timed:
                    failed = f"{failed}\n{timed}".strip()
            word = ask(DATA_WORD)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise SystemExit(f"{where} failed, so the chapter was not written:\n{error}") from None
    if failed:
        raise SystemExit(f"{path.name} was not written. In {claims.name}:\n{failed}")
    return word


def tidy(cell: NotebookNode) -> None:
    """Keep of the outputs what a reader should see, the same however the run was paced.

    A full progress bar is for whoever waits, and a reader of the page does not.
    """
    cell.metadata.pop("execution", None)  # time stamps
    kept: list[NotebookNode] = []
    for output in cell.outputs:
        if kept and output.output_type == "stream" and output.name == kept[-1].get("name"):
            kept[-1].text += output.text
        else:
            kept.append(output)
    for output in kept:
        if output.output_type == "stream":
            lines = map(_final_state, output.text.split("\n"))
            output.text = "\n".join(line for line in lines if not FULL_BAR.fullmatch(line))
    cell.outputs = [o for o in kept if o.output_type != "stream" or o.text.strip()]


def _final_state(line: str) -> str:
    """Show a line as a terminal does in the end: what follows a carriage return overwrites."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown.rstrip() if "\r" in line else line


def write(nb: NotebookNode, path: Path) -> None:
    """Replace the file in one step, so that half a chapter never stands there."""
    with replacing(path) as half:
        half.write_text(nbformat.writes(nb) + "\n", encoding="utf-8")


def execute_all(
    paths: list[Path], claims_alone: Collection[Path] = (), *, elsewhere: bool = False
) -> None:
    """Execute chapters one after the other, and note how long each took, also before a failure.

    Of those in ``claims_alone`` only the claims are asked. The book's page of measurements, which
    says how long, is drawn once, at the end.
    """
    from benchmarks import chapters as times
    from benchmarks import page  # not above: they draw, and a check need not wait for it

    if not paths:
        print("No chapter is stale.")
        return
    if not os.access(ROOT / "notebooks", os.W_OK):
        raise SystemExit(f"{ROOT / 'notebooks'} cannot be written to, so no chapter is executed.")
    try:
        for path in paths:
            print(f"{path.stem}:", end=" ", flush=True)
            if path in claims_alone:
                print(f"its claims hold, data: {ask_claims(path, elsewhere=elsewhere)}", flush=True)
                continue
            start = time.perf_counter()
            word = execute(path, elsewhere=elsewhere)
            seconds = time.perf_counter() - start
            if not elsewhere:
                times.keep(path.stem, seconds)
            print(f"{seconds:.0f} s, data: {word}", flush=True)
    finally:
        page.write_page()


def main(arguments: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["execute", "check"])
    parser.add_argument("--all", action="store_true", help="execute what is current, too")
    parser.add_argument("--elsewhere", action="store_true", help="claims about times may fail")
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args(arguments)
    if folder := os.environ.get("BBC_NEWS"):  # a kernel starts in another folder
        os.environ["BBC_NEWS"] = str(Path(folder).resolve())
    paths = chapters(asked.names)
    if asked.command == "execute" and (asked.names or asked.all):
        execute_all(paths, elsewhere=asked.elsewhere)
        return
    books = {path: nbformat.read(path, as_version=4) for path in paths}
    found = {path: problems(nb, path.name, ROOT) for path, nb in books.items()}
    if asked.command == "execute":
        claims_alone = {
            path
            for path, nb in books.items()
            if found[path] and found[path] == other_claims(nb, path.name, ROOT)
        }
        stale = [path for path in paths if found[path]]
        execute_all(stale, claims_alone, elsewhere=asked.elsewhere)
    elif any(found.values()):
        sys.exit("\n".join(problem for each in found.values() for problem in each))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # such as a full disk
        sys.exit(f"Not everything could be read or written; what is there is whole: {error}")
