"""The heads in the page: weights as in utils.attention, words, keyboard, the asking."""

import pytest
import torch

from chapters.live.heads import PAIRS, SCRIPT, SMALL, Reader, kept, live_heads

BUTTON = "Ask any word"


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
    page.locator(".strip > span").first.wait_for()
    return page


def told(page):
    return page.locator(".told").inner_text()


def test_it_serves_everybody(serves_everybody, folder):
    serves_everybody(folder / "book" / "page.html", started, folder)


def test_weights_and_favourites_are_those_of_the_layer(open_page):
    page, reader = started(open_page()), Reader(kept())
    run = """([text, small]) => {
        const reader = new Reader(globalThis.courseHeads, small);
        const { words } = reader.split(text);
        const ranks = reader.favourites("plant").map(({ ranks }) => [...ranks.keys()].slice(0, 9));
        return [words, reader.weights(words).map(({ data }) => [...data]), ranks];
    }"""
    for text in (PAIRS["plant"][0], "“Don’t” said the café, “open it; I will!”", ""):
        words, found, favourites = page.evaluate(run, [text, SMALL])
        expected = reader.weights(words)
        torch.testing.assert_close(torch.tensor(found), expected.flatten(1), atol=1e-5, rtol=0)
    assert words == []
    order = reader.ranks("plant").argsort()[:, :9]
    assert favourites == [[reader.words[i] for i in row] for row in order]


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


def test_two_senses_by_keyboard_and_favourites_to_add(open_page):
    page = started(open_page())
    assert told(page).endswith("“steel” in the second sentence (head 0). Two heads, two tastes.")
    says = page.locator(".head p:not(.title)").all_inner_texts()
    assert [says[0], says[3]] == [
        "finds “garden”, the 7th favourite",
        "finds “steel”, the 5th favourite",
    ]
    rows = page.locator("tbody tr").all_inner_texts()
    assert len(rows) == 12
    assert rows[-1].split("\t") == ["2", "the word before", "the", "the"]
    page.keyboard.press("ArrowRight")
    assert told(page).startswith("“grew” finds “garden” in the first sentence (head ")
    assert page.locator(".head p").nth(2).inner_text() == "The second sentence has no “grew”."
    framed = page.locator(".words [aria-pressed=true]")
    page.locator("input").first.fill("the bat flew out of the dark cave")
    page.locator("input").last.fill("he hit the ball with his bat")
    assert framed.all_inner_texts() == ["bat", "bat"]  # the word that they share
    assert "no favourite of any head in the second" in told(page)
    page.get_by_role("button", name="cricket").press("Enter")
    assert page.locator("input").last.input_value().endswith(" bat cricket")
    assert "“cricket” in the second sentence (head 1)" in told(page)
    page.get_by_role("button", name="trunk").press("Enter")
    assert framed.all_inner_texts() == ["trunk", "trunk"]


def test_words_it_does_not_know_are_named(open_page):
    page = started(open_page())
    page.locator("input").first.fill("The WALRUS sat, <b> on: 7 banks")
    heard = page.locator(".heard").first
    assert "words: walrus, <, b, >, 7." in heard.inner_text()
    shown = page.locator(".words").first.locator("button").all_inner_texts()
    assert shown[:4] == ["the", "sat", ",", "on"]
    struck = page.locator(".words").first.locator("s")
    assert struck.all_inner_texts() == ["walrus", "<", "b", ">", "7"]
    page.locator("input").first.fill("the " * 30)
    assert "There is room for 14 words" in heard.inner_text()
    page.locator("input").first.fill("walrus " * 5000)
    assert "Type a word." in heard.inner_text()
    page.locator("input").last.fill("")
    assert told(page) == ""


def test_a_finger_picks_a_word_and_sees_its_heads(open_page):
    page = started(open_page(width=390))
    for row, word in ((".words button", "cars"), (".head.of-0 .strip > span", "made")):
        page.locator(row, has_text=word).tap()
        assert told(page).startswith(f"“{word}” finds ")
    page.get_by_role("button", name="trunk").tap()
    top, end = (page.locator(one).last.bounding_box()["y"] for one in (".buttons", ".strip"))
    assert end - top < 680  # what is said and both sentences stand on a phone's screen
