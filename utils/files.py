"""Replace a file in one step, so that half of it never stands there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
