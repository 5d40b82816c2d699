"""A quotation that begins with a bold word of meaning is a box; any other stays a quotation."""

import pytest
from docutils.core import publish_doctree
from docutils.nodes import block_quote

from tools.page import boxes
from tools.page.boxes import KINDS, kind


def quotation(text):
    document = publish_doctree(f"Before.\n\n    {text}\n\nAfter.")
    return next(iter(document.findall(block_quote)))


@pytest.mark.parametrize("word", KINDS)
@pytest.mark.parametrize("end", [".", ":", ""])
def test_a_bold_word_makes_a_box(word, end):
    assert kind(quotation(f"**{word}{end}** Two heads win.")) == KINDS[word]


@pytest.mark.parametrize(
    "text", ["Two heads.", "*Result.* Two.", "**Note.** Two.", "A **Result.**"]
)
def test_all_else_is_a_quotation(text):
    assert kind(quotation(text)) is None


def test_what_is_tried_on_the_page_is_not_on_paper():
    for text, expected in (("On the page, drag it.", True), ("Run it twice.", False)):
        document = publish_doctree(f"Before.\n\n    **Try it.** {text}\n\nAfter.")
        boxes._mark(None, document)
        (found,) = document.findall(block_quote)
        assert ("no-print" in found["classes"]) is expected
