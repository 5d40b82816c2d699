from exercises import ch14


def by_the_sums(output, log_sum, sink):
    total = log_sum.exp()
    return output * total / (total + sink.exp()[:, None, None])


RIGHT = {ch14.sink_after: [by_the_sums], ch14.no_repeats: [0.92, 0.95, 0.97]}
