"""One browser and one built book for all tests of pages, in one worker.

The browser is found, or named in CHROMIUM; without one they skip. The book is built from the tree,
or taken from the folder in BOOK_HTML.
"""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tools.ebook.pdf import NoBrowser, find_browser

ROOT = Path(__file__).resolve().parents[3]
FLAGS = ("--disable-gpu", "--disable-quic", "--disable-sync")  # beside those of playwright
STATIC = ROOT / "book" / "_static"
PAGE = """<!doctype html><html lang="en" data-content_root="../"><meta charset="utf-8">
<title>Saved</title><meta name="viewport" content="width=device-width">
<style>html {{ color-scheme: light dark; background: Canvas }}</style><style>{style}</style>
<main><h1>Saved</h1>{shown}</main><script>{script}</script></html>"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("browser")
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def browser():
    try:
        path = find_browser()
    except NoBrowser as lack:
        pytest.skip(str(lack))
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install -e .[dev]")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def book_html(browser, tmp_path_factory):  # without a browser there is no need to build
    if built := os.environ.get("BOOK_HTML"):
        return Path(built).resolve()
    output = tmp_path_factory.mktemp("book")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT]
    run = subprocess.run(
        [*command, "--path-output", output, "-W", "--keep-going"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, f"the book does not build without warnings:\n{run.stdout[-6000:]}"
    return output / "_build" / "html"


@pytest.fixture(scope="session")
def book_url(book_html, tmp_path_factory):
    """Serves the book in a folder below the server's root, as GitHub Pages does."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    served = tmp_path_factory.mktemp("served")
    (served / "course").symlink_to(book_html, target_is_directory=True)
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=served)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/course/"
        server.shutdown()


@pytest.fixture(scope="session")
def save(tmp_path_factory):
    """Save what is shown as a page of its own in an empty folder, and give the file."""

    def save(shown, script="", folder=None):
        style = (STATIC / "figures.css").read_text("utf-8")
        file = (folder or tmp_path_factory.mktemp("saved")) / "page.html"
        file.write_text(PAGE.format(style=style, shown=shown, script=script), encoding="utf-8")
        return file

    return save


@pytest.fixture
def open_file(browser):
    """Open a saved page: no request may leave it or its folder, nothing may be complained of."""
    opened, problems = [], []

    def open_file(file, width=1000, scripts=True, motion="reduce", folder=None):
        address = file.as_uri()
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            has_touch=width < 500,
            java_script_enabled=scripts,
            color_scheme="light",
            reduced_motion=motion,
        )
        opened.append(context)
        page = context.new_page()

        def complain(line):
            if not line.text.startswith("Failed to load resource"):  # requests are looked at below
                problems.append(line.text)

        def look_at(request):
            if not (folder and request.url.startswith(folder.as_uri())) and request.url != address:
                problems.append(request.url)

        page.on("console", complain)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", look_at)
        page.goto(address)
        return page

    yield open_file
    for context in opened:
        context.close()
    assert not problems


# Marks the first text of each look, so that contrast need not be reckoned for every letter.
LOOKS = """() => {
    const ground = e => {
        for (; e; e = e.parentElement) {
            const colour = getComputedStyle(e).backgroundColor;
            if (!colour.endsWith(', 0)')) return colour;
        }
    };
    const speaks = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
        || e.matches('input, select, textarea');
    const seen = new Set();
    for (const e of document.body.querySelectorAll('*')) {
        delete e.dataset.look;
        if (!speaks(e) || !e.checkVisibility()) continue;
        const { color, fontSize, fontWeight, opacity } = getComputedStyle(e);
        const look = [color, ground(e), fontSize, fontWeight, opacity].join();
        if (!seen.has(look)) e.dataset.look = '';
        seen.add(look);
    }
    return Promise.all(document.getAnimations().map(one => one.finished));
}"""
AXE = """async ([where, contrast]) => {
    const all = { rules: { 'color-contrast': { enabled: false } } };
    const options = contrast ? { runOnly: ['color-contrast'] } : all;
    const { violations } = await axe.run(where, { ...options, resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(n => n.html)]);
}"""


@pytest.fixture(scope="session")
def violations():
    """Give a function that says what axe finds wrong in a page: rules, and the first elements."""
    script = pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script

    def violations(page, where="html", contrast_alone=False):
        if page.evaluate("!globalThis.axe"):
            page.evaluate(script)
        page.evaluate(LOOKS)
        found = page.evaluate(AXE, [f"{where} [data-look]", True])
        return found if contrast_alone else found + page.evaluate(AXE, [where, False])

    return violations


FITS = """() => [
    Math.max(0, document.scrollingElement.scrollWidth - screen.width),
    ...[...document.querySelectorAll('.stage :is(button, select, textarea, input)')].filter(e => {
        const { width, height } = e.getBoundingClientRect();
        return e.checkVisibility() && (width < 24 || height < 24);
    }).map(e => e.outerHTML),
]"""  # the pixels by which a page is too wide, and the controls too small for a thumb


@pytest.fixture
def serves_everybody(open_file, violations):
    """Look at a saved live figure as everybody may meet it, before and after it is used."""

    def look(file, use, folder=None):
        page = open_file(file, scripts=False)
        assert page.locator(".stage, main button").count() == 0
        for width, shown in ((1000, ".wide svg"), (390, ".narrow svg")):
            page.set_viewport_size({"width": width, "height": 900})
            pictures = page.locator(f"figure {shown}").all()
            assert pictures
            assert all(picture.is_visible() for picture in pictures)
        sizes = page.locator("figure").evaluate_all("all => all.map(e => e.outerHTML.length)")
        assert max(sizes) < 320_000

        page = open_file(file, folder=folder)
        for step in (lambda page: None, use):
            step(page)
            for width in (320, 390, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate(FITS) == [0], width
            assert not violations(page)
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        page.emulate_media(color_scheme="dark")
        assert not violations(page, contrast_alone=True)
        assert not page.locator("figure .wide > svg:visible").count()
        page.emulate_media(media="print")
        assert not page.locator(".stage:visible").count()
        assert page.locator("figure .wide > svg:visible").count() == page.locator("figure").count()

    return look
