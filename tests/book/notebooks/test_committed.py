"""The chapters as they are committed: current, whole, readable by everyone, and no leak in them."""

import os
import re

import nbformat
import pytest
import yaml

from tools.leaks import news_articles
from tools.notebooks import ROOT, chapters
from tools.problems import problems, quotations


@pytest.fixture(scope="module")
def articles():
    """The articles, where the environment says that they are at hand."""
    if not os.environ.get("BBC_NEWS"):
        pytest.skip(
            "BBC_NEWS is not set: `make notebooks` compared these outputs with the articles"
        )
    return news_articles()


def test_the_book_lists_every_chapter():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    written = [f"notebooks/{path.stem}" for path in chapters([])]
    assert [name for name in listed if name.startswith("notebooks/")] == written


def test_the_address_of_an_earlier_edition_leads_to_a_chapter():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    redirects = config["sphinx"]["config"]["redirects"]
    there = {f"notebooks/{path.stem}" for path in chapters([])}
    assert there.isdisjoint(redirects)
    assert {f"notebooks/{page.removesuffix('.html')}" for page in redirects.values()} <= there


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_chapter_is_in_order(path):
    found = problems(nbformat.read(path, as_version=4), path.name, ROOT)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_chapter_quotes_no_article(path, articles):
    found = quotations(nbformat.read(path, as_version=4), path.name, articles)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_kept_results_lie_beside_the_chapter_and_are_fetched_in_colab(path):
    kept = {file.name for file in path.parent.glob(f"results/{path.stem[:2]}-*.csv")}
    sources = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    set_up, *others = sources
    fetched = set(re.findall(r'"([\w-]+\.csv)"', set_up))
    used = set(re.findall(r"results/([\w-]+\.csv)", "\n".join(others)))
    assert kept == fetched == used
