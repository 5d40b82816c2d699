"""The heads in the page: weights as in utils.attention, words, keyboard, the asking."""

import re

import pytest
import torch

from chapters.live.heads import PAIRS, SCRIPT, Reader, kept, live_heads

BUTTON = "Point at any word"


@pytest.fixture(scope="module")
def folder(save, tmp_path_factory):
    """A book in a plain folder: a page with the weights among the styles, and one saved alone."""
    folder, figure = tmp_path_factory.mktemp("heads"), live_heads()
    for name in ("book", "_static", "alone/saved"):
        (folder / name).mkdir(parents=True)
        save(figure._repr_html_(), figure.code(".js"), folder / name)
    (folder / "_static" / SCRIPT.name).symlink_to(SCRIPT)
    return folder


@pytest.fixture
def open_page(open_file, folder):
    return lambda name="book", **how: open_file(folder / name / "page.html", folder=folder, **how)


def started(page):
    page.get_by_role("button", name=BUTTON).click()
    page.locator(".strip").first.wait_for()
    return page


def told(page):
    return page.locator(".told").inner_text()


def test_it_serves_everybody(serves_everybody, folder):
    serves_everybody(folder / "book" / "page.html", started, folder)


def test_weights_are_those_of_the_layer(open_page):
    page, reader = started(open_page()), Reader(kept())
    run = """text => {
        const reader = new Reader(globalThis.courseHeads, 3);
        const { words } = reader.split(text);
        return [words, reader.weights(words).map(({ data }) => [...data])];
    }"""
    for text in (PAIRS["bank"][0], "“Don’t” said the café, “open it; I will!”", ""):
        words, found = page.evaluate(run, text)
        expected = reader.weights(words)
        torch.testing.assert_close(torch.tensor(found), expected.flatten(1), atol=1e-5, rtol=0)
    assert words == []


def test_it_is_fetched_when_asked_for_and_the_still_stays_until_then(open_page):
    page = open_page()
    assert page.locator(".wide svg").is_visible()
    assert not page.evaluate("Boolean(globalThis.courseHeads)")
    page = started(page)
    assert not page.locator(".wide svg").is_visible()
    alone = open_page("alone/saved")
    alone.get_by_role("button", name=BUTTON).click()
    alone.locator("[role=status]", has_text="not beside this page").wait_for()
    assert alone.locator(".wide svg").is_visible()


def test_two_senses_by_keyboard_and_the_table_has_the_numbers(open_page):
    page = started(open_page())
    assert "it finds “steel” with head 0. The two heads tell its two uses apart." in told(page)
    says = page.locator(".title > span").all_inner_texts()
    assert says[:3] == ["finds “garden”", "finds nothing, rests on [CLS]", "finds “the”"]
    of_20 = re.findall(r" for (\d+)[,.]", page.locator(".stage > p").last.inner_text())
    assert of_20 == [str(kept()["measured"][name]) for name in ("nature", "people")]
    assert page.locator(".words [class^=finds]").all_inner_texts() == ["plant", "grew", "plant"]
    page.keyboard.press("ArrowRight")
    assert told(page) == "In the first sentence “grew” finds “garden” with head 10."
    page.keyboard.press("Tab")  # past the sentence, whose word stays
    framed = page.locator(".words [aria-pressed=true]")
    assert framed.all_inner_texts() == ["grew", "plant"]
    for word, one, other, heads in (  # both frame the word that they share
        ("rock", "the rock fell from the mountain", "the rock band played", "The two heads tell"),
        ("current", "a strong current in the river", "the current is strong", "Only head 10 tells"),
        ("rock", "the rock fell", "a rock fell", "Neither head tells"),
    ):
        page.locator("input").first.fill(one)
        page.locator("input").last.fill(other)
        assert framed.all_inner_texts() == [word, word]
        assert told(page).endswith(f"{heads} its two uses apart.")
    page.get_by_role("button", name="bank").press("Enter")
    page.locator("summary").click()
    table = page.locator("table").first
    assert table.locator("caption").inner_text() == "“bank” in the first sentence"
    columns = zip(*(row.split("\t") for row in table.inner_text().splitlines()[2:]), strict=True)
    for column in [*columns][1:]:
        assert sum(map(float, column)) == pytest.approx(1, abs=0.05)


def test_words_it_does_not_know_are_named(open_page):
    page = started(open_page())
    page.locator("input").first.fill("The ZEBRA sat, <b> on: 7 banks")
    heard = page.locator(".heard").first
    assert "words: zebra, <, b, >, 7." in heard.inner_text()
    shown = page.locator(".words").first.locator("button").all_inner_texts()
    assert shown[:4] == ["the", "sat", ",", "on"]
    for struck in (page.locator(".words").first.locator("s"), page.locator(".of-1 s")):
        assert struck.all_inner_texts() == ["zebra", "<", "b", ">", "7"]
    page.locator("input").first.fill("the " * 30)
    assert "There is room for 14 words" in heard.inner_text()
    page.locator("input").first.fill("zebra " * 5000)
    assert "Type a word." in heard.inner_text()
    assert told(page) == ""


def test_a_finger_picks_a_word_and_sees_its_heads(open_page):
    page = started(open_page(width=390))
    for row, word in ((".words button", "cars"), (".strip.of-1 > span", "made")):
        page.locator(row, has_text=word).tap()
        assert f"In the second sentence “{word}” finds nothing with either head." in told(page)
    page.get_by_role("button", name="bank").tap()
    top, end = (page.locator(one).last.bounding_box()["y"] for one in (".buttons", ".strip"))
    assert end - top < 680  # what is said and both sentences stand on a phone's screen
