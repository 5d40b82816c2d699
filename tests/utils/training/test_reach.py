"""What a program reaches, and what of it counts: each edit is hashed, or is seen not to matter."""

import textwrap

import pytest

from utils.training import code_hash
from utils.training.reach import cells_source, reached

PACKAGE = {
    "utils/__init__.py": "",
    "utils/room/__init__.py": """
        from utils.room.inner import Layer, used
        from utils.room.other import more
        """,
    "utils/room/inner.py": """
        import math
        from utils.room.other import more as and_more

        SCALE = 2
        UNUSED = 3

        def used(x):
            \"\"\"Double it.\"\"\"
            if x < 0:
                raise ValueError(f"{x} is below zero: take another.")
            return SCALE * and_more(x)  # and more

        def unused(x):
            return x

        class Layer:
            def forward(self, x: "unused") -> int:
                return used(x)
        """,
    "utils/room/other.py": "def more(x):\n    return x\n",
    "utils/checks/__init__.py": "",
    "utils/checks/ch01.py": """
        def answer(x):
            return {"The scale is missing.": x, "key": x, f"It is {x}, not zero.": 0}
        """,
}
MAIN = """
from utils.room import Layer
from utils.checks import ch01
ch01.answer(1)
layer = Layer()
"""


@pytest.fixture
def root(tmp_path):
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return tmp_path


def edit(root, name, old, new):
    text = (root / name).read_text(encoding="utf-8")
    assert old in text
    (root / name).write_text(text.replace(old, new), encoding="utf-8")


def test_names_are_followed_through_rooms_and_bases(root):
    names = {name for name in reached(MAIN, root) if name.startswith("utils")}
    assert names == {
        "utils.room.inner.Layer",
        "utils.room.inner.used",
        "utils.room.inner.SCALE",
        "utils.room.other.more",
        "utils.checks.ch01.answer",
    }


INNER, CHECK = "utils/room/inner.py", "utils/checks/ch01.py"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (INNER, "Double it.", "Twice as much."),
        (INNER, '    """Double it."""\n', ""),
        (INNER, "# and more", "# for ever more"),
        (INNER, "is below zero: take another.", "is negative."),
        (INNER, "SCALE * and_more(x)", "(SCALE *\n        and_more(x))"),
        (INNER, ', x: "unused") -> int', ", x)"),
        (INNER, "UNUSED = 3", "UNUSED = 4"),
        (INNER, "import math", "import cmath"),
        (INNER, "def unused(x):\n    return x", "def unused(x):\n    return 2 * x"),
        (CHECK, "The scale is missing.", "There is no scale."),
        (CHECK, "It is {x}, not zero.", "Not {x}."),
    ],
)
def test_what_is_said_to_readers_does_not_count_nor_what_is_not_reached(root, file, old, new):
    before = reached(MAIN, root)
    edit(root, file, old, new)
    assert reached(MAIN, root) == before


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        (INNER, "SCALE = 2", "SCALE = 3", "utils.room.inner.SCALE"),
        (INNER, "x < 0", "x <= 0", "utils.room.inner.used"),
        (INNER, "ValueError", "TypeError", "utils.room.inner.used"),
        (INNER, "return used(x)", "return used(x) + 1", "utils.room.inner.Layer"),
        ("utils/room/other.py", "return x", "return x + 1", "utils.room.other.more"),
        (CHECK, '"key"', '"other"', "utils.checks.ch01.answer"),
        ("utils/__init__.py", "", "print('loud')\n", "utils.(on import)"),
        (INNER, "import math", "import math\nmath.inf\n", "utils.room.inner.(on import)"),
    ],
)
def test_what_runs_counts(root, file, old, new, changed):
    before = reached(MAIN, root)
    if old:
        edit(root, file, old, new)
    else:
        (root / file).write_text(new, encoding="utf-8")
    after = reached(MAIN, root)
    assert {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)} == {changed}


def test_a_message_counts_where_readers_were_shown_it(root):
    shown = "ValueError: -1 is below zero: take another."
    before = reached(MAIN, root, shown=shown)
    edit(root, INNER, "take another", "take one more")
    assert reached(MAIN, root, shown=shown) != before


def test_a_module_that_is_a_value_is_taken_whole(root):
    names = reached("from utils.room import inner\nprint(vars(inner))", root)
    assert "utils.room.inner.unused" in names


PROGRAM = """
from utils.room import Layer, more
x = 1
plan = [x]
def build(width):
    y = [x for x in range(width)]
    return Layer, y, plan
x = more
table = 5
plan.append(table)
def run(seed):
    table = build(seed)
    return table
z = 7
"""


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("z = 7", "z = 8", False),
        ("x = more", "x = 2 + 2", False),  # after it was read
        ("x = 1", "x = 2", True),  # it is in the plan
        ("table = 5", "table = 6", True),  # the global one is, too
        ("plan.append", "plan.insert", True),
        ("range(width)", "range(2)", True),
        ("table = build(seed)\n", "table = build(1)\n", True),
    ],
)
def test_from_a_name_it_goes_to_what_made_it(root, old, new, counts):
    assert old in PROGRAM
    before, after = (reached(text, root, ["run"]) for text in (PROGRAM, PROGRAM.replace(old, new)))
    assert (before != after) == counts


def test_cells_that_are_no_python_are_left_out_or_translated():
    source = cells_source(["%pip install x", "x = (", "y = 1"])
    assert "y = 1" in source
    assert "x = (" not in source
    assert "pip" in source


def top_level():
    return 1


def test_only_what_stands_at_the_top_level_can_be_followed():
    assert code_hash(top_level) == code_hash(top_level) != code_hash(edit)

    def inner():
        return 1

    with pytest.raises(ValueError, match="top level"):
        code_hash(inner)
