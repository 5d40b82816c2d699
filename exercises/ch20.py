"""Checks of chapter 20: when a head attends to nothing, an output gate, a sink from a log-sum-exp."""

from torch import nn

from exercises.exercise import Case, Cases, Prediction, exercise, normal


@exercise
def never_new() -> Cases:
    """Check to how much the weights sum for a new key where training had none."""
    mistakes = {
        0.83: "before training it is five sixths, as the logit is one of six. Which way is it pushed if there is always something to find?",
        0.71: "so much the plain layer gives its first token after training with new keys. The sum is asked for, without them.",
        0.5: "before training a sink logit is one of six places, not one of two. What moves it later?",
        0.29: "so little it is after training with new keys. Here each question had something to find.",
        0.0: "attending to nothing has to be learnt. What in this training rewards it?",
        1.0: "the right idea, but the logit starts at 0, and 300 steps do not drive it to minus infinity: a little less.",
    }
    limits = (0, 1, "a sum of weights lies between 0 and 1.")
    yield Prediction("the sum", (0.88, 0.995), mistakes, limits=limits)


@exercise
def output_gate() -> Cases:
    """Check ``function(x, heads, gate)``: what is left of ``heads``, (B, T, H * D_head), behind a gate made of ``x``, (B, T, D)."""
    randn = normal(0)
    for B, T, D, width in ((1, 2, 4, 4), (2, 3, 6, 6), (2, 3, 4, 6)):
        x, heads, gate = randn(B, T, D), randn(B, T, width), nn.Linear(D, width).requires_grad_(False)
        gate.load_state_dict({"weight": randn(width, D), "bias": randn(width)})
        share = gate(x).sigmoid()
        wrong = {
            "nothing is multiplied yet: these are the heads' outputs.": heads,
            "a linear layer gives numbers of any size; a sigmoid brings them between 0 and 1.": heads * gate(x),
            "this is the gate alone; it multiplies the heads' outputs.": share,
            "a gate multiplies; what is added cannot silence a head.": heads + share,
            "in a softmax the numbers share one whole; each gate opens by itself: take the sigmoid.": heads * gate(x).softmax(dim=-1),
            "the sigmoid is for the gate alone; the heads' outputs may be negative.": (heads * gate(x)).sigmoid(),
            "first the linear layer, then the sigmoid.": heads * gate(x.sigmoid()),
            "the gate is the sigmoid alone; here it is multiplied by what it is made of, too.": heads * gate(x) * share,
            "a tanh lies between -1 and 1, and turns numbers round; a gate has a sigmoid.": heads * gate(x).tanh(),
            "where the gate is open, you close it.": heads * (1 - share),
        }
        if width == D:
            wrong |= {
                "the query token decides, and you asked the heads: give x to the gate.": heads * gate(heads).sigmoid(),
                "you gate x by the heads; it is the other way round.": x * gate(heads).sigmoid(),
                "the gate belongs on the heads, not on x.": x * share,
                "the linear layer is missing: how far a gate opens has to be learnt.": heads * x.sigmoid(),
            }
        yield Case((x, heads, gate), heads * share, wrong, "what is left")


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
