"""The Django app for judging: which response is better."""

from __future__ import annotations

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """Configuration of the app. judging imports runs, never the other way round."""

    name = "judging"
