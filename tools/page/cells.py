"""How the page shows a chapter's cells: a cell's tag says all that there is to say.

A notebook marks a cell once, with one of the tags below. Where the cell is folded, its first line
is ``# @title NAME``: Colab shows the name in place of the code, and so does the page.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sphinx.application import Sphinx

# Tag: what MyST-NB calls it, and how the fold is named where the cell does not say.
SHOWN_AS = {
    "set-up": ("hide-cell", "Set-up"),
    "plot": ("hide-input", "Plot code"),
    "proof": ("hide-input", "Proof"),
    "picture": ("remove-input", None),  # what shows a drawing or a live figure teaches nobody
    "solution": ("hide-cell", "Solution"),
    "check": ("remove-output", None),  # a stub's "Not yet" is for whoever runs it
}
FOLDED = ("set-up", "plot", "proof", "picture", "solution")
TITLE = re.compile(r"#\s*@title +(.+?) *(?:\n|\Z)")


def title(source: str) -> str | None:
    """Give the name that a cell's first line gives it, if there is one."""
    found = TITLE.match(source)
    return found[1] if found else None


def as_shown(cell: dict[str, Any], address: str = "") -> dict[str, Any]:
    """Give the cell as MyST-NB should read it.

    Parameters
    ----------
    cell : dict, a cell of a notebook file
    address : str, of the book; what a notebook has from there, for whoever opens it elsewhere, the
        page has beside it
    """
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        source = re.sub(rf" · \[[^]]*\]\({re.escape(address)}notebooks/[^)]*\)", "", source)
        return {**cell, "source": source.replace(f"({address}_static/", "(../book/_static/")}
    name = title(source)
    metadata = dict(cell["metadata"])
    tags = list(metadata.get("tags", []))
    for tag in tags.copy():
        kind, default = SHOWN_AS.get(tag, (None, None))
        if kind:
            tags.append(kind)
        if default:
            page = dict(metadata.get("mystnb", {}))
            metadata["mystnb"] = {
                **page,
                "code_prompt_show": name or default,
                "code_prompt_hide": name or default,
            }
    return {
        **cell,
        "source": TITLE.sub("", source, count=1) if name else source,
        "metadata": {**metadata, "tags": tags},
    }


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    if not str(app.env.doc2path(docname)).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    notebook["cells"] = [as_shown(cell, app.config.html_baseurl) for cell in notebook["cells"]]
    source[0] = json.dumps(notebook)


def setup(app: Sphinx) -> None:
    """Change each notebook as it is read."""
    app.connect("source-read", _read)
