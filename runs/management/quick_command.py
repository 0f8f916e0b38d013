"""Base of the commands that start without Django's system checks."""

from __future__ import annotations

from django.core.management.base import BaseCommand


class QuickCommand(BaseCommand):
    """Command that makes no system checks: they import every view, and some need a database. `make test` makes them."""

    requires_system_checks: list[str] = []  # noqa: RUF012  (Django's own annotation)
