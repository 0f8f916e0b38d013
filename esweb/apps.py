"""The project as an app: it adds the commands, and makes the Celery app the one that jobs are sent through."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class EswebConfig(AppConfig):
    """Wiring only; no rows."""

    name = "esweb"

    def ready(self) -> None:
        import_module("esweb.celery")


class EswebAdminConfig(SimpleAdminConfig):
    """Django's admin, signed in to as everything else is.

    `esweb.urls` loads its pages: processes that answer no requests start in half the time without them.
    """

    default_site = "esweb.admin.Site"
