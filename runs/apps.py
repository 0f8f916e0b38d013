"""Django app of experiments and their runs."""

from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Configuration of the app `runs`."""

    name = "runs"
