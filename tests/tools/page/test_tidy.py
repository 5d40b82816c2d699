"""The markup of others is mended."""

from tools.page import tidy


def test_a_fold_is_called_what_it_shows_and_once():
    fold = (
        '<summary aria-label="Toggle hidden content">\n<p class="collapsed admonition-title">Plot'
        '</p>\n<p class="expanded admonition-title">Plot</p>\n</summary>'
    )
    assert tidy.tidy(fold) == '<summary>\n<p class="admonition-title">Plot</p>\n</summary>'
    other = fold.replace('expanded admonition-title">Plot', 'expanded admonition-title">Hide')
    assert "collapsed" in tidy.tidy(other)
    assert "expanded" in tidy.tidy(other)


def test_a_fold_of_the_sidebar_has_a_name():
    fold = '<summary><span class="toctree-toggle" role="presentation"></span></summary>'
    assert tidy.tidy(fold).startswith('<summary aria-label="Pages of this part"><span')


def test_an_empty_corner_is_no_heading():
    row = '<tr style="x">\n<th></th>\n<th class="head"><p></p></th>\n<th>time</th></tr>'
    assert tidy.tidy(row) == (
        '<tr style="x">\n<td></td>\n<td class="head"></td>\n<th>time</th></tr>'
    )
    assert tidy.tidy("<thead></thead>") == "<thead></thead>"


def test_roles_and_names_that_mislead_are_taken_off():
    entry = '<div role="list" class="citation-list">\n'
    entry += '<div class="citation" id="id7" role="doc-biblioentry">'
    assert tidy.tidy(entry) == '<div class="citation-list">\n<div class="citation" id="id7">'
    switch = '<i class="theme-switch fa-moon fa-lg" data-mode="dark"  title="Dark"></i>'
    assert "title" not in tidy.tidy(switch)
    sidebar = '<div id="pst-primary-sidebar" class="bd-sidebar">'
    assert 'role="complementary"' in tidy.tidy(sidebar)


def test_parameters_are_no_definitions():
    line = '<em class="sig-param"><span class="n">{}</span></em>,'
    lines = [line.format(name) for name in "xy"]
    signature = (
        '<dl class="py"><dt><span class="sig-paren">(</span>\n<dl>\n<dd>{}</dd>\n<dd>{}</dd>'
    )
    signature += '\n</dl>\n<span class="sig-paren">)</span></dt><dd>It adds.</dd></dl>'
    mended = tidy.tidy(signature.format(*lines))
    assert all(f'<span class="parameter">{one}</span>' in mended for one in lines)
    assert mended.count("<dl") == mended.count("</dl>") == mended.count("<dd>") == 1


def test_a_style_stands_once_on_a_page():
    page = "<style>a{}</style><p><style scoped>b{}</style><style>a{}</style>"
    assert tidy.tidy(page) == "<style>a{}</style><p><style scoped>b{}</style>"
