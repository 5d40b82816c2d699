"""The book's search, typed into in a real browser: what readers ask, and how the hits behave."""

from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
QUESTIONS = yaml.safe_load(Path(__file__).with_name("questions.yml").read_text(encoding="utf-8"))
ASKED = [(question, places) for group in QUESTIONS.values() for question, places in group.items()]
HITS = "found => found.map(a => [a.href, a.firstChild.textContent])"


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


def test_there_are_sixty_questions_and_more():
    sizes = {name: len(group) for name, group in QUESTIONS.items()}
    assert sizes == {"twenty": 20, "forty": 40, "more": 22}


@pytest.mark.parametrize(("question", "places"), ASKED, ids=[question for question, _ in ASKED])
def test_question_is_answered(search_page, book_url, question, places):
    hits = ask(search_page, question)
    assert any(answers(place, *hit, book_url) for place in places for hit in hits[:2]), hits[:5]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("is_causal", "is_causal"),
        ("average_attn_weights", "average_attn_weights"),
        ("batch_first", "batch_first"),
        ("key_padding_mask", "key_padding_mask"),
        ("padding mask", "key_padding_mask"),
        ("attn weights", "average_attn_weights"),
        ("causal_m", "causal_mask"),
        ("RoPE", "rotary"),
    ],
)
def test_names_are_found_whole_and_in_parts(search_page, typed, word):
    ask(search_page, typed)
    marked = search_page.locator("main .search-hits mark").all_text_contents()
    assert any(word.lower() in text.lower() for text in marked), marked


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("MultiHeadAttention", "book/api/#utils.attention.multi_head.MultiHeadAttention"),
        ("causal_mask", "book/api/#utils.attention.masks.causal_mask"),
        ("KeyValueCache", "book/api/#utils.attention.cache.KeyValueCache"),
        ("key_padding_mask", "book/symptoms#key-padding-mask"),
        ("mean pooling", "book/glossary#term-Mean-pooling"),
    ],
)
def test_what_has_the_name_comes_first(search_page, book_url, name, place):
    hits = ask(search_page, name)
    assert answers(place, *hits[0], book_url), hits[:3]


def test_excerpts_are_of_what_the_page_shows(search_page):
    """No name of a folded cell, no button of a figure, no source of a formula."""
    for question in ("one head cannot win", "heads", "softmax", "plot code", "enlarge", "set-up"):
        ask(search_page, question)
        for text in search_page.locator("main .search-hits li p").all_text_contents():
            for plumbing in ("Plot code", "Table code", "Set-up Set-up", "Enlarge", "\\frac", "<m"):
                assert plumbing not in text


def test_what_stands_nowhere_is_not_found(search_page):
    assert ask(search_page, "xylophone") == []
    assert "No section" in search_page.locator("main .search-hits [role=status]").inner_text()


def test_hits_are_sections_of_the_book(search_page, book_url):
    links = [link for link, _ in ask(search_page, "causal mask")]
    assert links
    for link in links:
        address, _, anchor = link.partition("#")
        assert address.startswith(book_url)
        answer = search_page.request.get(address)
        assert answer.ok, f"{link} leads nowhere"
        assert f'id="{anchor}"' in answer.text(), f"{link} leads to no section"


@pytest.mark.parametrize("width", [390, 1280])
def test_keyboard(browser, book_url, width):
    """From the field to a hit and back without a mouse; nothing is loaded before it is asked."""
    page = browser.new_page(viewport={"width": width, "height": 844})
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{book_url}notebooks/03-masks.html", wait_until="networkidle")
    assert not [url for url in loaded if "/pagefind/" in url or "searchindex" in url]

    page.locator("body").press("Control+k")
    hits = ask(page, "sinusoidal", "#pst-search-dialog")
    assert all(url.startswith((book_url, "blob:", "data:")) for url in loaded), loaded
    focused = "() => document.activeElement.href ?? document.activeElement.name"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == hits[0][0]
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "q"
    for _ in range(5):  # past the list's own box, where a browser stops at a box that scrolls
        page.keyboard.press("Tab")
        if page.evaluate(focused) == hits[0][0]:
            break
    assert page.evaluate(focused) == hits[0][0]
    width_needed = page.evaluate("document.querySelector('.search-hits').scrollWidth")
    assert width_needed <= page.evaluate("document.querySelector('.search-hits').clientWidth")
    page.keyboard.press("Escape")
    assert not page.locator("#pst-search-dialog").evaluate("dialog => dialog.open")
    page.keyboard.press("Control+k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(hits[0][0])
    page.close()


def test_keys_are_heard_before_the_scripts_are_here(browser, book_url):
    """Ctrl+K opens the field while the theme's script is missing; what is typed is answered."""
    page = browser.new_page()
    held = []
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
    page.route("**/_static/page.js*", lambda route: held.append(route))
    page.goto(f"{book_url}notebooks/03-masks.html", wait_until="commit")
    page.wait_for_selector("footer", state="attached")
    page.keyboard.press("Control+k")
    assert page.locator("#pst-search-dialog").evaluate("dialog => dialog.open")
    page.keyboard.type("sinusoidal")
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    page.wait_for_selector("#pst-search-dialog .search-hits li")
    page.keyboard.press("Control+k")
    assert not page.locator("#pst-search-dialog").evaluate("dialog => dialog.open")
    page.close()


def test_keys_lead_to_the_field_of_the_page_of_search(browser, book_url):
    page = browser.new_page()
    page.goto(f"{book_url}search.html")
    for _ in range(2):
        page.keyboard.press("Control+k")
        assert page.evaluate("document.activeElement.name") == "q"
        assert not page.locator("#pst-search-dialog").evaluate("dialog => dialog.open")
    page.close()


def test_question_in_the_address(browser, book_url):
    """Enter in the field of any page leads to the page of search, which answers."""
    page = browser.new_page()
    page.goto(f"{book_url}search.html?q=beam+search")
    page.wait_for_selector("main .search-hits li")
    assert page.input_value("main form.bd-search input") == "beam search"
    page.close()


def test_from_a_file(browser, book_html):
    """Without a server the index cannot be read; one sentence says so."""
    page = browser.new_page()
    page.goto((book_html / "search.html").as_uri())
    page.fill("main form.bd-search input", "mask")
    page.wait_for_selector("main .search-hits [role=status]:not(:empty)")
    assert "make serve" in page.locator("main .search-hits [role=status]").inner_text()
    page.close()


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_accessible(browser, book_url, width, mode):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=mode)
    page.goto(f"{book_url}search.html")
    ask(page, "causal mask")
    assert not axe.Axe().run(page).response["violations"]
    page.goto(f"{book_url}notebooks/03-masks.html")
    page.keyboard.press("Control+k")
    ask(page, "causal mask", "#pst-search-dialog")
    result = axe.Axe().run(page, context="#pst-search-dialog")
    assert not result.response["violations"]
    page.close()
