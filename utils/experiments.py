"""Experiments: many configurations, many seeds, one table, kept in a file.

A run is a function of a configuration and a seed that returns numbers by name. ``run_all`` runs
all that are asked for, keeps each result at once, and so goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

KEPT_CODE = "KEPT_CODE"  # `make notebooks` says here what each function runs: JSON, name to hash
RECHECK_SECONDS = 60.0
ROUNDING = 1e-4  # relative, of another machine
LUCK = 4.0  # two runs of other luck differ by 1.4 standard deviations, the worst of many by more


def run_all(
    run: Callable[..., Mapping[str, float]],
    configurations: Sequence[Mapping[str, Any]],
    seeds: Iterable[int],
    file: str | None = None,
    name: str = "runs",
) -> pd.DataFrame:
    """Call ``run(seed=seed, **configuration)`` for every configuration and seed.

    Parameters
    ----------
    run : function that returns a number for each thing measured
    configurations : dicts with the same keys, whose values are words or numbers
    seeds : the seeds, the same for each configuration, so that results can be paired
    file : str or None, a CSV file that keeps each result as soon as it is there. What it already
        holds is not run again. None keeps nothing
    name : str, what the progress bar says

    Returns
    -------
    DataFrame with one row for each configuration and seed, in the order asked for; its columns are
    the configuration's keys, ``seed``, what ``run`` returned, and ``seconds``

    Raises
    ------
    ValueError
        if there is nothing to run, the keys of the configurations differ, or ``file`` is damaged;
        and while `make notebooks` runs, which knows what each function runs, if ``file`` was made
        by other code. With RECHECK=1 in the environment a few rows are then run again, and the
        file is taken for this code's if they come out as they were, but for what another seed
        would change
    OSError
        if ``file`` cannot be written; it stays as it was
    """
    asked = [{**configuration, "seed": seed} for configuration in configurations for seed in seeds]
    if not asked or any(row.keys() != asked[0].keys() for row in asked):
        raise ValueError("run_all needs configurations, all with the same keys, and seeds.")
    code = json.loads(os.environ.get(KEPT_CODE, "{}")).get(run.__name__, "")
    source = f"# code {run.__name__} {code}".rstrip()
    done = {} if file is None else _read(Path(file), source, list(asked[0]), run)
    missing = [row for row in asked if _key(row) not in done]
    for row in tqdm(missing, desc=name, ncols=78, disable=not missing):
        start = time.perf_counter()
        result = {**row, **run(**row)}
        result["seconds"] = round(time.perf_counter() - start, 3)
        done[_key(row)] = result
        if file is not None:
            _write(Path(file), source, list(done.values()))
    return pd.DataFrame([done[_key(row)] for row in asked])


def fetch_results(address: str, *names: str) -> None:
    """Fetch files of kept results into the folder ``results``, where a chapter looks for them.

    In a clone of the course a table is not fetched: there it is at hand, or was removed to be made
    anew. What no chapter makes, such as weights, is. A file that is there is left as it is.

    Parameters
    ----------
    address : str, where the files are, without their names

    Raises
    ------
    RuntimeError
        if a file cannot be fetched whole, or not be kept
    """
    in_clone = Path("../_config.yml").is_file()
    for name in names:
        file = Path("results", name)
        if file.is_file() or (in_clone and file.suffix == ".csv"):
            continue
        try:
            with urllib.request.urlopen(f"{address}/{name}", timeout=30) as answer:
                content = answer.read()
            with replacing(file) as half:
                half.write_bytes(content)
        except (OSError, HTTPException) as error:  # the latter where the answer breaks off
            raise RuntimeError(
                f"{address}/{name} could not be fetched ({error}). Without it the chapter would "
                "have to train for long what it holds; try again."
            ) from error


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in row.items())


Rows = dict[tuple[str, ...], dict[str, Any]]


def _read(
    file: Path, source: str, names: list[str], run: Callable[..., Mapping[str, float]]
) -> Rows:
    """Give the rows that the file holds, if they are whole and this code made them."""
    if not file.is_file():
        return {}
    head = _check_whole(file, names)
    rows: list[dict[str, Any]] = pd.read_csv(file, skiprows=len(head)).to_dict("records")  # type: ignore[assignment]
    if KEPT_CODE in os.environ and head[0] != source:
        if not os.environ.get("RECHECK"):
            raise ValueError(
                f"{file} was made by other code than this. Run with RECHECK=1 to see whether this "
                "code gives the same, remove the file to run everything anew, or leave out file= "
                "to keep nothing."
            )
        _recheck(file, rows, names, run)
        _write(file, source, rows)
    return {_key({name: row[name] for name in names}): row for row in rows}


def _check_whole(file: Path, names: list[str]) -> list[str]:
    """Raise ValueError for a file that is not as ``_write`` left it; give the lines of its head."""
    text = file.read_bytes().decode(errors="replace")
    head = list(takewhile(lambda line: line.startswith("#"), text.split("\n")))
    body = text[len("".join(f"{line}\n" for line in head)) :]
    columns = body.partition("\n")[0].split(",")
    if f"# rows {_digest(body)}" not in head or not set(names) <= set(columns):
        raise ValueError(
            f"{file} is not as it was written: cut, changed by hand, or of other configurations. "
            "Restore the file, or remove it to run everything anew."
        )
    return head


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _recheck(
    file: Path,
    rows: list[dict[str, Any]],
    names: list[str],
    run: Callable[..., Mapping[str, float]],
) -> None:
    """Run some rows again, and refuse the file if one differs by more than seeds do.

    They are the quickest row of each value of the first column, up to ``RECHECK_SECONDS`` in all,
    and at least one. Another machine rounds otherwise, and in a training that grows; so a number
    may move by ``LUCK`` standard deviations over the seeds of its configuration.
    """
    table = pd.DataFrame(rows)
    quickest = table.sort_values("seconds").groupby(names[0], sort=False).head(1)
    affordable = quickest[quickest["seconds"].cumsum() <= RECHECK_SECONDS]
    chosen = affordable.index if len(affordable) else quickest.index[:1]
    for place in tqdm(chosen, desc=f"{file.stem} again", ncols=78):
        row = rows[place]
        same = (table[names[:-1]] == table.loc[place, names[:-1]]).all(axis=1)
        for name, value in run(**{name: row[name] for name in names}).items():
            if isinstance(value, str):
                is_same = value == row[name]
            else:
                spread = table[same][name].std() if same.sum() > 1 else 0.0
                luck = LUCK * spread
                is_same = np.isclose(value, row[name], ROUNDING, luck, equal_nan=True)
            if not is_same:
                raise ValueError(
                    f"{file} says {name} = {row[name]} for {_key({n: row[n] for n in names})}, and "
                    f"this code gives {value}. Remove the file to run everything anew."
                )


def _write(file: Path, source: str, rows: list[dict[str, Any]]) -> None:
    body = pd.DataFrame(rows).to_csv(index=False, na_rep="nan")
    head = [
        source,
        f"# rows {_digest(body)}",
        f"# torch {torch.__version__}; rows that are missing here are run by:",
        f"# make notebooks CHAPTERS={file.name.partition('-')[0]}",
    ]
    try:
        with replacing(file) as half:
            half.write_text("\n".join([*head, body]), encoding="utf-8")
    except OSError as error:
        raise OSError(f"{file} could not be written ({error}); it is as it was.") from error


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Give a path to write to; what is written there becomes ``file`` if nothing was raised.

    The folder is made. A reader of ``file`` sees the old content or the new, and after an error,
    or a kill at any moment, the old one.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        yield half
        with half.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(half, file)
    finally:
        half.unlink(missing_ok=True)


def linear_rate(step: int, steps: int, highest: float, warmup: float = 0.1) -> float:
    """Rise to ``highest`` over a share ``warmup`` of the steps, then fall to nearly zero.

    The steps count from 1; a straight line both ways.
    """
    rise = max(1.0, warmup * steps)
    return highest * min(step / rise, (steps + 1 - step) / (steps + 1 - rise))
