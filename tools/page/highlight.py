"""Highlighted code with five colours: keywords, strings, numbers, comments and names defined.

Pygments marks every name, dot and bracket. Half of a chapter's weight was such marks, and they show
a reader nothing: they come off, and marks of one kind that follow each other become one.
"""

from __future__ import annotations

import re

KINDS = {
    "k": "k kc kd kn kr kt ow",  # keywords, and operators that are words
    "s": "s s1 s2 sa sb sc sd se sh sr ss dl",  # strings
    "m": "m mb mf mh mi mo il",  # numbers
    "c": "c c1 ch cm cp cs",  # comments
    "nf": "nf nc nd fm",  # functions and classes where they are defined, and decorators
}
KIND = {mark: kind for kind, marks in KINDS.items() for mark in marks.split()}
BLOCK = re.compile(r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', re.DOTALL)
MARK = re.compile(r'<span class="([a-z][a-z0-9]?)">([^<>]*)</span>')
TWO = re.compile(rf'(<span class="({"|".join(KINDS)})">[^<>]*)</span>([ \t]*)<span class="\2">')
RULE = re.compile(r"^html[^{}]*\.highlight (\.\w+|[a-z][^{}]*?)\s*\{[^{}]*\}.*\n?", re.MULTILINE)


def plainer(page: str) -> str:
    """Give a page whose code is marked where a colour says something."""
    return BLOCK.sub(lambda block: _plain(block[0]), page)


def _plain(code: str) -> str:
    def mark(span: re.Match[str]) -> str:
        kind = KIND.get(span[1])
        return f'<span class="{kind}">{span[2]}</span>' if kind else span[2]

    code = MARK.sub(mark, code.replace("<span></span>", ""))
    while (joined := TWO.sub(r"\1\3", code)) != code:
        code = joined
    return code


def colours(style: str) -> str:
    """Give Pygments' stylesheet with the rules for those kinds alone."""
    kept = {f".{kind}" for kind in KINDS}
    return RULE.sub(lambda rule: rule[0] if rule[1].strip() in kept else "", style)
