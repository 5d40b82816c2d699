"""The news: 2,000 and more articles of the BBC in five classes, or what stands in for them.

A ``Corpus`` is looked for in a folder, then on the hub, and has a stand-in; ``NEWS`` is one, and
another data set is made like it. Texts that stand twice, or nearly, are found here too.

Source of the articles: Greene and Cunningham 2006, "Practical Solutions to the Problem of Diagonal
Dominance in Kernel Document Clustering", ICML.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.docstrings import docstring_rows

if TYPE_CHECKING:
    from datasets import DatasetDict

PROBE_SECONDS = 3.0  # that the hub has to answer
SPLITS = ("train", "test")
COLUMNS = {"text": "string", "label": "int64", "label_text": "string"}
Row = dict[str, Any]  # with these columns


@dataclass
class Corpus:
    """A data set, looked for in a folder, then on the hub; else another one stands in for it.

    Parameters
    ----------
    name : str, one word
    classes : the names of the classes; the position of each is its label
    folder_variable : str, the environment variable of a folder with a ``train.jsonl`` and a
        ``test.jsonl``
    hub_name : str, the data set on the hub
    hub_date : datetime; the revision is the last one before it
    stand_in : function that gives the rows of each split of what stands in
    stand_in_name : str, one word
    stand_in_words : str, what a reader is told of it

    Attributes
    ----------
    source : ``name`` or ``stand_in_name``, what ``load`` gave last; None before it was called
    """

    name: str
    classes: tuple[str, ...]
    folder_variable: str
    hub_name: str
    hub_date: datetime
    stand_in: Callable[[], dict[str, list[Row]]]
    stand_in_name: str
    stand_in_words: str
    source: str | None = field(default=None, init=False)

    @property
    def is_loaded(self) -> bool:
        """Whether what ``load`` gave last is this data set, not what stands in for it."""
        return self.source == self.name

    def load(self) -> DatasetDict:
        """Load the first that can be had, and say in one line which it is.

        Returns
        -------
        DatasetDict with the splits ``train`` and ``test`` and the columns ``text`` (str), ``label``
        (int64, from 0) and ``label_text`` (str)

        Raises
        ------
        FileNotFoundError
            if the variable is set and one of the two files is not in its folder
        ValueError
            if a row is not valid JSON, lacks a column, or has an empty text or an unknown label;
            the message names file and row
        """
        from datasets import Dataset, DatasetDict, Features, Value

        if folder := os.environ.get(self.folder_variable):
            rows = self._from_folder(Path(os.path.expanduser(folder)))  # a shell may leave the ~
            words = f"the folder in {self.folder_variable}"
        else:
            rows, words = self._from_hub(), f"{self.hub_name} on the hub"
        source = self.name
        if not rows:
            rows, words, source = self.stand_in(), self.stand_in_words, self.stand_in_name
        features = Features({column: Value(dtype) for column, dtype in COLUMNS.items()})
        loaded = DatasetDict(
            {split: Dataset.from_list(rows[split], features=features) for split in SPLITS}
        )
        sizes = " and ".join(f"{len(part):,} {split}" for split, part in loaded.items())
        print(f"Data: {words} ({sizes} documents).")
        self.source = source
        return loaded

    def _from_folder(self, folder: Path) -> dict[str, list[Row]]:
        files = {split: folder / f"{split}.jsonl" for split in SPLITS}
        for file in files.values():
            if not file.is_file():
                raise FileNotFoundError(
                    f"{self.folder_variable} names the folder {folder}, which has no file "
                    f"{file.name}. Put the two files train.jsonl and test.jsonl there, or unset "
                    f"{self.folder_variable}."
                )
        return {split: self._read(file) for split, file in files.items()}

    def _read(self, file: Path) -> list[Row]:
        """Read a file with one JSON object in each line; rows are counted from 1.

        A blank line is an error, unless nothing comes after it.
        """
        rows: list[Row] = []
        blank = None  # where the first blank line is
        with file.open("rb") as lines:  # bytes, so that a row that is not UTF-8 has a number too
            for number, line in enumerate(lines, start=1):
                where = f"{file}, row {number}"
                if not line.strip():
                    blank = blank or where
                    continue
                if blank:
                    raise ValueError(f"{blank}: not valid JSON (the line is blank).")
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise ValueError(f"{where}: not valid JSON ({error}).") from None
                rows.append(self._checked(row, where))
        if not rows:
            raise ValueError(f"{file} is empty; expected one text in each line.")
        return rows

    def _checked(self, row: Any, where: str) -> Row:
        """Give the row's three columns, by our names, or raise ValueError."""
        if not isinstance(row, dict):
            raise ValueError(f"{where}: expected an object with {', '.join(COLUMNS)}.")
        if missing := [column for column in COLUMNS if column not in row]:
            raise ValueError(f"{where}: the column {missing[0]!r} is missing.")
        text, label, label_text = (row[column] for column in COLUMNS)
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{where}: the text is empty.")
        known = type(label) is int and label in range(len(self.classes))  # True is an int as well
        if not known or label_text != self.classes[label]:
            names = ", ".join(f"{i} {name}" for i, name in enumerate(self.classes))
            raise ValueError(f"{where}: unknown label {label!r} {label_text!r}; known are {names}.")
        return {"text": text, "label": label, "label_text": label_text}

    def _from_hub(self) -> dict[str, list[Row]]:
        """Load the hub's texts; if that cannot be done, say why and give nothing."""
        from datasets import load_dataset

        found, why_not = None, "The hub cannot be reached"
        if revision := _revision_before(self.hub_date, self.hub_name):
            try:
                found = load_dataset(self.hub_name, revision=revision)
            except Exception as error:  # of a dozen kinds, from four libraries; the reader is told
                kind = type(error).__name__
                why_not = f"The hub answered, but {self.hub_name} did not load ({kind})"
        if found is None:
            print(f"{why_not}, so {self.stand_in_words} stand in for the {self.name}.")
            return {}
        return {
            split: [
                self._checked(row, f"{self.hub_name}, {split}, row {number}")
                for number, row in enumerate(found[split], start=1)
            ]
            for split in SPLITS
        }


def _revision_before(date: datetime, hub_name: str) -> str | None:
    """Ask the hub, once and for at most three seconds, for the last revision before a date."""
    from huggingface_hub import constants, get_session

    found: list[str] = []
    url = f"{constants.ENDPOINT}/api/datasets/{hub_name}/commits/main"

    def ask() -> None:
        try:
            answer = get_session().get(url, timeout=PROBE_SECONDS)
            answer.raise_for_status()
            commits = answer.json()  # newest first
            found.extend(c["id"] for c in commits if datetime.fromisoformat(c["date"]) < date)
        except Exception:
            return  # whatever the reason: the hub cannot be used now

    # A thread, because looking up a name may hang for longer than any timeout of a request.
    probe = threading.Thread(target=ask, daemon=True)
    probe.start()
    probe.join(PROBE_SECONDS)
    return found[0] if found else None


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


def class_names(documents: DatasetDict) -> list[str]:
    """Give the name of each class; its position is the label."""
    train = documents["train"]
    names = dict(zip(train["label"], train["label_text"], strict=True))
    return [names[label] for label in sorted(names)]


def drop_duplicates(documents: DatasetDict) -> DatasetDict:
    """Keep each text once: in the test split where it stands there, else in the training split."""
    from datasets import DatasetDict

    seen: set[str] = set()

    def is_first(text: str) -> bool:
        known = text in seen
        seen.add(text)
        return not known

    kept = {}
    for split in ("test", "train"):
        texts = documents[split]["text"]
        kept[split] = documents[split].select([i for i, t in enumerate(texts) if is_first(t)])
    return DatasetDict({split: kept[split] for split in SPLITS})


Shingle = tuple[str, ...]


def near_duplicates(
    train: Sequence[str], test: Sequence[str], share: float = 0.8, words: int = 8
) -> list[tuple[int, int]]:
    """Find the texts of the test that a training text repeats, all or nearly all of them.

    A text is taken as the set of its shingles, its runs of ``words`` words, without case and
    punctuation; a shorter text is one shingle. A training text repeats a text of the test if it
    holds at least this share of its shingles.

    Parameters
    ----------
    train, test : lists of texts
    share : float above 0 and up to 1, of the shingles of the text in the test
    words : int, of a shingle

    Returns
    -------
    list of pairs, row in ``train`` and row in ``test``, in the order of ``test``, then of ``train``

    Raises
    ------
    TypeError
        if ``train`` or ``test`` is a single string
    ValueError
        if ``share`` is not a share, or ``words`` is less than 1

    Source: Broder 1997, "On the Resemblance and Containment of Documents" (this share is
    the containment).
    """
    if isinstance(train, str) or isinstance(test, str):
        raise TypeError("near_duplicates takes two lists of texts; put a single one in brackets.")
    if not 0.0 < share <= 1.0 or words < 1:
        raise ValueError(
            f"expected a share above 0 and up to 1, and at least one word in a shingle; got "
            f"share={share} and words={words}."
        )
    holders: defaultdict[Shingle, list[int]] = defaultdict(list)
    for i, text in enumerate(train):
        for shingle in _shingles(text, words):
            holders[shingle].append(i)
    pairs = []
    for j, text in enumerate(test):
        own = _shingles(text, words)
        shared = Counter(i for shingle in own for i in holders.get(shingle, ()))
        pairs += sorted((i, j) for i, count in shared.items() if count >= share * len(own))
    return pairs


def _shingles(text: str, words: int) -> set[Shingle]:
    """Give the runs of so many words; a shorter text is one run, and one without words has none."""
    found = re.findall(r"\w+", text.lower())
    last = max(len(found) - words, 0)
    return {tuple(found[i : i + words]) for i in range(last + 1)} if found else set()
