"""`manage.py follow`, which refuses a site that this code must not use."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from esweb.bootstrap.usable_site import refuse_unusable_site
from esweb.embedded import CannotStart
from runs.management.commands import follow


class Command(follow.Command):
    """The command of `runs`, which knows nothing of restores and of the versions of a site."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            refuse_unusable_site()
        except CannotStart as error:
            raise CommandError(str(error)) from error
        super().handle(**options)
