"""Many files become one, and a page asks for that."""

from tools.page import bundle


def test_files_are_joined_in_their_order(tmp_path):
    (tmp_path / "styles").mkdir()
    (tmp_path / "styles" / "a.css").write_text('@charset "UTF-8";a{src:url("../v/f.woff2")}')
    (tmp_path / "b.1f.css").write_text('@import "../a.css";\nb{src:url(m/g.woff2)}')
    (tmp_path / "c.js").write_text("(() => 1)()\n//# sourceMappingURL=c.js.map\n")
    (tmp_path / "d.js").write_text("let d = 1;")
    style = bundle.joined(tmp_path, ["styles/a.css", "b.*.css", "missing.css"])
    assert style == 'a{src:url("v/f.woff2")}\nb{src:url(m/g.woff2)}'
    assert bundle.joined(tmp_path, ["c.js", "d.js"]) == "(() => 1)();\nlet d = 1;"
    first = bundle.write(tmp_path, "page.js", ["c.js", "d.js"])
    assert (tmp_path / "page.js").read_text() == "(() => 1)();\nlet d = 1;"
    assert first != bundle.write(tmp_path, "page.js", ["d.js"])


def test_a_page_asks_once_where_it_asked_first():
    page = (
        '<link href="../_static/styles/a.css?digest=1" rel="stylesheet" />\n'
        '<link rel="stylesheet" href="../_static/landing.css?v=1" />\n'
        '  <link rel="stylesheet" href="../_static/b.1f.css" />\n<p>'
    )
    asked = bundle.asks_for(page, ["styles/a.css", "b.*.css"], "page.css?v=2", "<one {}>")
    assert asked == (
        "<one ../_static/page.css?v=2>\n"
        '<link rel="stylesheet" href="../_static/landing.css?v=1" />\n<p>'
    )
    assert bundle.asks_for(asked, ["styles/a.css", "b.*.css"], "page.css", "<one {}>") == asked
