"""The model that writes in the page: its weights, as a script among the book's styles.

They are 4 MB, and kept once, in ``notebooks/results``. The script is written for the book that has
the page with the figure, and asked for when a reader starts it.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

PAGE = "notebooks/18-a-model-that-writes"
FILE = "writer-weights.js"


def _finish(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html" or PAGE not in app.env.found_docs:
        return
    from chapters.ch18_writer import load_writer
    from chapters.live.writer import weights_script

    script = weights_script(load_writer(Path(app.srcdir, "notebooks", "results")))
    Path(app.outdir, "_static", FILE).write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Wait until everything is written, and has become light."""
    app.connect("build-finished", _finish, priority=950)
