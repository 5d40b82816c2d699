"""A figure is one piece of HTML: wide and narrow, in the page's colours, with caption and text."""

import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest

from tools.problems import smallest_text
from utils.figures import DRAWINGS, NARROW, DescribedFigure, draw_reading, heat_map, show_drawing
from utils.palette import FIGURE, INK, PALETTE, PAPER, SEQUENTIAL, tint


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


def test_both_pictures_have_the_text_and_the_page_is_given_all_at_once():
    before = plt.get_fignums()
    shown = described()
    wide, narrow = pictures(shown)
    html = shown._repr_html_()
    assert repr(shown) == wide.get("aria-label") == narrow.get("aria-label") == shown.alt
    assert shown.alt == "A line that <rises>."
    assert wide.get("role") == narrow.get("role") == "img"
    assert size(wide)[0] > 1.5 * size(narrow)[0]
    assert size(narrow)[0] <= 72 * NARROW + 10
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|@import|<metadata|\bsrc=", html)
    assert html == described()._repr_html_()
    assert plt.get_fignums() == before, "it is closed, so that it is shown once"


def test_the_finding_comes_first_and_is_set_apart():
    for caption, html in (
        ("It is 0.5, e.g. here. More & more.", "<b>It is 0.5, e.g. here.</b> More &amp; more."),
        ("No full stop", "<b>No full stop</b>"),
    ):
        assert f"<figcaption>{html}</figcaption>" in described(caption=caption)._repr_html_()


def test_a_figure_without_words_is_refused():
    drawn = figure()
    for alt, caption, word in ((" \n", "x", "text alternative"), ("x", " ", "caption")):
        with pytest.raises(ValueError, match=word):
            DescribedFigure(drawn, alt, caption)
    plt.close(drawn)


def test_panels_stand_below_each_other_on_a_phone():
    shown = described(figure(3, sharey=True))
    wide, narrow = pictures(shown)
    assert size(narrow)[1] > 2 * size(wide)[1]
    assert texts(narrow).count("loss") == 3, "each panel says what the first said for all"
    assert texts(wide).count("loss") == 1
    assert smallest_text(shown._repr_html_()) >= 10.9
    _, own = pictures(described(figure(3), narrow=figure(2, NARROW)))
    assert [t for t in texts(own) if t.startswith("panel")] == ["panel 0", "panel 1"]


def test_legends_and_titles_are_narrowed_and_a_single_panel_shrinks():
    drawn = figure(layout="constrained")
    (axes,) = drawn.axes
    axes.set_title("a word " * 12)
    axes.plot([2, 1], label="another")
    drawn.suptitle("a title " * 12)
    for legend in (axes.legend, drawn.legend):
        legend(*axes.get_legend_handles_labels(), ncols=2, title="kinds")
    wide, narrow = pictures(described(drawn))
    assert size(narrow)[0] <= 72 * NARROW + 10
    assert texts(narrow).count("kinds") == texts(narrow).count("a line") == 2
    assert max(map(len, texts(narrow))) <= 44 < max(map(len, texts(wide)))


def test_a_plot_of_plotnine_is_stacked_too():
    rows = pd.DataFrame({"x": [1, 2] * 2, "y": [1, 2] * 2, "kind": list("aabb")})
    plot = p9.ggplot(rows, p9.aes("x", "y")) + p9.geom_line() + p9.facet_wrap("kind", nrow=1)
    wide, narrow = pictures(described(plot + p9.theme(figure_size=(8, 3))))
    assert size(narrow)[1] > size(wide)[1]
    assert {"a", "b"} <= set(texts(narrow))


def test_the_colours_follow_the_page_and_every_reference_has_its_place():
    other = DescribedFigure(figure(), "Another.", "Another.")
    first, second = (shown._repr_html_() for shown in (described(), other))
    assert f"var(--fig-0,{PALETTE[0]})" in first
    assert f"var(--fig-ink,{INK})" in first
    for name, (_, dark) in FIGURE.items():
        assert f"--fig-{name}:{dark};" in first
    bare = re.sub(r"<style>.*?</style>|var\([^)]*\)", "", first, flags=re.DOTALL)
    assert not re.findall(r": #[0-9a-f]{6}", bare)
    own, theirs = (set(re.findall(r' id="([^"]+)"', html)) for html in (first, second))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', first)) == own
    assert own.isdisjoint(theirs)


def test_a_heat_map_is_transparent_where_there_is_nothing_and_its_numbers_stand_out():
    assert SEQUENTIAL(0.0)[3] == tint(PALETTE[1])(0.0)[3] == 0
    assert SEQUENTIAL(1.0)[3] == 1
    drawn, axes = plt.subplots()
    heat_map(axes, np.array([[0.0, 1.0], [0.4, 0.9]]), ["a", "b"], ["c", "d"])
    colours = {text.get_text(): text.get_color() for text in axes.texts}
    assert colours == {"0.00": INK, "1.00": PAPER, "0.40": INK, "0.90": PAPER}
    with pytest.raises(ValueError, match="3 names do not fit the 2 columns"):
        heat_map(axes, np.eye(2), ["a", "b"], ["a", "b", "c"])
    plt.close(drawn)


def test_a_word_is_the_darker_the_more_it_is_read():
    words, weights = ["can", "you", "can,", "that"], [0.1, 0.0, 0.6, 0.3]
    shown = draw_reading(words, weights, "Weight", "It reads.")
    for svg in pictures(shown):
        assert texts(svg)[1:5] == words
        assert {"6.0 %", "30.0 %", "60.0 %"} <= set(texts(svg))
    grounds = [float(n) for n in re.findall(r"opacity: ([.\d]+)", shown.svg)]
    assert grounds[:3] == pytest.approx([0.5 / 6, 0.5, 0.25], abs=1e-6), "one has none"
    assert "the largest: can 60.0%, that 30.0%, can 10.0%" in shown.alt
    with pytest.raises(ValueError, match="as many weights"):
        draw_reading(words, [1, -1, 0, 0], "Weight", "It reads.")


@pytest.mark.parametrize("name", sorted(file.stem for file in DRAWINGS.glob("*.svg")))
def test_a_drawing_is_one_file_for_every_reader(name):
    text = (DRAWINGS / f"{name}.svg").read_text(encoding="utf-8")
    style = text[text.index("<style>") : text.index("</style>")]
    for colour in {*re.findall(r"var\(--fig-(\w+)", text)}:
        light, dark = FIGURE[colour]
        assert set(re.findall(rf"var\(--fig-{colour},(.*?)\)", text)) == {light}
        assert f"--fig-{colour}:{dark}" in style
    plain = re.sub(r"var\(.*?\)", "", text.replace(style, ""))
    assert not re.search(r'"#[0-9a-f]{3,6}"|(?:fill|stroke)="(?!none")[a-z]', plain)
    shown = show_drawing(name, "It is so.")
    assert len(shown.alt) > 60
    assert shown.alt.endswith(".")
    assert len(pictures(shown)) == 2
    assert style not in shown._repr_html_()
    tree = ET.fromstring(text)
    ids = [node.get("id") for node in tree.iter() if node.get("id")]
    used = [node.get("href")[1:] for node in tree.iter() if node.get("href")]
    assert set(used) == set(ids)
    assert all(each.startswith(f"{name}-") for each in ids)
    assert min(float(n.get("font-size")) for n in tree.iter() if n.get("font-size")) >= 11
    assert size(pictures(shown)[1])[0] <= 350, "what a phone has"
