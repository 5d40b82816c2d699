"""Move the course to another address.

python -m tools.address https://github.com/OWNER/NAME

The address is decided in one place, ``repository.url`` in _config.yml. This rewrites it there and
wherever else the repository or its page is named: badges and set-up cells of the chapters too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import yaml

from tools.stamp import cells_hash
from utils.files import replacing

ROOT = Path(__file__).resolve().parents[1]
# Where the address may stand; a file of another kind has no business naming it.
PLACES = [
    *["_config.yml", "README.md", "CITATION.cff", "CONTRIBUTING.md", "pyproject.toml"],
    *["book/**/*.md", "book/**/*.html", "notebooks/*.ipynb", ".github/**/*.yml"],
]
# What names a repository or a page of the course, with OWNER/NAME as the group.
_NAME = r"([\w-]+/[\w.-]*[\w-])"
ANYWHERE = [
    rf"git\+https://github\.com/{_NAME}",
    rf"git clone https://github\.com/{_NAME}",
    rf"colab\.research\.google\.com/github/{_NAME}",
]
IN_OWN_FILES = [
    *ANYWHERE,
    rf"//github\.com/(?!OWNER/){_NAME}",
    r"//([\w-]+)\.github\.io/([\w.-]*[\w-])",
]


def slug(root: Path = ROOT) -> str:
    """Give OWNER/NAME as _config.yml decides it."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return _slug_of(config["repository"]["url"])


def _slug_of(url: str) -> str:
    found = re.fullmatch(rf"https://github\.com/{_NAME}/?", url.removesuffix(".git"))
    if not found or found[1].endswith(".github.io"):
        raise SystemExit(
            f"{url!r} is not the address of a repository; "
            "give one of the form https://github.com/OWNER/NAME (NAME not ending in .github.io)."
        )
    return found[1]


def _files(root: Path) -> list[Path]:
    files = sorted(path for pattern in PLACES for path in root.glob(pattern) if path.is_file())
    # The one that decides comes last, so that an interrupted move can be repeated.
    return sorted(files, key=lambda path: path.name == "_config.yml")


def move(url: str, root: Path = ROOT) -> list[Path]:
    """Rewrite the address everywhere; give the files that changed."""
    old, new = slug(root), _slug_of(url)
    changed = []
    for path in _files(root):
        before = path.read_text(encoding="utf-8")
        after = _renamed(before, old, new)
        if path.suffix == ".ipynb" and after != before:
            after = _restamped(before, after)
        if after != before:
            with replacing(path) as half:
                half.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def _renamed(text: str, old: str, new: str) -> str:
    for before, after in ((old, new), (_page(old), _page(new))):
        text = re.sub(rf"(?<![\w-]){re.escape(before)}(?![\w-])", after, text)
    return text


def _page(name: str) -> str:
    owner, repository = name.split("/")
    return f"{owner}.github.io/{repository}"


def _restamped(before: str, after: str) -> str:
    """Keep a valid stamp valid: the set-up cell changed, but nothing that made the outputs."""
    old, new = (cells_hash(nbformat.reads(text, as_version=4)) for text in (before, after))
    stamp = json.loads(before)["metadata"].get("course", {}).get("cells")
    return after.replace(old, new) if stamp == old else after


def addresses(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Give every file that names the course, with OWNER/NAME as it names it."""
    for path in _files(root):
        name = path.relative_to(root).as_posix()
        patterns = IN_OWN_FILES if "/" not in name else ANYWHERE
        for pattern in patterns:
            for found in re.finditer(pattern, path.read_text(encoding="utf-8")):
                yield name, "/".join(found.groups()).removesuffix(".git")


def main(arguments: list[str]) -> None:
    """Read the command line."""
    if len(arguments) != 1:
        sys.exit("Give the new address: make address URL=https://github.com/OWNER/NAME")
    for path in move(arguments[0]):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
