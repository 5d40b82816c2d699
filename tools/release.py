"""Release: write the new version wherever it is named, commit, and tag it.

python -m tools.release 1.0.0          with --ask only say what is in its way

The version stands in ``pyproject.toml``, ``CITATION.cff`` and ``CHANGELOG.md``; what the notebooks
fetch in Colab, and the badge that opens them there, come from its tag. `make release` runs all
tests before.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import nbformat

from tools.notebooks import write
from tools.stamp import cells_hash
from utils.experiments import replacing

ROOT = Path(__file__).resolve().parents[1]
VERSION = r"\d+\.\d+\.\d+"
# In each file, patterns and what stands in their place.
FILES = {
    "pyproject.toml": [(rf'(?m)^version = "{VERSION}"$', 'version = "{version}"')],
    "CITATION.cff": [
        (rf"(?m)^version: {VERSION}$", "version: {version}"),
        (r"(?m)^date-released: [\d-]+$", "date-released: {today}"),
    ],
    "CHANGELOG.md": [(r"(?m)^## Unreleased\n(?=\n\S)", "## Unreleased\n\n## {version}, {today}\n")],
}
NOTEBOOK = [
    (rf"(?<=/blob/)(?:main|v{VERSION})(?=/notebooks/)", "v{version}"),
    (rf"(?<=/raw/)(?:main|v{VERSION})(?=/notebooks/)", "v{version}"),
    (rf"\.git(?:@v{VERSION})?(?=\"$)", ".git@v{version}"),
]


def release(version: str, root: Path = ROOT, *, ask: bool = False) -> None:
    """Commit and tag a version; where something is in its way, say so and change nothing."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in FILES}
    known = re.search(rf'(?m)^version = "({VERSION})"$', texts["pyproject.toml"])
    if not re.fullmatch(VERSION, version) or known is None:
        sys.exit(f"VERSION={version}: give three numbers, such as VERSION=1.0.0.")
    if tuple(map(int, version.split("."))) <= tuple(map(int, known[1].split("."))):
        sys.exit(f"{version} does not come after {known[1]}, which pyproject.toml names.")
    if _git(root, "status", "--porcelain"):
        sys.exit("The tree is not clean: commit what you have changed, or put it aside.")
    if _git(root, "branch", "--show-current") != "main":
        sys.exit("A release is made on main.")
    words = {"version": version, "today": date.today().isoformat()}
    changed = {name: _replaced(name, text, words) for name, text in texts.items()}
    if ask:
        return
    for name, text in changed.items():  # only once all of them can be
        with replacing(root / name) as half:
            half.write_text(text, encoding="utf-8")
    for file in sorted((root / "notebooks").glob("*.ipynb")):
        nb = nbformat.read(file, as_version=4)
        for cell in nb.cells:
            for pattern, new in NOTEBOOK:
                cell.source = re.sub(f"(?m){pattern}", new.format(**words), cell.source)
        nb.metadata.course["cells"] = cells_hash(nb)
        write(nb, file)
    _git(root, "commit", "--all", "--quiet", "--message", f"release: {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", version)
    print(f"v{version} is made. To publish it: git push --follow-tags origin main")


def _replaced(name: str, text: str, words: dict[str, str]) -> str:
    for pattern, new in FILES[name]:
        text, count = re.subn(pattern, new.format(**words), text)
        if count != 1:
            sys.exit(f"{name} has no place for it: nothing, or too much, matches {pattern}.")
    return text


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    release("".join(sys.argv[1:2]), ask="--ask" in sys.argv)
