"""A figure is one piece of HTML: wide and narrow, in the page's colours, with caption and text."""

import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest

from tools.problems import smallest_text
from utils.figures import (
    DIVERGING,
    INK,
    NARROW,
    PALETTE,
    SEQUENTIAL,
    DescribedFigure,
    heat_map,
    palette,
    tint,
)


def figure(columns=1, width=8.6, **kwargs):
    drawn, panels = plt.subplots(1, columns, squeeze=False, figsize=(width, 3), **kwargs)
    for number, axes in enumerate(panels[0]):
        axes.plot([1, 2], label="a line")
        axes.set(xlabel="step", title=f"panel {number}")
    panels[0][0].set_ylabel("loss")
    return drawn


def described(drawn=None, caption="It rises. Two points.", **kwargs):
    return DescribedFigure(drawn or figure(), " A line\n that <rises>. ", caption, **kwargs)


def pictures(shown):
    """The two pictures as trees."""
    html = shown._repr_html_()
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def size(svg):
    return [float(n) for n in svg.get("viewBox").split()[2:]]


def texts(svg):
    return [node.text for node in svg.iter() if node.tag.endswith("}text")]


def test_both_pictures_have_the_text_and_the_figure_its_caption():
    shown = described()
    wide, narrow = pictures(shown)
    assert repr(shown) == shown.alt == "A line that <rises>."
    assert wide.get("aria-label") == narrow.get("aria-label") == "A line that <rises>."
    assert wide.get("role") == narrow.get("role") == "img"
    assert "<figcaption><b>It rises.</b> Two points.</figcaption>" in shown._repr_html_()
    assert size(wide)[0] > 1.5 * size(narrow)[0]
    assert size(narrow)[0] <= 72 * NARROW + 10


@pytest.mark.parametrize(
    ("caption", "html"),
    [
        ("One finding.", "<b>One finding.</b>"),
        ("It is 0.5 of it. More & more.", "<b>It is 0.5 of it.</b> More &amp; more."),
        ("Half is lost, e.g. here. More.", "<b>Half is lost, e.g. here.</b> More."),
        ("No full stop", "<b>No full stop</b>"),
    ],
)
def test_the_finding_comes_first_and_is_set_apart(caption, html):
    assert f"<figcaption>{html}</figcaption>" in described(caption=caption)._repr_html_()


@pytest.mark.parametrize(("alt", "caption"), [("", "x"), (" \n", "x"), ("x", ""), ("x", " ")])
def test_a_figure_without_words_is_refused(alt, caption):
    drawn = figure()
    with pytest.raises(ValueError, match=r"caption|text alternative"):
        DescribedFigure(drawn, alt, caption)
    plt.close(drawn)


def test_panels_stand_below_each_other_on_a_phone():
    wide, narrow = pictures(described(figure(3, sharey=True)))
    assert size(narrow)[1] > 2 * size(wide)[1]
    assert texts(narrow).count("loss") == 3, "each panel says what the first said for all"
    assert texts(wide).count("loss") == 1
    assert smallest_text(described(figure(3))._repr_html_()) >= 10.9


def test_a_figure_may_bring_its_own_narrow_one():
    _, narrow = pictures(described(figure(3), narrow=figure(2, NARROW)))
    assert [t for t in texts(narrow) if t.startswith("panel")] == ["panel 0", "panel 1"]


def test_a_plot_of_plotnine_is_stacked_too():
    rows = pd.DataFrame({"x": [1, 2] * 2, "y": [1, 2] * 2, "kind": list("aabb")})
    plot = (
        p9.ggplot(rows, p9.aes("x", "y"))
        + p9.geom_line()
        + p9.facet_wrap("kind", nrow=1)
        + p9.theme(figure_size=(8, 3))
    )
    wide, narrow = pictures(described(plot))
    assert size(narrow)[1] > size(wide)[1]
    assert {"a", "b"} <= set(texts(narrow))


def test_the_colours_follow_the_page():
    html = described()._repr_html_()
    assert f"var(--fig-0,{PALETTE[0]})" in html
    assert f"var(--fig-ink,{INK})" in html
    for name, dark in ((palette.VARIABLES[c], d) for c, d in palette.DARK.items()):
        assert f"{name}:{dark};" in html
    bare = re.sub(r"<style>.*?</style>|var\([^)]*\)", "", html, flags=re.DOTALL)
    assert not re.findall(r": #[0-9a-f]{6}", bare)


def test_ids_of_two_figures_differ_and_every_reference_has_one():
    first, second = described(), DescribedFigure(figure(), "Another.", "Another.")
    all_ids = []
    for shown in (first, second):
        html = shown._repr_html_()
        ids = re.findall(r' id="([^"]+)"', html)
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', html)) == set(ids)
        all_ids += ids
    assert len(all_ids) == len(set(all_ids)) > 0


def test_it_is_whole_in_itself_and_the_same_each_time():
    html = described()._repr_html_()
    assert "<script" not in html
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|<metadata|\bsrc=", html)
    assert html == described()._repr_html_()


def test_it_is_closed_so_that_it_is_shown_once():
    before = plt.get_fignums()
    described()
    described(figure(2), narrow=figure(1))
    assert plt.get_fignums() == before


def test_a_heat_map_is_transparent_where_there_is_nothing():
    assert SEQUENTIAL(0.0)[3] == tint(PALETTE[1])(0.0)[3] == 0
    assert DIVERGING(0.5)[3] == pytest.approx(0, abs=0.01)
    assert SEQUENTIAL(1.0)[3] == DIVERGING(0.0)[3] == DIVERGING(1.0)[3] == 1


def test_numbers_of_a_heat_map_stand_out():
    drawn, axes = plt.subplots()
    heat_map(axes, np.array([[0.0, 1.0], [0.4, 0.9]]), ["a", "b"], ["c", "d"])
    colours = {text.get_text(): text.get_color() for text in axes.texts}
    paper = palette.PAPER
    assert colours == {"0.00": INK, "1.00": paper, "0.40": INK, "0.90": paper}
    plt.close(drawn)


def test_names_that_do_not_fit_a_heat_map_are_refused():
    drawn, axes = plt.subplots()
    with pytest.raises(ValueError, match="3 names do not fit the 2 columns"):
        heat_map(axes, np.eye(2), ["a", "b"], ["a", "b", "c"])
    plt.close(drawn)
