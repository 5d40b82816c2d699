"""What the writing benchmark found: tokens a second, ours beside each way of ``transformers``."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks import pictures
from benchmarks.parts import DEVICES, Part
from benchmarks.wording import plain, span
from benchmarks.writing import AIM, DEFAULT, FLOOR, OURS
from utils.figures import DescribedFigure


def writing(result: dict[str, Any], device: str) -> Part:
    """Show ours beside each other way, a row for each batch and number of threads."""
    rows, settings = pd.DataFrame(result["tables"]["writing"]), result["settings"]
    table = pd.DataFrame(
        {
            "beside ours": row["way"],
            "texts": f"{row['batch']}",
            "threads": f"{row['threads']}",
            "its seconds": span(row, "seconds"),
            "seconds of ours": span(ours, "seconds"),
            "ours is times as fast": span(row, "to_ours"),
            "its tokens a second": plain(row["per_second"]),
            "of ours": plain(ours["per_second"]),
        }
        for row, ours in _pairs(rows)
    )
    summary, aim, why = _summary(rows), _aim(rows), _why(rows)
    notes = settings["notes"]
    fields: dict[str, Any] = {
        "table": table,
        "summary": summary,
        "aim": aim,
        "why": why,
        "compiled": _compiled(device),
        "weights": "the trained weights" if settings["trained"] else "random weights",
        "missing": "\n\n".join(notes),
    }

    def draw() -> dict[str, DescribedFigure]:
        where = f"one {DEVICES[device]}"
        return {"writing": pictures.draw_writing(rows[rows["way"] != FLOOR], where, summary)}

    said = [sentence.replace("**", "").replace("`", "") for sentence in (summary, aim, why)]
    return Part(table, [*said, *notes], fields, draw)


def _pairs(rows: pd.DataFrame) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """Give each row but those of ours, and that of ours beside it."""
    ours = rows[rows["way"] == OURS].set_index(["batch", "threads"]).to_dict("index")
    others = rows[rows["way"] != OURS].to_dict("records")
    return [(row, ours[row["batch"], row["threads"]]) for row in others]


def _summary(rows: pd.DataFrame) -> str:
    """Say how ours compares with the default and with the fastest other way, for each batch."""
    said = []
    for batch, some in rows[rows["way"] != FLOOR].groupby("batch", sort=False):
        found = []
        for row, ours in _pairs(some[some["way"].isin((OURS, DEFAULT))]):
            threads = "one thread" if row["threads"] == 1 else f"{row['threads']} threads"
            found.append(
                f"on {threads} ours writes **{plain(ours['per_second'])} tokens a second** and "
                f"`generate` {plain(row['per_second'])}, so ours is **{span(row, 'to_ours')} "
                "times as fast**"
            )
        texts = "One text at a time" if batch == 1 else f"{batch} texts at once"
        said.append(f"{texts}: {'; '.join(found)}.")
    return " ".join(said)


def _aim(rows: pd.DataFrame) -> str:
    """Say whether ours is as fast as it was meant to be, with one text."""
    one = rows[(rows["batch"] == 1) & (rows["way"] != FLOOR)]
    default = one.loc[one["way"] == DEFAULT, "to_ours"].min()
    fastest = one["to_ours"].min()  # ours has 1
    verdict = "met" if default >= AIM and fastest >= 1 else "missed"
    return (
        f"The aim, {AIM} times as fast as the default with one text and no slower than the fastest "
        f"way, is {verdict}."
    )


def _why(rows: pd.DataFrame) -> str:
    """Say where the time goes: the share of the products, and the calls of a token."""
    shares = [
        f"{row['seconds'] / ours['seconds']:.0%} with {row['batch']} on {row['threads']}"
        for row, ours in _pairs(rows)
        if row["way"] == FLOOR
    ]
    calls = rows[rows["batch"] == rows["batch"].min()].drop_duplicates("way").set_index("way")
    others = ", ".join(
        f"`{way}` {n}" for way, n in calls["calls"].items() if way not in (OURS, FLOOR)
    )
    return (
        "The products with the weights alone would take this share of the time of ours, by texts "
        f"and threads: {', '.join(shares)}. The rest lies between them: for a token ours calls "
        f"{calls.loc[OURS, 'calls']} operators of PyTorch, {others}, the products "
        f"alone {calls.loc[FLOOR, 'calls']}."
    )


def _compiled(device: str) -> str:
    if device == "cuda":
        return "With its static cache `generate` compiles a step, before the clock starts."
    return "On a processor `generate` compiles nothing, with its static cache neither."
