"""Checks of chapter 14: what a wider window recalls, and what a hybrid model keeps."""

from exercises.exercise import Case, Cases, Prediction, exercise


@exercise
def wider() -> Cases:
    """Check the recall of softmax attention through a window of sixteen of 48 lines, predicted."""
    mistakes = {
        0.33: "a third of the lines are in the window, but of a variable that is set several times the last value is asked for.",
        0.35: "so much comes through a window of eight lines; this one holds sixteen.",
        0.4: "a variable is set so often in sixteen lines; but a third of the questions were drawn from these lines.",
        0.71: "twice as wide does not mean twice as much: what comes again is counted once.",
        1.0: "some variables are set in the first lines alone, and nothing is left of them.",
    }
    other = "a third of the questions were drawn from lines in the window. For a line outside, how often is its variable set again inside?"
    yield Prediction("the recall", (0.57, 0.63), mistakes, near=0.02, other=other, limits=(0, 1, "a share lies between 0 and 1."))


@exercise
def numbers_kept() -> Cases:
    """Check ``function(layers, T, num_heads, head_dim, width)``: the numbers that a model keeps after T tokens."""
    window, state = "window", "state"
    for layers, T, num_heads, head_dim, width in (
        (["global"], 7, 3, 4, 5),
        ([window], 9, 2, 8, 4),
        ([window, window], 3, 2, 8, 4),
        ([state], 11, 3, 4, 2),
        ([state, state, "global", window], 20, 4, 16, 8),
    ):
        unit, near = num_heads * head_dim, min(T, width)  # numbers of a token's key
        counts = [layers.count(kind) for kind in ("global", window, state)]

        def total(*rows: int, unit: int = unit, counts: list[int] = counts) -> int:
            return unit * sum(count * each for count, each in zip(counts, rows, strict=True))

        wrong = {
            "each token has a key and a value: twice as many numbers.": total(T, near, head_dim),
            "a window cannot keep more tokens than there are.": total(2 * T, 2 * width, head_dim),
            "a window keeps its last tokens alone.": total(2 * T, 2 * T, head_dim),
            "a state is a matrix, `head_dim` times `head_dim` numbers in each head.": total(2 * T, 2 * near, 1),
            "a state does not grow with the text.": total(2 * T, 2 * near, T * head_dim),
            "each head has a matrix of its own, `head_dim` times `head_dim`; the heads do not share a large one.": total(
                2 * T, 2 * near, unit
            ),
            "a state is one matrix in each head; nothing is counted twice there.": total(2 * T, 2 * near, 2 * head_dim),
            "each head keeps its own: multiply by `num_heads`.": total(2 * T, 2 * near, head_dim) // num_heads,
            "a state keeps a matrix, not keys and values.": total(2 * T, 2 * near, 2 * T),
        }
        yield Case((layers, T, num_heads, head_dim, width), total(2 * T, 2 * near, head_dim), wrong, "the number of numbers")
