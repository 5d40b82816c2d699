"""The course has one address, which _config.yml decides: whatever names the course names that."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
URL = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
OWN = URL.removeprefix("https://github.com/")  # OWNER/NAME
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = sorted((ROOT / "book").glob("*.md"))
# In these every repository that is named is this one.
DESCRIBING = [
    ROOT / name for name in ("_config.yml", "README.md", "CITATION.cff", "pyproject.toml")
]
FETCHED = r"(?:git\+https://github\.com|git clone https://github\.com|google\.com/github)"
CITED = {"jax-ml/scaling-book"}  # a source, of others
PAGE = r"//([\w-]+)\.github\.io/([\w-]+)"


def named(text, before):
    """Give OWNER/NAME as often as the text names a repository after `before`, or a page."""
    found = [name.removesuffix(".git") for name in re.findall(rf"{before}/([\w-]+/[\w.-]+)", text)]
    return found + ["/".join(page) for page in re.findall(PAGE, text)]


@pytest.mark.parametrize("path", DESCRIBING, ids=lambda path: path.name)
def test_what_describes_the_course_names_its_address(path):
    assert set(named(path.read_text(encoding="utf-8"), "//github.com")) == {OWN}


@pytest.mark.parametrize("path", [*CHAPTERS, *PAGES], ids=lambda path: path.stem)
def test_a_page_names_no_other_address_and_a_chapter_has_badge_and_set_up_cell(path):
    found = named(path.read_text(encoding="utf-8"), FETCHED)
    assert set(found) <= {OWN, *CITED}
    assert len(found) >= 2 or path in PAGES
