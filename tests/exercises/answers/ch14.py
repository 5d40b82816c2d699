"""The checks of chapter 14 accept what is right, however written, and name what is wrong."""

from exercises import ch14


def by_the_sums(output, log_sum, sink):
    total = log_sum.exp()
    return output * total / (total + sink.exp()[:, None, None])


RIGHT = {ch14.sink_after: [by_the_sums]}

WRONG = {
    ch14.sink_after: [
        (lambda output, log_sum, sink: output, "is wrong at"),
        (lambda output, log_sum, sink: None, "should be a tensor"),
        (lambda o, log_sum, sink: o * (log_sum - sink).sigmoid(), "`log_sum - sink` gives"),
    ],
}
