"""Titles of verdicts and kinds in templates, and texts with their hidden characters shown."""

from __future__ import annotations

from django import template

from runs.labels.visible_text import visible_text
from runs.labels.words import kinds_text, verdict_title

register = template.Library()
register.filter("verdict_title", verdict_title)
register.filter("kinds_text", kinds_text)
register.filter("shown_text", visible_text)
