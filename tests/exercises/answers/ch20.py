from exercises import ch20


def by_the_sums(output, log_sum, sink):
    total = log_sum.exp()
    return output * total / (total + sink.exp()[:, None, None])


def by_hand(x, heads, gate):
    opened = x @ gate.weight.mT + gate.bias
    return heads / (1 + (-opened).exp())


RIGHT = {
    ch20.output_gate: [by_hand],
    ch20.sink_after: [by_the_sums],
    ch20.never_new: [0.93, 0.95, 0.97],
}
