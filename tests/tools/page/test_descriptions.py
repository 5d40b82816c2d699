"""What is told of a page to those who share it."""

import pytest
from docutils.core import publish_doctree

from tools.page.descriptions import description


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "You will write the masks of a layer, and *combine* them. Then you will test them.",
            "You will write the masks of a layer, and combine them.",
        ),
        (
            "Short. The sentence after it comes along, so that there is enough to read. Not this.",
            "Short. The sentence after it comes along, so that there is enough to read.",
        ),
        (
            ".. image:: badge.svg\n\nWhat comes below the badge is what a reader wants to know.",
            "What comes below the badge is what a reader wants to know.",
        ),
        (
            "|badge|\n\nWhat comes below the badge is what a reader wants to know.\n\n"
            ".. |badge| image:: badge.svg",
            "What comes below the badge is what a reader wants to know.",
        ),
        (
            "A formula such as D / H is kept, 2.5 is one number, and lines\nare joined.",
            "A formula such as D / H is kept, 2.5 is one number, and lines are joined.",
        ),
        ("", ""),
    ],
)
def test_the_first_sentence_that_says_something(source, expected):
    assert description(publish_doctree(source)) == expected
