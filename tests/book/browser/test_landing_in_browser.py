"""The landing page in a real browser: its first screen, its map, what a shared link shows."""

import struct
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
PARTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
CHAPTERS = [
    chapter["file"]
    for part in PARTS
    for chapter in part["chapters"]
    if chapter["file"].startswith("notebooks/")
]
TITLE = "Multi-Head Attention, Measured"
FIRST = ["h1", ".hero-words > p:first-child", ".start", ".colab", ".hero-picture"]


@pytest.fixture
def landing(browser, book_url):
    """Open the page at a width, light or dark, on the screen or on paper."""
    opened = []

    def open_page(width=1280, height=900, mode="light", media="screen"):
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, screen=size, color_scheme=mode)
        opened.append(context)
        page = context.new_page()
        page.goto(f"{book_url}book/intro.html")
        page.emulate_media(media=media, color_scheme=mode)
        return page

    yield open_page
    for context in opened:
        context.close()


def boxes(page, selector):
    return [found.bounding_box() for found in page.locator(f"article {selector}").all()]


def inside(box, width, height):
    return (
        box is not None
        and min(box["x"], box["y"]) >= 0
        and box["width"] * box["height"] > 0
        and box["x"] + box["width"] <= width
        and box["y"] + box["height"] <= height
    )


def test_the_first_screen_of_a_desk_holds_all_that_moves_one_to_read(landing):
    page = landing()
    for selector, count in {**dict.fromkeys(FIRST, 1), ".findings li": 3}.items():
        found = boxes(page, selector)
        assert len(found) == count, selector
        assert all(inside(box, 1280, 900) for box in found), (selector, found)


def test_the_first_screen_of_a_phone_holds_sentence_buttons_and_picture(landing):
    page = landing(390, 844)
    for selector in FIRST:
        (box,) = boxes(page, selector)
        assert inside(box, 390, 844), (selector, box)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_live_heads_are_those_of_chapter_4(landing, book_html, width):
    page = landing(width)
    figure = page.locator("article [data-live=heads].begun")
    assert figure.locator(".panel").count() == 4
    assert figure.locator(".picks button").all_inner_texts() == ["can", "you", "can", "that"]
    figure.locator(".picks button").nth(2).click()
    assert "can (3) is hidden" in figure.locator("[role=status]").inner_text()
    sizes = figure.locator(".head").evaluate_all("all => all.map(e => e.clientHeight)")
    assert max(sizes) < 40, "no class of the theme is met by accident"
    shown = [
        (book_html / f"{name}.html").read_text(encoding="utf-8").count('data-live="heads"')
        for name in ("book/intro", "notebooks/04-naive-multi-head")
    ]
    assert shown == [1, 1]


def test_the_live_heads_add_less_than_300_kilobytes(book_html):
    html = (book_html / "book" / "intro.html").read_text(encoding="utf-8")
    assert len(html.encode()) < 360_000, "all of the page, with its text, map and pictures"


def test_the_buttons_open_chapter_1_here_and_in_colab(landing):
    page = landing()
    first = CHAPTERS[0]
    assert page.locator(".start").evaluate("a => a.href").endswith(f"/course/{first}.html")
    colab = page.locator(".colab").get_attribute("href")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    project = urlsplit(config["repository"]["url"]).path
    assert colab == f"https://colab.research.google.com/github{project}/blob/main/{first}.ipynb"


def test_the_title_is_said_once_and_a_shared_link_has_a_card(landing, book_html):
    page = landing()
    assert page.title() == TITLE
    told = dict(
        page.eval_on_selector_all(
            "meta[content]",
            "all => all.map(m => [m.getAttribute('property') || m.name, m.content])",
        )
    )
    assert told["og:title"] == TITLE
    assert told["description"] == told["og:description"]
    assert told["description"].startswith("Write multi-head attention yourself")
    assert told["twitter:card"] == "summary_large_image"
    assert TITLE in told["og:image:alt"]
    card = book_html / "_static" / told["og:image"].rpartition("/_static/")[2]
    size = struct.unpack(">II", card.read_bytes()[16:24])
    assert size == (1200, 630)
    assert size == (int(told["og:image:width"]), int(told["og:image:height"]))


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_described_by_one_sentence_of_its_own(browser, book_url, name):
    page = browser.new_page()
    page.goto(f"{book_url}{name}.html")
    found = page.locator("meta[name=description]")
    assert found.count() == 1
    told = found.get_attribute("content")
    assert 40 <= len(told) <= 300
    assert told[-1] in ".?!"
    assert "Colab" not in told
    assert told == page.locator("meta[property='og:description']").get_attribute("content")
    assert page.title().endswith(TITLE)
    assert page.title() != TITLE
    page.close()


def test_every_chapter_has_a_tile_with_a_picture_of_its_own(landing):
    page = landing()
    found = page.eval_on_selector_all(
        ".tile",
        """tiles => tiles.map(a => [new URL(a.href).pathname, a.innerText,
            a.querySelector('svg').innerHTML, a.querySelector('svg').ariaLabel])""",
    )
    assert [path.removeprefix("/course/") for path, *_ in found] == [f"{c}.html" for c in CHAPTERS]
    for (path, text, *_), name in zip(found, CHAPTERS, strict=True):
        number = name.removeprefix("notebooks/").partition("-")[0].lstrip("0")
        assert text.split()[0] == number, path
        assert page.get_by_role("link", name=text, exact=True).count() == 1
    for pictures in zip(*(rest for _, _, *rest in found), strict=True):
        assert len(set(pictures)) == len(CHAPTERS)
        assert all(pictures)


def test_a_finding_leads_to_the_chapter_that_it_names(landing):
    page = landing()
    for link in page.locator(".findings a").all():
        number = link.locator("em").inner_text().removeprefix("Chapter ")
        assert f"/notebooks/{number:0>2}-" in link.evaluate("a => a.href")


# What is behind a text is the nearest ground that is not transparent.
CONTRAST = r"""() => {
    const canvas = document.createElement('canvas').getContext('2d');
    const parts = colour => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return canvas.getImageData(0, 0, 1, 1).data;
    };
    const light = colour => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) => {
        const c = parts(colour)[i] / 255;
        return sum + share * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    }, 0);
    const ground = e => {
        for (; e; e = e.parentElement) {
            const colour = getComputedStyle(e).backgroundColor;
            if (parts(colour)[3] === 255) return colour;
        }
        return 'white';
    };
    const own = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    const texts = [...document.querySelectorAll(
        'article :is(h1, .hero *, .findings *, .map *)'
    )].filter(e => own(e) && e.checkVisibility());
    return texts.map(e => {
        const style = getComputedStyle(e);
        const [a, b] = [light(e.closest('svg') ? style.fill : style.color), light(ground(e))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent];
    });
}"""


@pytest.mark.parametrize(
    ("mode", "media"),
    [("light", "screen"), ("dark", "screen"), ("light", "print"), ("dark", "print")],
)
def test_every_text_can_be_read(landing, mode, media):
    found = landing(mode=mode, media=media).evaluate(CONTRAST)
    assert len(found) > 40
    assert not [(round(ratio, 2), text) for ratio, text in found if ratio < 4.5]


def test_on_paper_a_dark_page_is_as_light_as_a_light_one(landing):
    colour = "e => getComputedStyle(e).fill"
    inks = [
        landing(mode=mode, media="print").locator(".hero-picture text.token").first.evaluate(colour)
        for mode in ("light", "dark")
    ]
    assert inks[0] == inks[1]


LABELS = """() => [...document.querySelectorAll('article svg text')].map(
    e => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a)"""
WIDE = """() => [...document.querySelectorAll('article *')]
    .filter(e => e.checkVisibility() && !e.closest('pre') &&
        e.getBoundingClientRect().right > screen.width + 1).map(e => e.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_labels_targets_and_widths(landing, width):
    page = landing(width)
    labels = page.evaluate(LABELS)
    assert len(labels) >= 11
    assert min(labels) >= 11
    assert not page.evaluate(WIDE)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    targets = boxes(page, ":is(.buttons a, .findings a, .tile, .pages a)")
    assert len(targets) >= 5 + len(CHAPTERS)
    assert min(min(box["width"], box["height"]) for box in targets) >= 24


def test_what_the_map_and_the_figures_show_is_said_too(landing):
    page = landing()
    for picture in page.locator("article :is(.hero, .map) svg").all():
        assert picture.get_attribute("role") == "img"
        assert len(picture.get_attribute("aria-label")) > 20
    assert "0.50" in page.locator(".hero-picture").get_attribute("aria-label")


def test_no_other_page_carries_the_style_of_this_one(browser, book_url, landing):
    style = "link[href*='landing.css']"
    assert landing().locator(style).count() == 1
    page = browser.new_page()
    page.goto(f"{book_url}book/glossary.html")
    assert page.locator(style).count() == 0
    page.close()
