"""One browser and one built book for all tests of pages.

The browser is found, or named in CHROMIUM; without one they skip. The book is built from the tree,
or taken from the folder in BOOK_HTML.
"""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(
            "no browser found: install Chromium, or name one in the environment variable CHROMIUM"
        )
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install -e .[dev]"
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def book_html(
    browser, tmp_path_factory
):  # the browser comes first: without one there is no need to build
    if built := os.environ.get("BOOK_HTML"):
        return Path(built).resolve()
    output = tmp_path_factory.mktemp("book")
    command = [
        Path(sys.executable).with_name("jupyter-book"),
        "build",
        ROOT,
        "--path-output",
        output,
    ]
    run = subprocess.run(
        [*command, "-W", "--keep-going"],
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


@pytest.fixture
def open_file(browser):
    """Open a saved page: no request may leave it or its folder, nothing may be complained of."""
    opened, problems = [], []

    def open_file(address, width=1000, scripts=True, theme="light", motion=None, folder=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            has_touch=width < 500,
            java_script_enabled=scripts,
            color_scheme=theme,
            reduced_motion=motion,
        )
        opened.append(context)
        page = context.new_page()

        def complain(line):
            if not line.text.startswith("Failed to load resource"):  # requests are looked at below
                problems.append(line.text)

        def look_at(request):
            if not (folder and request.url.startswith(folder)) and request.url != address:
                problems.append(request.url)

        page.on("console", complain)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", look_at)
        page.goto(address)
        if scripts:
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        return page

    yield open_file
    for context in opened:
        context.close()
    assert not problems


@pytest.fixture
def violations():
    """Give a function that says what axe finds wrong in a page: rules, and the first elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def find(page):
        found = axe.run(page).response["violations"]
        return [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]

    return find


@pytest.fixture
def too_small():
    """Give a function that counts the controls of a live figure too small for a thumb."""

    def count(page):
        return page.locator(".stage :is(button, select, textarea, input)").evaluate_all(
            """all => all.map(e => e.getBoundingClientRect()).filter(
                box => box.width < 24 || box.height < 24).length"""
        )

    return count
