"""The news: 2,000 and more articles of the BBC in five classes, or what stands in for them.

Source of the articles: Greene and Cunningham 2006, "Practical Solutions to the Problem of Diagonal
Dominance in Kernel Document Clustering", ICML.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from utils.data.corpus import Corpus
from utils.data.docstrings import docstring_rows

if TYPE_CHECKING:
    from datasets import DatasetDict

NEWS = Corpus(
    name="news",
    classes=("tech", "business", "sport", "entertainment", "politics"),
    folder_variable="BBC_NEWS",
    hub_name="SetFit/bbc-news",
    hub_date=datetime(2026, 11, 1, tzinfo=UTC),
    stand_in=docstring_rows,
    stand_in_name="docstrings",
    stand_in_words="docstrings of installed libraries",
)


def load_news() -> DatasetDict:
    """Load the articles or what stands in for them, see ``Corpus.load``."""
    return NEWS.load()
