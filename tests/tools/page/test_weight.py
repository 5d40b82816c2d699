"""Pages let go of what they do not use, and keep what they do."""

from tools.page import weight

SCRIPT = '{rocket:[512,512,[],"f135","M1 2z"],pencil:[16,8,[9999,"pencil-alt"],"f303","M3 4z"]}'


def test_an_icon_is_drawn_under_its_name_and_under_an_old_one():
    style = weight.icons(["rocket", "pencil-alt", "solid"], SCRIPT)
    assert ".fa-rocket {" in style
    assert "d='M1 2z'" in style
    assert "d='M3 4z'" in style[style.index(".fa-pencil-alt {") :]
    assert "viewBox='0 0 16 8'" in style
    assert ".fa-solid {" not in style


def test_rules_for_classes_of_no_page_are_left_out():
    style = """.a{x:1} .b{x:2} .a.b,p .a>i{x:3} .a:not(.b){x:4} p{x:5}
        @media (min-width:1px){.b{x:6} .a{x:7}} @media print{.b{x:8}} @keyframes k{to{x:9}}"""
    left = weight.used_rules(style, {"a"})
    assert [n for n in range(1, 10) if f"x:{n}" in left] == [1, 3, 4, 5, 7, 9]
    assert ".a.b" not in left
    assert "print" not in left


def test_variables_that_nothing_reads_and_what_moves_icons_are_left_out():
    style = """p{--a:1;--b:url("x;y");color:red} i{--b:2} @keyframes fa-spin{to{x:1}}
        @keyframes k{to{x:2}} @font-face{font-family:"Font Awesome 6";src:url(f)} q{--a:3;}"""
    left = weight.used_rules(style, {"--a"})
    assert left.split() == ["p{--a:1;color:red}", "@keyframes", "k{to{x:2}}", "q{--a:3}"]


def test_a_page_keeps_only_the_scripts_that_it_needs():
    tags = (
        '<script src="../_static/design-tabs.js?v=1"></script>\n'
        '<script src="../searchindex.js"></script>\n'
        '<script defer src="../_static/scripts/bootstrap.js?digest=1"></script>\n'
        '<link rel="preload" as="script" href="../_static/scripts/bootstrap.js" />\n'
        "<script>let toggleHintShow = 'Click to show';</script>\n"
        "<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>\n"
        '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>'
    )
    assert weight.lighter(tags) == '<link rel="stylesheet" href="../_static/icons.css" />'
    assert "design-tabs.js" in weight.lighter(tags + '<div class="sd-tab-set"></div>')
    assert "searchindex.js" in weight.lighter(tags + '<div id="search-results"></div>')
    assert "toggleHintShow" in weight.lighter(tags + '<div class="toggle"></div>')
