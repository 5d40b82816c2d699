"""Weight: once the pages are written, they let go of what the theme loads and they do not use.

- Icons: the theme's script of two thousand icons, 1.5 MB, becomes a stylesheet with those that the
  pages show.
- Styles: rules for classes that no page and no script names are left out.
- Scripts and styles of extensions stay only on the pages that have something for them.
- Bootstrap's script, 81 KB, opened two menus: ``course.js`` does.
- What all pages load is one stylesheet and one script: see ``bundle``. Code has fewer marks: see
  ``highlight``. Markup is mended: see ``tidy``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote

import tinycss2
from sphinx.application import Sphinx

from tools.page import bundle, highlight, tidy

ICON_SCRIPT = "scripts/fontawesome.js"
ICON_CLASS = re.compile(r"\bfa-([a-z0-9-]+)")
ICON = r'[{{,]"?{name}"?:\[(?P<wide>\d+),(?P<high>\d+),(?P<aliases>\[[^\]]*\]),"\w+","(?P<d>[^"]*)"'
CLASS = re.compile(r"\.((?:\\.|[\w-])+)")
OF_ICONS = re.compile(r"@keyframes fa-|@font-face\s*\{[^}]*Font Awesome")
OPTIONAL = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")
TOGGLE = re.compile(r'class="(?:[^"]* )?toggle[ "]')
READ = re.compile(r"var\(\s*(--[\w-]+)")
# Scripts in the page itself: what the toggle button reads, and what nothing reads.
INLINE = re.compile(r"[ \t]*<script>(?:let toggle|var togglebutton)[^<]*</script>\n?")
OPTION = re.compile(r"[ \t]*<script>DOCUMENTATION_OPTIONS\.[^<]*</script>\n?")
# A file of _static, and what a page that needs it holds.
NEEDED_BY: dict[str, Callable[[str], bool]] = {
    "scripts/bootstrap.js": lambda page: False,
    "design-tabs.js": lambda page: "sd-tab-set" in page,
    "sphinx-design.min.css": lambda page: re.search(r'class="[^"]*\bsd-', page) is not None,
    "togglebutton.js": lambda page: TOGGLE.search(page) is not None,
    "togglebutton.css": lambda page: TOGGLE.search(page) is not None,
    "searchtools.js": lambda page: 'id="search-results"' in page,
    "language_data.js": lambda page: 'id="search-results"' in page,
    "searchindex.js": lambda page: 'id="search-results"' in page,
}
SHOWN = """
:is(.fa-solid, .fas, .fa-regular, .far, .fa-brands, .fab) {
  display: inline-block; width: 1em; height: 1em; background: currentColor;
  vertical-align: -0.125em; -webkit-mask: var(--icon) center / contain no-repeat;
  mask: var(--icon) center / contain no-repeat; forced-color-adjust: preserve-parent-color;
}
:is(.fa-solid, .fas, .fa-regular, .far, .fa-brands, .fab)::before { content: none !important; }
a.github::before { content: none; }
.fa-lg { font-size: 1.25em; vertical-align: -0.2em; }
"""


def icons(names: Iterable[str], script: str) -> str:
    """Give the stylesheet that shows some of Font Awesome's icons.

    Parameters
    ----------
    names : names of icons, such as "rocket"; other names are passed over
    script : str, the text of Font Awesome's script, which holds the drawing of each icon
    """
    rules = [SHOWN]
    for name in sorted(set(names)):
        known = re.search(ICON.format(name=re.escape(name)), script)
        if known is None:  # an old name, which stands beside the new one
            known = re.search(
                rf'\[(?P<wide>\d+),(?P<high>\d+),\[[^\]]*"{re.escape(name)}"[^\]]*\],"\w+",'
                r'"(?P<d>[^"]*)"',
                script,
            )
        if known:
            picture = (
                f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {known['wide']} "
                f"{known['high']}'><path d='{known['d']}'/></svg>"
            )
            address = quote(picture, safe=" =:/'")
            rules.append(f'.fa-{name} {{ --icon: url("data:image/svg+xml,{address}"); }}')
    return "\n".join(rules)


def used_rules(style: str, words: set[str]) -> str:
    """Leave out of a stylesheet what no page uses.

    That is a rule that needs a class of another name, a variable that nothing reads, and the fonts
    and movements of icons.

    Parameters
    ----------
    style : str, a stylesheet
    words : every name that a class may have, and with two dashes before it that of each variable
    """
    nodes = tinycss2.parse_stylesheet(style, skip_comments=True, skip_whitespace=True)
    return "\n".join(_kept(nodes, words))


def _kept(nodes: list, words: set[str]) -> Iterable[str]:
    for node in nodes:
        if node.type == "qualified-rule":
            every = tinycss2.serialize(node.prelude)
            selectors = [one for one in _parts(every) if _may_match(one, words)]
            content = _without_variables(node.content, words)
            if selectors and content:
                yield f"{','.join(selectors)}{{{content}}}"
        elif node.type == "at-rule" and node.lower_at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(node.content, skip_comments=True, skip_whitespace=True)
            if kept := "\n".join(_kept(inner, words)):
                condition = tinycss2.serialize(node.prelude)
                yield f"@{node.at_keyword}{condition}{{{kept}}}"
        elif not OF_ICONS.match(text := node.serialize()):
            yield text


def _without_variables(content: list, words: set[str]) -> str:
    entries = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    if any(entry.type != "declaration" for entry in entries):
        return tinycss2.serialize(content)
    kept = (one for one in entries if one.name in words or not one.name.startswith("--"))
    return ";".join(one.serialize().rstrip(";") for one in kept)


def _parts(selectors: str) -> list[str]:
    """Cut a list of selectors at the commas that are in no brackets."""
    return [part.strip() for part in re.split(r",(?![^()]*(?:\([^()]*\)[^()]*)*\))", selectors)]


def _may_match(selector: str, words: set[str]) -> bool:
    required = OPTIONAL.sub("", selector)
    return all(name.replace("\\", "") in words for name in CLASS.findall(required))


def lighter(page: str) -> str:
    """Give a page without what it loads and does not need, and with the light icons."""
    for file, needs in NEEDED_BY.items():
        if not needs(page):
            tag = rf'<(?:script|link)\b[^>]*\b(?:src|href)="[^"]*\b{re.escape(file)}[^"]*"[^>]*>'
            page = re.sub(rf"{tag}(?:</script>)?\n?", "", page)
    script = re.compile(rf'<script\b[^>]*src="([^"]*){re.escape(ICON_SCRIPT)}[^"]*"[^>]*></script>')
    page = re.sub(r'<link rel="preload" as="script"[^>]*>\n?', "", page)
    page = INLINE.sub("", page) if TOGGLE.search(page) is None else page
    page = OPTION.sub("", page)
    return script.sub(r'<link rel="stylesheet" href="\1icons.css" />', page)


def _finish(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    static = Path(app.outdir, "_static")
    paths = [path for path in Path(app.outdir).rglob("*.html") if static not in path.parents]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    if (script := static / ICON_SCRIPT).is_file():
        found = {name for text in texts.values() for name in ICON_CLASS.findall(text)}
        drawn = icons(found, script.read_text(encoding="utf-8"))
        (static / "icons.css").write_text(drawn, encoding="utf-8")
    for path in (static / ICON_SCRIPT, static / "scripts/bootstrap.js", *static.rglob("*.map")):
        path.unlink(missing_ok=True)
    own = _own(app.config.html_css_files)
    _prune(static, texts.values(), {*own, *bundle.LAST_STYLES, "page.css"})
    styles = (*bundle.THEME_STYLES, *own, *bundle.LAST_STYLES)
    scripts = (*bundle.THEME_SCRIPTS, *_own(app.config.html_js_files), *bundle.LAST_SCRIPTS)
    page_style = bundle.write(static, "page.css", styles)
    page_script = bundle.write(static, "page.js", scripts)
    for path, text in texts.items():
        light = tidy.tidy(highlight.plainer(lighter(text)))
        light = bundle.asks_for(light, styles, page_style, '<link rel="stylesheet" href="{}" />')
        light = bundle.asks_for(light, scripts, page_script, '<script defer src="{}"></script>')
        if light != text:
            path.write_text(light, encoding="utf-8")


def _own(files: Iterable[str | tuple[str, object]]) -> list[str]:
    return [file if isinstance(file, str) else file[0] for file in files]


def _prune(static: Path, pages: Iterable[str], own: Iterable[str]) -> None:
    """Leave out of the stylesheets, but not of our own, what no page and no script asks for."""
    words: set[str] = set()
    for page in pages:
        words.update(READ.findall(page))
        for names in re.findall(r'class="([^"]*)"', page):
            words.update(names.split())
    for path in static.rglob("*.js"):
        words.update(re.findall(r"[\w-]+", path.read_text(encoding="utf-8")))
    styles = {path: path.read_text(encoding="utf-8") for path in static.rglob("*.css")}
    words.update(name for style in styles.values() for name in READ.findall(style))
    for path, style in styles.items():
        if path.name == "pygments.css":
            path.write_text(highlight.colours(style), encoding="utf-8")
        elif path.name not in own:
            path.write_text(used_rules(style, words), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Wait until everything is written."""
    app.connect("build-finished", _finish, priority=900)
