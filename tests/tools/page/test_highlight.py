"""Code keeps the marks that have a colour, and loses the others."""

from tools.page import highlight


def block(code):
    return f'<div class="highlight"><pre>{code}</pre></div>'


def test_what_says_nothing_is_taken_off_and_what_follows_is_joined():
    code = (
        '<span></span><span class="k">def</span> <span class="nf">x</span><span class="p">(</span>'
    )
    code += '<a href="#"><span class="n">y</span></a><span class="p">):</span>\n'
    code += '<span class="ow">not</span> <span class="ow">in</span> <span class="mi">1</span>'
    code += '<span class="sa">f</span><span class="s2">&quot;</span><span class="c1"># z</span>'
    assert highlight.plainer(block(code)) == block(
        '<span class="k">def</span> <span class="nf">x</span>(<a href="#">y</a>):\n'
        '<span class="k">not in</span> <span class="m">1</span>'
        '<span class="s">f&quot;</span><span class="c"># z</span>'
    )


def test_marks_outside_of_code_stay():
    signature = '<span class="n">x</span>'
    assert highlight.plainer(signature) == signature


def test_the_stylesheet_knows_five_colours():
    lines = [
        'html[data-theme="light"] .highlight { background: #fff }',
        'html[data-theme="light"] .highlight .c { color: #667 } /* Comment */',
        'html[data-theme="light"] .highlight .c1 { color: #667 } /* Comment.Single */',
        'html[data-theme="light"] .highlight .n { color: #622 } /* Name */',
        'html[data-theme="dark"] .highlight .nf { color: #92c } /* Name.Function */',
    ]
    left = highlight.colours("\n".join(lines)).splitlines()
    assert left == [lines[0], lines[1], lines[4]]
