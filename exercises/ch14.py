"""Checks of chapter 14: what a sum recalls without repeats, and a sink from a log-sum-exp."""

from exercises.exercise import Case, Cases, Prediction, exercise, normal


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
            "the sink's logit needs its exponential, too.": output * log_sum.exp() / (log_sum.exp() + b),
            "the keys' sum stands above the line as well: without a sink nothing may change.": output / (log_sum.exp() + b.exp()),
            "the sink adds to the denominator; it does not multiply it.": output * (-b).exp(),
            "the sink competes with the sum of the keys' exponentials, not with 1.": output / (1 + b.exp()),
            "a difference of logarithms is no share yet: its sigmoid is.": output * (log_sum - b),
            "the sink's value is zero: nothing of it is added to the output.": output * share + 1 - share,
            "a sink belongs to a head, and `log_sum - sink` gives one to each number of D_head: give it the shape (H, 1, 1).": output
            * (log_sum - sink).sigmoid(),
            "a sink belongs to a head, and you gave each query one: give it the shape (H, 1, 1).": output
            * (log_sum - sink.unsqueeze(1)).sigmoid(),
        }
        yield Case((output, log_sum, sink), output * share, wrong, "the output")


@exercise
def no_repeats() -> Cases:
    """Check which share of the values a gated sum recalls where no key comes again."""
    mistakes = {
        0.75: "so much it recalls with repeats. What goes wrong there, and can it go wrong here?",
        0.5: "four heads have 64 rows for sixteen keys; what does a key find there that comes once?",
        1.0: "nearly; but learnt keys are a little alike, and each gives back some of the others.",
    }
    limits = (0, 1, "a share lies between 0 and 1.")
    yield Prediction("the share", (0.85, 0.999), mistakes, limits=limits)
