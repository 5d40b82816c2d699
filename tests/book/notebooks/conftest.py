"""What the tests of kept results share."""

import re

import nbformat
import pytest


@pytest.fixture(scope="module")
def prose(request):
    """All Markdown of the notebook that the test's module names NOTEBOOK."""
    cells = nbformat.read(request.module.NOTEBOOK, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.fixture(scope="module")
def said(prose):
    """What the prose says where a pattern fits, once: the numbers of its groups."""

    def numbers(pattern: str) -> list[float]:
        (found,) = re.findall(pattern, prose)
        return [float(number.replace("−", "-")) for number in found]

    return numbers
