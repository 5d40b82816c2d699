"""Checks of chapter 20: when a head has a reason to be silent, and a sink from a log-sum-exp."""

from exercises.exercise import Case, Cases, Prediction, exercise, normal


@exercise
def never_new() -> Cases:
    """Check to how much the weights sum for a new key where training had none."""
    mistakes = {
        0.83: "before training it is five sixths, as the logit is one of six. Which way is it pushed if silence is never right?",
        0.5: "before training a sink logit is one of six places, not one of two. What moves it later?",
        0.29: "so little it is after training with new keys, where a mixture of values was often wrong. Is it ever wrong here?",
        0.0: "silence has to be learnt. What in this training rewards it?",
        1.0: "the right idea, but the logit starts at 0, and 300 steps do not drive it to minus infinity: a little less.",
    }
    limits = (0, 1, "a sum of weights lies between 0 and 1.")
    yield Prediction("the sum", (0.88, 0.995), mistakes, limits=limits)


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
            "the sink's own logit is missing; yours is 0.": output * log_sum.sigmoid(),
            "the sink competes with the sum of the keys' exponentials, not with 1.": output / (1 + b.exp()),
            "a quotient of logarithms is no logarithm of a quotient: subtract them.": output * log_sum / log_sum.logaddexp(b),
            "this is one sum divided by the other; the denominator holds both.": output * (log_sum - b).exp(),
            "this is the sink's part divided by the keys'; the keys' sum stands above, and both below.": output * (b - log_sum).exp(),
            "a difference of logarithms is no share yet: its sigmoid is.": output * (log_sum - b),
            "the sink's value is zero: nothing of it is added to the output.": output * share + 1 - share,
            "a sink belongs to a head, and `log_sum - sink` gives one to each number of D_head: give it the shape (H, 1, 1).": output
            * (log_sum - sink).sigmoid(),
            "log_sum is a logarithm already, and the keys' sum stands above the line as well.": output / (log_sum + b.exp()),
            "both are logarithms: take their exponentials before you divide.": output * log_sum / (log_sum + b),
            "a sink belongs to a head, and you gave each query one: give it the shape (H, 1, 1).": output
            * (log_sum - sink.unsqueeze(1)).sigmoid(),
        }
        yield Case((output, log_sum, sink), output * share, wrong, "the output")
