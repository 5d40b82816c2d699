"""Checks of chapter 20: when a head attends to nothing, the highest score, a sink from a log-sum-exp."""

import torch

from exercises.exercise import Case, Cases, Prediction, exercise, normal


@exercise
def never_new() -> Cases:
    """Check to how much the weights sum for a new key where training had none."""
    mistakes = {
        0.85: "so it is before training. What happens to the scores if there is always something to find?",
        0.5: "before training a sink logit is one of six places, not one of two. And later?",
        0.27: "it is as low as this after training with new keys. Here each question had something to find.",
        0.0: "attending to nothing has to be learnt. What in this training rewards it?",
        1.0: "the right idea, but the sink logit stays in the softmax: a little less.",
    }
    other = "what is left for the sink logit if there is always something to find?"
    yield Prediction("the sum", (0.92, 0.999), mistakes, near=0.13, other=other, limits=(0, 1, "a sum of weights lies between 0 and 1."))


@exercise
def highest() -> Cases:
    """Check ``function(q_scale, k_scale)``: the highest score with QK-norm and these scales, (D_head,)."""
    for q, k in (
        ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
        ([2.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 1.0], [1.0, 4.0, 2.5, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0]),
        ([-3.0, 1.0, 0.5], [2.0, 1.5, 1.0]),
    ):
        q_scale, k_scale = torch.tensor(q), torch.tensor(k)
        both, root = (q_scale * k_scale).tolist(), len(q) ** 0.5
        sizes = [abs(n) for n in both]
        wrong = {
            "the limit while all scales are 1; training changes them.": root,
            "the score is divided by the root of D_head.": root**2 * max(sizes),
            "the root of D_head divides, but each of the two vectors has that length: it stays once.": max(sizes),
            "no query and key reach it: the largest scales may stand apart.": root * max(map(abs, q)) * max(map(abs, k)),
            "a negative product may be the largest in size: a query can have a negative number there.": root * max(both),
            "here the length is spread evenly; all of it in the best place gives more.": sum(sizes) / root,
            "multiply first, then take sizes: scales may be negative, and the largest in different places.": root * max(q) * max(k),
            "two vectors along the scales would reach it; but scales multiply place by place.": (q_scale.norm() * k_scale.norm()).item(),
            "no pair reaches this bound; put all of the length in the best place.": (q_scale.norm() * k_scale.norm()).item() / root,
            "this adds up the places; only one can hold the whole length.": root * (q_scale * k_scale).norm().item(),
            "this is the score of two vectors of ones; all of the length in the best place gives more.": sum(both) / root,
        }
        yield Case((q_scale, k_scale), root * max(sizes), wrong, "the highest score", atol=1e-4)


@exercise
def sink_after() -> Cases:
    """Check ``function(output, log_sum, sink)``: softmax attention, and what a sink makes of it.

    ``output`` is (B, H, T, D_head), ``log_sum`` (B, H, T, 1), ``sink`` (H,).
    """
    randn = normal(0)
    for B, H in ((1, 2), (2, 3), (3, 4)):  # T = D_head = H, so that a sink without its ones fits too
        output, log_sum, sink = randn(B, H, H, H), 2 * randn(B, H, H, 1), 2 * randn(H)
        b = sink.view(H, 1, 1)
        share = (log_sum - b).sigmoid()
        wrong = {
            "this is what goes to the sink; return what stays with the keys.": output * (1 - share),
            "log_sum is a logarithm already: exp(log_sum) is the sum of the exponentials.": output * log_sum / (log_sum + b.exp()),
            "logarithms do not add up as their sums do: take the exponential of both.": output * log_sum / (log_sum + b),
            "the sink's logit needs its exponential, too.": output * log_sum.exp() / (log_sum.exp() + b),
            "the keys' sum stands above the line as well: without a sink nothing may change.": output / (log_sum.exp() + b.exp()),
            "the sink adds to the denominator; it does not multiply it.": output * (-b).exp(),
            "the sink's own logit is missing; yours is 0.": output * log_sum.sigmoid(),
            "the sink competes with the sum of the keys' exponentials, not with 1.": output / (1 + b.exp()),
            "this is one sum divided by the other; the denominator holds both.": output * (log_sum - b).exp(),
            "this is the sink's part divided by the keys'; the keys' sum stands above, and both below.": output * (b - log_sum).exp(),
            "the sink's logit is taken away from `log_sum`, not added.": output * (log_sum + b).sigmoid(),
            "a difference of logarithms is no share yet: its sigmoid is.": output * (log_sum - b),
            "the sink's value is zero: nothing of it is added to the output.": output * share + 1 - share,
            "`log_sum - sink` gives a sink to each number of D_head: give it the shape (H, 1, 1).": output * (log_sum - sink).sigmoid(),
            "each head has a sink, not each query: give it the shape (H, 1, 1).": output * (log_sum - sink.unsqueeze(1)).sigmoid(),
        }
        yield Case((output, log_sum, sink), output * share, wrong, "the output")
