"""Judging, as a Django app: whose answer is better."""

from __future__ import annotations

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """Looks at runs, never back."""

    name = "judging"
