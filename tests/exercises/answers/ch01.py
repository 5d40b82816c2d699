import torch

from exercises import ch01


def asks(action=(0, 3), person=(0, 0), thing=(0, 3)):
    return lambda: torch.tensor([action, person, thing], dtype=torch.float32)


RIGHT = {
    ch01.queries_by_hand: [asks(), lambda: [[0, 3], [0, 0], [0, 3]]],
    ch01.stuck_starts: [["B", "D"], {"D", "B"}, "BD", ["b", "d"]],
}
WRONG = {
    ch01.queries_by_hand: [
        (lambda: asks()().T, "makes it (3, 2)"),
        (lambda: torch.eye(3), "shape (3, 3)"),
        (lambda: asks()() / 0, "not finite"),
        (asks((0, 1), thing=(0, 1)), "only 0.475; make its number larger"),
        (asks((3, 0)), "looks for an action"),
        (asks(thing=(0, 0)), "only 0.250; it has no preference. Its row is that of a thing"),
        (asks((0, -3)), "turns it away"),
        (asks((-10, 0)), "turning away from actions still leaves two words"),
        (asks(person=(3, 0)), '"you" gives the words 0.48, 0.02, 0.48, 0.02'),
    ],
    ch01.stuck_starts: [
        (["A", "B", "D"], "A learns"),
        (["B", "C", "D"], "C learns"),
        (["D"], "Can two equal keys"),
        (["B"], "Whose border"),
        (["E"], "a list of letters"),
    ],
}
