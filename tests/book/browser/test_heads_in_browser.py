"""The heads in the page: weights as in utils.attention, words, keyboard, the asking."""

import pytest
import torch

from chapters.live.heads import PAIRS, SCRIPT, SMALL, Reader, kept, live_heads, told

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


def lines(page, side):
    return page.locator(f".head > div:nth-of-type({side}) > p").all_inner_texts()


def test_it_serves_everybody(serves_everybody, folder):
    serves_everybody(folder / "book" / "page.html", started, folder)


def test_weights_are_those_of_the_layer(open_page):
    page, reader = started(open_page()), Reader(kept())
    run = """([text, small]) => {
        const reader = new Reader(globalThis.courseHeads, small);
        const { words } = reader.split(text);
        return [words, reader.weights(words).map(({ data }) => [...data])];
    }"""
    for text in (PAIRS["plant"][0], "“Don’t” said the café, “open it; I will!”", ""):
        words, found = page.evaluate(run, [text, SMALL])
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


def test_every_head_says_where_its_weight_goes(open_page):
    page, reader = started(open_page()), Reader(kept())
    shown = page.locator(".others [aria-pressed=true]")
    assert shown.all_inner_texts() == ["0", "1", "10"]
    assert page.locator(".head b").last.inner_text() == "Head 2 for “plant”: the word before"
    for head in range(12):
        page.locator(".others button").nth(head).press("Enter")
        place = [10, 0].index(head) if head in (10, 0) else 2
        for side, sentence in enumerate(PAIRS["plant"], 1):
            says = lines(page, side)
            for one, at in ((head, place), (2, 3)):
                assert says[at] == told(reader.ask("plant", sentence), one)
    page.locator(".others button").last.press("Enter")  # no longer asked for
    assert shown.all_inner_texts() == ["0", "1", "10"]


def test_two_senses_by_keyboard(open_page):
    page = started(open_page())
    page.keyboard.press("ArrowRight")
    assert lines(page, 2) == ["The second sentence has no “grew”.", *[""] * 3]
    framed = page.locator(".words [aria-pressed=true]")
    page.locator("input").first.fill("the bark of the tree")
    assert lines(page, 1)[0] == "most on “tree”, 0.78"  # though “bark” stands in one alone
    page.locator("input").last.fill("my dog has a loud bark")
    assert framed.all_inner_texts() == ["bark", "bark"]  # the word that they share
    assert lines(page, 1)[0] == "most on “tree”, 0.78"
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
    assert lines(page, 2)[0].startswith("The second sentence has no ")


def test_a_finger_picks_a_word_and_sees_its_heads(open_page):
    page = started(open_page(width=390))
    for row, word in ((".words button", "cars"), (".head .strip > span", "made")):
        page.locator(row, has_text=word).first.tap()
        assert lines(page, 1)[0] == f"The first sentence has no “{word}”."
    page.get_by_role("button", name="trunk").tap()
    top = page.locator(".words").first.bounding_box()["y"]
    end = page.locator(".strip").last.bounding_box()
    assert end["y"] + end["height"] - top < 700  # words, strips and lines on a phone's screen
