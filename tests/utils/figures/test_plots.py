"""A figure holds what it was given, and has a text computed from its numbers."""

import xml.etree.ElementTree as ET
from math import nan

import pandas as pd
import pytest
import torch

from utils.figures import PALETTE, plot_attention, plot_confusion, plot_losses

NAMES = ["tech", "sport", "politics"]


def history(*train_loss, val_loss=None):
    val_loss = [loss + 0.1 for loss in train_loss] if val_loss is None else val_loss
    epochs = range(1, len(train_loss) + 1)
    return pd.DataFrame({"epoch": epochs, "train_loss": train_loss, "val_loss": val_loss})


def drawn_texts(figure):
    """What is written in the picture."""
    root = ET.fromstring(figure.svg)
    return [node.text.strip() for node in root.iter() if node.tag.endswith("}text") and node.text]


def test_the_text_of_the_losses_has_their_numbers():
    figure = plot_losses(
        {"naive": history(1.5, 0.7, 0.25), "efficient": history(2.0, 1.0)}, "They fall."
    )
    assert figure.alt == (
        "Loss curves, one panel a model: "
        "naive, training loss from 1.50 to 0.25 and validation loss from 1.60 to 0.35 in 3 epochs; "
        "efficient, training loss from 2.00 to 1.00 and validation loss from 2.10 to 1.10 in "
        "2 epochs."
    )


def test_the_losses_have_one_panel_a_model_in_the_order_given():
    texts = drawn_texts(
        plot_losses({name: history(1.0, 0.5) for name in ("zeta", "alpha")}, "They fall.")
    )
    assert texts.index("zeta") < texts.index("alpha")
    assert {"training", "validation", "epoch", "cross-entropy (nats)"} <= set(texts)


def test_losses_without_validation_are_drawn_and_described_without_it(recwarn):
    figure = plot_losses({"naive": history(1.5, 0.25, val_loss=[nan, nan])}, "They fall.")
    assert "training loss from 1.50 to 0.25" in figure.alt
    assert "nan" not in figure.alt
    assert not [str(w.message) for w in recwarn if "plotnine" in type(w.message).__module__]


def test_no_history_is_refused():
    with pytest.raises(ValueError, match="no history"):
        plot_losses({}, "They fall.")


def test_the_text_of_the_confusion_has_the_counts_and_the_worst_mistake():
    labels = [0] * 5 + [1] * 4 + [2] * 3
    predicted = [0, 0, 0, 2, 2, 1, 1, 1, 0, 2, 2, 0]
    assert plot_confusion(labels, predicted, NAMES, "Few mistakes.").alt == (
        "Confusion matrix, documents classified rightly: tech 3 of 5; sport 3 of 4; "
        "politics 2 of 3. Most often confused: tech taken for politics, 2 of them."
    )


def test_no_mistake_is_said_as_such():
    assert plot_confusion([0, 1, 2], [0, 1, 2], NAMES, "Few mistakes.").alt.endswith(
        " There is no mistake."
    )


def test_a_class_that_does_not_occur_keeps_its_place():
    figure = plot_confusion([2, 2], [2, 0], NAMES, "Few mistakes.")
    assert "tech 0 of 0; sport 0 of 0; politics 1 of 2." in figure.alt
    assert figure.alt.endswith("politics taken for tech, 1 of them.")


def test_the_confusion_has_the_classes_in_order_and_the_true_ones_in_rows():
    labels, predicted = [0] * 60 + [1] * 7 + [2] * 8, [0] * 40 + [1] * 20 + [1] * 7 + [2] * 8
    texts = drawn_texts(plot_confusion(labels, predicted, NAMES, "Few mistakes."))
    names = [text for text in texts if text in NAMES]
    assert names == NAMES * 2  # below, and at the left
    first_row = [text for text in texts if text in {"40", "20", "7", "8"}]
    assert first_row.index("40") + 1 == first_row.index("20") < first_row.index("7")
    assert {"predicted class", "true class"} <= set(texts)


def test_labels_and_predictions_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        plot_confusion([0, 1], [0], NAMES, "Few mistakes.")


def test_a_label_without_a_name_is_refused():
    with pytest.raises(ValueError, match="no class name"):
        plot_confusion([0, 3], [0, 1], NAMES, "Few mistakes.")


def test_the_same_figure_is_written_the_same_way_again():
    """So that a chapter that is executed again differs only where a figure does."""
    first, second = (
        ET.fromstring(plot_losses({"a": history(1.0, 0.5)}, "They fall.").svg) for _ in range(2)
    )
    names = [[node.get("id") for node in root.iter() if node.get("id")] for root in (first, second)]
    assert names[0] == names[1]
    assert not [node for node in first.iter() if node.tag.endswith("}date")]


def test_the_losses_are_drawn_in_the_colours_of_the_palette():
    svg = plot_losses({"a": history(1.0, 0.5)}, "They fall.").svg
    assert [colour for colour in PALETTE if colour in svg] == PALETTE[:2]


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 3)])
def test_the_weights_are_drawn_and_told_a_panel_a_head(shape):
    heads = [[[0.7, 0.2, 0.1], [0.05, 0.9, 0.05]], [[0.0, 0.25, 0.75], [0.4, 0.35, 0.25]]]
    weights = torch.tensor(heads)[: None if len(shape) == 3 else 1].reshape(shape)
    figure = plot_attention(weights, ["how", "are"], ["we", "all", "now"], "Who looks where")
    texts = drawn_texts(figure)
    assert [text for text in texts if "." in text] == [f"{w:.2f}" for w in weights.flatten()]
    told = ["how to we 0.70, are to all 0.90", "how to now 0.75, are to we 0.40"]
    if len(shape) == 2:
        assert figure.alt == f"Attention weights. Largest weight of each query: {told[0]}."
        assert figure.caption == "Who looks where"
    else:
        assert {"head 0", "head 1"} <= set(texts)
        assert figure.alt.endswith(f"head 0: {told[0]}; head 1: {told[1]}.")


@pytest.mark.parametrize("shape", [(3, 2), (1, 1, 2, 3), (3,)])
def test_names_that_do_not_fit_the_weights_are_refused(shape):
    with pytest.raises(ValueError, match="do not fit"):
        plot_attention(torch.ones(shape), "ab", "cde", "title")
