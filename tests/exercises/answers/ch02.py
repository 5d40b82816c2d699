from exercises import ch02

WRONG = {
    ch02.softmax: [
        (lambda s, d: (s - s.amax(d)).exp(), "keepdim=True"),
        (lambda s, d: (s - s.max(d, keepdim=True)).exp(), "take its .values, or use amax"),
        (lambda s, d: s.sub_(s.amax(d, keepdim=True)).softmax(d), "changed the scores"),
        (lambda s, d: s.log_softmax(d).exp(), "PyTorch's softmax made them"),
    ],
    ch02.scaled_dot_product: [
        (lambda q, k, v: (q @ k.permute(3, 2, 1, 0), v), "key.transpose(-2, -1)"),
        (lambda q, k, v: (v, (q @ k.mT / k.shape[-2] ** 0.5).softmax(-1)), "the root of S"),
    ],
}
