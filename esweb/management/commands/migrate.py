"""`manage.py migrate`, which refuses an incompletely restored site, and a database that a newer esweb has migrated."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from esweb.bootstrap.usable_site import refuse_unusable_site
from esweb.embedded import CannotStart


class Command(migrate.Command):
    """Django's own command prints "No migrations to apply" there."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            refuse_unusable_site()
        except CannotStart as error:
            raise CommandError(str(error)) from error
        super().handle(*args, **options)
