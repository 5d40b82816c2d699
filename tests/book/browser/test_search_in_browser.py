"""The book's search, typed into in a real browser: what readers ask, and how the hits behave."""

from pathlib import Path

import pytest
import yaml

QUESTIONS = yaml.safe_load(Path(__file__).with_name("questions.yml").read_text(encoding="utf-8"))
HITS = "found => found.map(a => [a.href, a.firstChild.textContent])"
FOCUSED = "() => document.activeElement.href ?? document.activeElement.name"


def answers(place, link, title, book_url):
    """Whether a hit leads to a place: a page (or a folder of pages), or a part of it."""
    page, _, part = place.partition("#")
    address, _, anchor = link.removeprefix(book_url).partition("#")
    there = address.startswith(page) if page.endswith("/") else address == f"{page}.html"
    return there and (part.lower() in anchor.lower() or part.lower() in title.lower())


def ask(page, question, where="main"):
    """Type a question, and give each hit's link and title."""
    page.fill(f"{where} form.bd-search input", question)
    page.wait_for_function(
        "([where, asked]) => document.querySelector(`${where} .search-hits`)"
        ".dataset.answers === asked",
        arg=[where, question],
    )
    return page.eval_on_selector_all(f"{where} .search-hits li > a", HITS)


@pytest.fixture(scope="module")
def search_page(browser, book_url):
    page = browser.new_page()
    page.goto(f"{book_url}search.html")
    yield page
    page.close()


@pytest.mark.parametrize("group", QUESTIONS)
def test_questions_are_answered_by_the_first_hits(search_page, book_url, group):
    failed, first = {}, 3 if group == "plain" else 2
    for question, places in QUESTIONS[group].items():
        hits = ask(search_page, question)
        if not any(answers(place, *hit, book_url) for place in places for hit in hits[:first]):
            failed[question] = hits[:4]
    assert not failed


def test_from_any_page_by_keyboard(browser, book_url, violations):
    """From the field to a hit and back without a mouse; nothing is loaded before it is asked."""
    page, loaded, where = browser.new_page(), [], "#pst-search-dialog"
    page.set_viewport_size({"width": 390, "height": 844})
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{book_url}notebooks/05-masks.html", wait_until="networkidle")
    assert not [url for url in loaded if "/pagefind/" in url or "searchindex" in url]
    page.keyboard.press("Control+k")
    hits = ask(page, "sinusoidal", where)
    assert all(url.startswith((book_url, "blob:", "data:")) for url in loaded), loaded
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED) == hits[0][0]
    page.keyboard.press("ArrowUp")
    assert page.evaluate(FOCUSED) == "q"
    for _ in range(5):  # past the list's own box, where a browser stops at a box that scrolls
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == hits[0][0]:
            break
    assert page.evaluate(FOCUSED) == hits[0][0]
    fits = "e => e.scrollWidth <= e.clientWidth"
    assert page.locator(f"{where} .search-hits").evaluate(fits)
    assert not violations(page, where)
    page.emulate_media(color_scheme="dark")
    page.locator("html[data-theme=dark]").wait_for()
    assert not violations(page, where, contrast_alone=True)
    page.keyboard.press("Escape")
    assert not page.locator(where).evaluate("dialog => dialog.open")
    page.keyboard.press("Control+k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(hits[0][0])
    page.close()


def test_the_page_of_search(browser, book_html, book_url, violations):
    """It answers what stands in its address, and says where it cannot."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{book_url}search.html?q=beam+search")
    page.wait_for_selector("main .search-hits li")
    assert page.input_value("main form.bd-search input") == "beam search"
    page.keyboard.press("Control+k")
    assert page.evaluate(FOCUSED) == "q"
    assert not page.locator("#pst-search-dialog").evaluate("dialog => dialog.open")
    assert not violations(page)
    page.goto((book_html / "search.html").as_uri())  # without a server there is no index
    page.fill("main form.bd-search input", "mask")
    page.wait_for_selector("main .search-hits [role=status]:not(:empty)")
    assert "make serve" in page.locator("main .search-hits [role=status]").inner_text()
    page.close()
