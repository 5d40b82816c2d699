"""Chapter 2: what is watched, and what is said to an error."""

from exercises import ch02


def shifted(scores, dim):
    """Softmax by its formula."""
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


RIGHT = {}
WRONG = {
    ch02.softmax: [
        (lambda s, d: (s - s.amax(d)).exp(), "keepdim=True"),
        (lambda s, d: (s - s.max(d, keepdim=True)).exp(), "take its .values, or use amax"),
        (lambda s, d: s.sub_(s.amax(d, keepdim=True)).softmax(d), "changed the scores"),
        (lambda s, d: s.log_softmax(d).exp(), "PyTorch's softmax made them"),
        (lambda s, d: shifted(s - s.mean(d, keepdim=True), d), "the mean of each row"),
        (lambda s, d: shifted(s - s.amin(d, keepdim=True), d), "the minimum of each row"),
        (lambda s, d: shifted(s - s.narrow(d, 0, 1), d), "the first entry of each row"),
    ],
    ch02.scaled_dot_product: [
        (lambda q, k, v: (q @ k.permute(3, 2, 1, 0), v), "key.transpose(-2, -1)"),
        (lambda q, k, v: (w := (q @ k.mT / 8).softmax(-1)) is None or (w @ v, w), "divides by 8"),
    ],
}
