"""The project as an app: it brings the commands, and makes the Celery app the one that jobs are sent through."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class EswebConfig(AppConfig):
    """Wiring only; no rows."""

    name = "esweb"

    def ready(self) -> None:
        import_module("esweb.celery")
