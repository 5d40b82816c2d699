"""A figure holds what it was given, and has a text computed from its numbers."""

import xml.etree.ElementTree as ET

import pytest
import torch

from utils.figures import plot_attention


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 3)])
def test_the_weights_are_drawn_and_told_a_panel_a_head(shape):
    heads = [[[0.7, 0.2, 0.1], [0.05, 0.9, 0.05]], [[0.0, 0.25, 0.75], [0.4, 0.35, 0.25]]]
    weights = torch.tensor(heads)[: None if len(shape) == 3 else 1].reshape(shape)
    figure = plot_attention(weights, ["how", "are"], ["we", "all", "now"], "Who looks where")
    nodes = ET.fromstring(figure.svg).iter()
    texts = [node.text.strip() for node in nodes if node.tag.endswith("}text") and node.text]
    assert [text for text in texts if "." in text] == [f"{w:.2f}" for w in weights.flatten()]
    told = ["how to we 0.70, are to all 0.90", "how to now 0.75, are to we 0.40"]
    if len(shape) == 2:
        assert figure.alt == f"Attention weights. Largest weight of each query: {told[0]}."
        assert figure.caption == "Who looks where"
    else:
        assert {"head 0", "head 1"} <= set(texts)
        assert figure.alt.endswith(f"head 0: {told[0]}; head 1: {told[1]}.")


@pytest.mark.parametrize("shape", [(3, 2), (1, 1, 2, 3)])
def test_names_that_do_not_fit_the_weights_are_refused(shape):
    with pytest.raises(ValueError, match="do not fit"):
        plot_attention(torch.ones(shape), "ab", "cde", "title")
