from exercises import ch20


def by_the_sums(output, log_sum, sink):
    total = log_sum.exp()
    return output * total / (total + sink.exp()[:, None, None])


RIGHT = {ch20.sink_after: [by_the_sums], ch20.never_new: [0.93, 0.95, 0.97]}
