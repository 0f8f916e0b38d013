"""Notes that people write in Markdown. Raw HTML is shown as text, and no picture is fetched from anywhere."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

register = template.Library()
# The library itself refuses links to javascript:, vbscript:, file: and data:.
WRITER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "html_inline"])


@register.filter
def markdown(text: str) -> SafeString:
    """The note as HTML, its headings below those of the page."""
    tokens = WRITER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    # The renderer escapes whatever is not Markdown.
    return SafeString(WRITER.renderer.render(tokens, WRITER.options, {}))
