"""Experiments and their runs, as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """An experiment, from form to chart."""

    name = "runs"
