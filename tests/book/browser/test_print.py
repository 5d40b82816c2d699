"""Two chapters as paper shows them, opened in light and in dark mode."""

import pytest

pytestmark = pytest.mark.slow
WIDTH = 680  # pixels of A4 between its margins

# What is wrong, as sentences.
ON_PAPER = """() => {
    const seen = e => e.checkVisibility();
    const all = s => [...document.querySelectorAll(s)].filter(seen);
    const light = c => c.match(/[\\d.]+/g).slice(0, 3).every(n => n > 200);
    const wide = all('.bd-article :is(pre, table, img, svg)')
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1
            || (e.tagName === 'PRE' && e.scrollWidth > e.clientWidth + 1));
    const dark = all('body, .bd-article pre').filter(e => {
        const { backgroundColor: c } = getComputedStyle(e);
        return !c.endsWith(', 0)') && !light(c);
    });
    const pale = all('.bd-article :is(p, li, h1, h2, pre, pre span)')
        .filter(e => light(getComputedStyle(e).color));
    const closed = [...document.querySelectorAll('.bd-article .tag_solution .cell_input')]
        .filter(e => !seen(e) || !e.getBoundingClientRect().height);
    const clicks = all('button, .bd-sidebar-primary, .bd-sidebar-secondary, .headerlink');
    const say = what => e => `${what}: ${e.outerHTML.slice(0, 150)}`;
    return [
        ...wide.map(say('wider than the paper')), ...dark.map(say('dark ground')),
        ...pale.map(say('pale words')), ...closed.map(say('a solution is closed')),
        ...clicks.map(say('asks for a click')),
    ].slice(0, 10);
}"""


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["05-efficient-multi-head", "09-reading-attention"])
def test_on_paper(browser, book_url, name, mode):
    page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme=mode)
    page.goto(f"{book_url}notebooks/{name}.html", wait_until="load")
    assert page.locator("html").get_attribute("data-theme") == mode
    assert page.locator(".tag_solution").count()
    page.emulate_media(media="print", color_scheme=mode)
    assert page.evaluate(ON_PAPER) == []
    page.close()


def test_what_is_to_be_touched_is_not_offered_on_paper(browser, book_url):
    page = browser.new_page()
    page.goto(f"{book_url}notebooks/03-masks.html", wait_until="load")
    invitation = page.locator(".try-it", has_text="On the page")
    assert invitation.is_visible()
    page.emulate_media(media="print")
    assert not invitation.is_visible()
    page.close()
