"""Every word of a page can be extracted for translation: it is inside {% translate %} or {% blocktranslate %}."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from django.template.base import Lexer, TokenType

from tests.cases import each_case

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
READ = ("aria-label", "title", "placeholder", "alt", "hx-confirm", "aria-description")
# What is typed or run is the same in every language.
VERBATIM = {"code", "kbd", "pre", "script", "style", "svg"}
NAMES = {
    "esweb",
    "ES",
    "GRPO",
    "KL",
    "API",
    "JSON",
    "JSONL",
    "CSV",
    "OpenAPI",
    "Markdown",
    "YAML",
    "Ctrl",
    "n",
    "x",
    "y",
}
WORD = re.compile(r"[^\W\d_]+")
KEY = re.compile(r"\w+[.:<>=~/^_|]+\S*\w")
"""es.sigma, kl<1: what is typed into a query, the same in every language."""


class TextCollector(HTMLParser):
    """Collects what is read: text, and the attributes that are read aloud or shown."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.verbatim: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in READ and value]
        if tag in VERBATIM:
            self.verbatim.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.verbatim and self.verbatim[-1] == tag:
            self.verbatim.pop()

    def handle_data(self, data: str) -> None:
        if not self.verbatim:
            self.texts.append(data)


def untranslated(source: str) -> Iterator[str]:
    """Yield pieces with untranslatable words. Template tags are cut out, because their output is data."""
    pieces, depth = [], 0
    for token in Lexer(source).tokenize():
        name = token.contents.split()[0] if token.token_type is TokenType.BLOCK and token.contents else ""
        depth += (name in ("blocktranslate", "comment")) - (name in ("endblocktranslate", "endcomment"))
        if token.token_type is TokenType.TEXT and not depth:
            pieces.append(token.contents)
    words = TextCollector()
    words.feed("".join(pieces))
    for piece in words.texts:
        if set(WORD.findall(KEY.sub(" ", piece))) - NAMES:
            yield " ".join(piece.split())


@each_case("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_template_has_no_untranslatable_text(template: Path) -> None:
    assert list(untranslated(template.read_text(encoding="utf-8"))) == []


def test_the_test_sees_text_and_attributes_and_passes_over_code() -> None:
    page = '<p title="Hi {{ you }}">Two {% if x %}words{% endif %}</p><code>rm</code>{% translate "said" %} 5 KL'
    assert list(untranslated(page)) == ["Hi", "Two words"]
    assert list(untranslated("{% blocktranslate %}All of it{% endblocktranslate %}")) == []
