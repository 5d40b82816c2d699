"""Checks of chapter 14: a prediction for a quiet head, a sink from a log-sum-exp, what layers keep."""

import math
from typing import Any

from exercises.exercise import Case, Cases, FaultError, as_number, check, exercise, normal

LEFT = (0.15, 0.5)  # what eight seeds leave to the keys, with one to four heads, and a margin


@check
def quiet(predicted: Any) -> None:
    """Check the sum of a head's weights where no key fits, in a trained layer with a sink logit."""
    left = as_number(predicted, "the sum of the weights")
    if not 0 <= left <= 1 or math.isnan(left):
        raise FaultError("the weights of the keys sum to something from 0 to 1.")
    if left == 1:
        raise FaultError("that is a softmax without a sink: it cannot be silent. What does the sink take?")
    if left > LEFT[1]:
        raise FaultError("less: what a head says here is of no use, since the answer does not depend on the keys shown.")
    if left < LEFT[0]:
        raise FaultError("nearly, but a sink logit is one number for all questions: it has to let through the keys that fit.")


@exercise
def sink_after() -> Cases:
    """Check ``function(output, log_sum, sink)``: softmax attention, and what a sink makes of it.

    ``output`` is (B, H, T, D_head), ``log_sum`` (B, H, T, 1), ``sink`` (H,).
    """
    randn = normal(0)
    for B, H, T in ((1, 2, 3), (2, 3, 4), (3, 3, 3)):
        output, log_sum, sink = randn(B, H, T, 5), 2 * randn(B, H, T, 1), 2 * randn(H)
        b = sink.view(H, 1, 1)
        share = (log_sum - b).sigmoid()
        wrong = {
            "this is what goes to the sink; return what stays with the keys.": output * (1 - share),
            "log_sum is a logarithm already: exp(log_sum) is the sum of the exponentials.": output * log_sum / (log_sum + b.exp()),
            "the sink's logit needs its exponential, too.": output * log_sum.exp() / (log_sum.exp() + b),
            "the keys' sum stands above the line as well: without a sink nothing may change.": output / (log_sum.exp() + b.exp()),
            "the sink adds to the denominator; it does not multiply it.": output * (-b).exp(),
            "the sink's value is zero: nothing of it is added to the output.": output * share + 1 - share,
        }
        if H == T:
            along = (log_sum - sink.view(T, 1)).sigmoid()
            wrong["a sink belongs to a head, and you gave each query one: give it the shape (H, 1, 1)."] = output * along
        yield Case((output, log_sum, sink), output * share, wrong, "the output")


@exercise
def kept_numbers() -> Cases:
    """Check ``function(pattern, T, window, H_kv, D_head)``: the numbers in the cache after T tokens."""
    for pattern, T, window, H_kv, D_head in (
        ("GGGG", 100, 16, 8, 32),
        ("WWWG", 100, 16, 8, 32),
        ("WWWG", 10, 16, 2, 64),
        ("WWWWWG", 32_768, 1024, 4, 256),
    ):
        row = 2 * H_kv * D_head
        near, far = pattern.count("W"), pattern.count("G")
        right = row * (near * min(T, window) + far * T)
        wrong = {
            "a cache has keys and values: twice as many.": right // 2,
            "a text shorter than the window fills only a part of it.": row * (near * window + far * T),
            "a window layer forgets what is behind its window.": row * len(pattern) * T,
            "W is a layer with a window, G one that sees all.": row * (near * T + far * min(T, window)),
            "count every layer of the pattern.": row * (min(T, window) * bool(near) + T * bool(far)),
            "the layers that see all keep something, too.": row * near * min(T, window),
            "each head of keys and values keeps its own.": right // H_kv,
        }
        yield Case((pattern, T, window, H_kv, D_head), right, wrong, "the numbers kept", whole=True)
