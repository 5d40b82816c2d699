"""The checks of chapter 15 accept what is right, however written, and name what is wrong."""

from exercises import ch15


def in_lines(x, attend, ff, first, second, norm_first):
    if norm_first:
        x = x + attend(first(x))
        return x + ff(second(x))
    x = first(x + attend(x))
    return second(x + ff(x))


def from_the_start(x, attend, ff, first, second, norm_first):
    if norm_first:
        return x + ff(second(x + attend(first(x))))
    return second(x + ff(first(x + attend(x))))


def only_attention(x, attend, ff, first, second, norm_first):
    return x + attend(first(x)) if norm_first else first(x + attend(x))


RIGHT = {
    ch15.encoder_block: [in_lines],
    ch15.idle_biases: [["k_proj"], ("k_proj",), {"k_proj"}],
}

WRONG = {
    ch15.encoder_block: [
        (in_lines, {"if norm": "if not norm"}, "wrong way round"),
        (in_lines, {"if norm_first": "if True"}, "norm_first is not used: this is pre-norm"),
        (in_lines, {"if norm_first": "if False"}, "norm_first is not used: this is post-norm"),
        (
            in_lines,
            {
                "x = x + ": "return ff(second(x)) + x + ",
                "    x = first(x + attend(x))\n": "",
                "second(x + ff(x))\n": "second(first(x + attend(x)) + ff(x))\n",
            },
            "reads what the first sum made",
        ),
        (
            in_lines,
            {
                "if norm_first": "if False",
                "first(x + attend(x))": "x + first(attend(x))",
                "second(x + ff(x))": "x + second(ff(x))",
            },
            "a norm stands on what a part adds",
        ),
        (in_lines, {"second(": "first("}, "first is used twice"),
        (in_lines, {"first(": "second("}, "second is used twice"),
        (in_lines, {"x + ": ""}, "residuals are missing"),
        (
            in_lines,
            {"x = x + attend": "x = attend", "first(x + attend(x))": "first(attend(x))"},
            "the first residual is missing",
        ),
        (
            in_lines,
            {"return x + ff": "return ff", "second(x + ff(x))": "second(ff(x))"},
            "the second residual is missing",
        ),
        (in_lines, {"first(": "second(", "second(": "first("}, "first and second are swapped"),
        (in_lines, {"attend(": "ff(", " ff(": " attend("}, "attention comes first"),
        (from_the_start, "not the first x"),
        (
            in_lines,
            {"x = x + ": "x = first(x) + ", "return x + ": "return second(x) + "},
            "keeps x itself",
        ),
        (in_lines, {" first(x": " (x", "attend(first(x": "attend((x", "second(x": "(x"}, "no norm"),
        (only_attention, "feed-forward part is missing"),
        (
            in_lines,
            {
                "x + attend(first(x))": "first(x + attend(first(x)))",
                "x + ff(second(x))": "second(x + ff(second(x)))",
            },
            "pre-norm never normalises the sum",
        ),
    ],
    ch15.idle_biases: [
        ("k_proj", "give a list of names"),
        (["k"], "'k' is none of the four"),
        ([], "q · (k + b) adds q · b"),
        (["k_proj", "q_proj"], "another number for each key"),
        (["k_proj", "v_proj"], "reaches its output whole"),
        (["out_proj"], "its bias is added to every output"),
    ],
}
