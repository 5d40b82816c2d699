import torch

from exercises import ch05

RIGHT = {ch05.unmasked_training: [(30, 284), (8, 178.0), [0, 450]]}
WRONG = {
    ch05.causal_mask: [
        (lambda T, S: torch.eye(T, S) > 0, "at [0, 1]: blocked instead of allowed (the first of 9"),
    ],
    ch05.unmasked_training: [
        ((0, 0), "not low enough for 45 times as many"),
        ((31, 284), "was trained with as many"),
        ((284, 284), "was trained with as many"),
        ((20, 20), "not low enough for 45 times as many"),
        ((20, 500), "stays there"),
        ((20, 501), "from 0 to 500"),
        (20, "two numbers"),
    ],
}
