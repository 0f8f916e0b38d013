"""Render links of the main navigation, with the page or section that is open marked."""

from __future__ import annotations

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
CURRENT_PAGE, CURRENT_SECTION = mark_safe(' aria-current="page"'), mark_safe(' aria-current="true"')


@register.simple_tag(takes_context=True)
def main_link(context: Context, view_name: str, text: str) -> SafeString:
    """Return a link to a view; aria-current marks it on that page, and on the pages below its address."""
    address = reverse(view_name)
    # Error pages are rendered without a request.
    path = context["request"].path if "request" in context else ""
    current = CURRENT_PAGE if path == address else CURRENT_SECTION if path.startswith(address) else ""
    return format_html('<a href="{}"{}>{}</a>', address, current, text)
