"""Checks of chapter 14: what two heads recall, and a sink from a log-sum-exp."""

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
            "the sink's value is zero: nothing of it is added to the output.": output * share + 1 - share,
            "a sink belongs to a head, and `log_sum - sink` gives one to each number of D_head: give it the shape (H, 1, 1).": output
            * (log_sum - sink).sigmoid(),
            "a sink belongs to a head, and you gave each query one: give it the shape (H, 1, 1).": output
            * (log_sum - sink.unsqueeze(1)).sigmoid(),
        }
        yield Case((output, log_sum, sink), output * share, wrong, "the output")


@exercise
def two_heads() -> Cases:
    """Check which share of the last values two heads of 16 recall: about as many as four."""
    mistakes = {
        0.91: "this lies between four heads of 8 and four of 16, as the numbers kept do; what did one head of 16 recall?",
        0.85: "four heads of 8 recall that, after as many steps; two of 16 keep twice as many numbers, and are twice as wide.",
        0.95: "one head of 16 recalls that; a second one should help.",
        1.0: "only softmax attention recalls all, and it keeps every token.",
        0.5: "one head of 16 alone recalls 0.93 at the least.",
    }
    limits = (0, 1, "a share lies between 0 and 1.")
    yield Prediction("the share", (0.96, 0.995), mistakes, limits=limits)
