"""What a reader of the layer has to read: one file, from the top, and few functions of it."""

import sys
from pathlib import Path

import pytest
import torch

from tools.notebooks import ROOT
from utils.attention import MultiHeadAttention

OURS = ("utils", "chapters", "exercises", "tools")  # an environment may lie beside them


def called(call):
    """The functions of ours that a call enters, each as its file and its name."""
    found = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and any(path.is_relative_to(ROOT / ours) for ours in OURS):
            found.add((str(path.relative_to(ROOT)), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_a_call_stays_in_one_file_and_enters_at_most_nine_functions(need_weights, padded):
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    padding = torch.arange(5) > torch.tensor([[2], [4]]) if padded else None
    functions = called(lambda: layer(x, x, x, padding, need_weights))
    assert {file for file, _ in functions} == {"utils/attention.py"}
    assert 5 <= len(functions) <= 9, sorted(functions)
