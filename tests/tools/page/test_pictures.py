"""Each chapter of the map has a picture of its own; a new one has a plain one."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tools.page import pictures

ROOT = Path(__file__).resolve().parents[3]
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
NAMES = [*pictures.PICTURES, "a-chapter-to-come"]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_well_formed_and_fits_its_frame(name):
    picture = ET.fromstring(pictures.picture(f"notebooks/07-{name}", "some-id"))
    assert picture.attrib["id"] == "some-id"
    assert len(picture.attrib["aria-label"]) > 20
    assert len(picture) >= 3
    for shape in picture.iter("rect"):
        x, y, w, h = (float(shape.attrib[key]) for key in ("x", "y", "width", "height"))
        assert min(x, y) >= 0
        assert x + w <= pictures.WIDTH
        assert y + h <= pictures.HEIGHT
    for shape in picture.iter("circle"):
        x, y, r = (float(shape.attrib[key]) for key in ("cx", "cy", "r"))
        assert r <= min(x, y, pictures.WIDTH - x, pictures.HEIGHT - y)
    colours = {word for shape in picture for word in shape.attrib["class"].split()}
    assert colours <= {"a", "b", "ink", "line"}


def test_no_two_are_alike():
    drawn = [draw() for draw, _ in pictures.PICTURES.values()]
    told = [alt for _, alt in pictures.PICTURES.values()]
    assert len(set(drawn)) == len(set(told)) == len(drawn)


def test_a_chapter_keeps_its_picture_under_another_number():
    before, after = (pictures.picture(f"notebooks/{n}-real-weights", "p") for n in ("13", "15"))
    assert before == after != pictures.picture("notebooks/15-unheard-of", "p")


def test_no_chapter_needs_the_plain_one():
    plain, _ = pictures.PLAIN
    assert CHAPTERS
    assert not [name for name in CHAPTERS if plain() in pictures.picture(f"notebooks/{name}", "p")]


def test_there_are_as_many_real_heads_as_the_model_has():
    assert pictures.real_heads().count("<circle") == 72
