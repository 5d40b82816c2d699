"""Checks of chapter 9: what two heads can answer, a layer of ones, a convolution that does nothing new.

Shapes: H heads, D = ``embed_dim``, D / H channels of each.
"""

from typing import Any

from torch import Tensor

from exercises.exercise import Case, Cases, FaultError, as_number, check, exercise, normal
from exercises.mistakes import LAYER_TRANSPOSED, STRIDED, strided, wrong_orders

D, H, VDIM = 6, 3, 5
CHANNELS = D // H

CHANCE = 1 / 16 + 15 / 16 / 8  # the same key was asked for twice, or else its value is the same
FOUND = [(n + (4 - n) * CHANCE) / 4 for n in range(5)]  # accuracy where n of 4 places are found
PREDICTIONS = {
    1.0: "a head has one softmax for all four places, so it finds one key well and not two.",
    FOUND[3]: "that is three places found. How many are there heads for?",
    0.5: "the places that no head finds are right sometimes, by chance: one value in eight. Add that.",
    FOUND[1]: "that is one place found; there are two heads.",
    0.25: "there are two heads, and each finds one of the four places.",
    1 / 8: "that is guessing. Each head finds one of the four places.",
}


@check
def two_heads(predicted: Any) -> None:
    """Check the share of four lookups that two heads of 8 numbers answer, 0.56 to 0.63.

    Plain guessing of the two others gives 9/16; with the value that was found, which one key in
    sixteen shares, it is 0.59, and training reaches 0.59 to 0.63.
    """
    share = as_number(predicted, "the accuracy of two heads")
    if 0.555 < share < 0.64:
        return
    mistaken = min(PREDICTIONS, key=lambda number: abs(number - share))
    if abs(share - mistaken) < 0.03:
        raise FaultError(PREDICTIONS[mistaken])
    raise FaultError("of the four places, how many get a head, and how often is a guess right for the others?")


TOKENS = {
    "ones": "with ones all values are equal, and any mixture of equal values is that value.",
    "rand": "with rand each number is the sum of 512 that are positive: one token gets all the weight from 64 heads already.",
    "randn": "with randn sums of 512 numbers are still so large that 64 heads are saturated, and fewer heads are sharper.",
    "randn / 100": "all numbers of query and key are alike, but the root of D_head depends on H: where scores are small, it shows.",
}


@check
def layer_of_ones(predicted: Any) -> None:
    """Check for which tokens a layer of ones gives other outputs with 1 head than with 64.

    ``predicted`` is a list of names out of ``TOKENS``: "randn / 100" alone.
    """
    if not isinstance(predicted, list | tuple | set | dict):
        raise FaultError("give a list of names, such as ['ones'].")
    names = list(predicted)
    for name in names:
        if name not in TOKENS:
            raise FaultError(f"{name!r} is none of the four: {', '.join(TOKENS)}.")
    for name, why in TOKENS.items():
        if (name in names) != (name == "randn / 100"):
            raise FaultError(why)


@exercise
def absorb_convolution() -> Cases:
    """Check how a convolution of kernel size 1 is absorbed in the projection of the values.

    ``function(v_weight, conv_weight)`` takes ``v_proj.weight``, (H * D, vdim), and the weight of a
    ``nn.Conv1d(H * D, D, 1, groups=H)``, (D, D, 1), that stands in the place of ``out_proj``. It
    returns the weight of a projection that gives the reduced values at once, (D, vdim).
    """
    draw = normal(11)
    v_weight, conv_weight = draw(H * D, VDIM), draw(D, D, 1)
    blocks, taps = v_weight.view(H, D, VDIM), conv_weight.view(H, CHANNELS, D)

    def reduced_by(taps: Tensor, heads: Tensor) -> Tensor:
        return (taps @ heads).flatten(0, 1)  # (H, D / H, vdim) -> (D, vdim)

    def reduced(heads: Tensor) -> Tensor:
        return reduced_by(taps, heads)

    mistakes = wrong_orders(blocks, 0, reduced) | {
        "the heads are added up; each channel has one.": reduced(blocks.sum(0, keepdim=True)),
        STRIDED: reduced(strided(v_weight.T, H).mT),
        "heads mixed up: the channels of a head stand together.": ((taps @ blocks).transpose(0, 1).flatten(0, 1)),
        LAYER_TRANSPOSED: reduced(blocks).mT,
        "join the heads along the rows, (D, vdim).": taps @ blocks,
        "the blocks are transposed; a channel is a row.": (taps @ blocks).mT.flatten(0, 1),
        "the heads are averaged; each channel has one.": reduced(blocks.mean(0, keepdim=True)),
        "the heads are averaged after the product; stack them.": (taps @ blocks).mean(0),
        "head 0's kernel, D * D / H weights, is used for all; each head has its own.": (reduced_by(taps[:1], blocks)),
        "each channel of the convolution reads the D rows of its own head, not those of all.": (
            (conv_weight[..., 0] @ blocks).flatten(0, 1)
        ),
        "the convolution is transposed; conv.weight is (channels, D, 1).": (
            reduced_by(conv_weight[..., 0].T.reshape(H, CHANNELS, D), blocks)
        ),
        "heads mixed up: the first D / H channels belong to head 0.": (
            reduced_by(conv_weight.view(CHANNELS, H, D).transpose(0, 1), blocks)
        ),
    }
    yield Case((v_weight, conv_weight), reduced(blocks), mistakes, "the weight")
