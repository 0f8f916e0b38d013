"""Every process of a site refuses to start on one that it could only damage.

That is a folder or database whose restore has not finished, and a database that a newer esweb has migrated. The first
connection of each process to the database repeats the check (`esweb.database`), for a database that was unreachable
when the process started.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection

from esweb.bootstrap.schema_version import refuse_newer_migrations
from esweb.bootstrap.unfinished_restore import refuse_marked_database, refuse_unfinished_restore
from esweb.embedded import CannotStart, hold


def refuse_unusable_site() -> None:
    """Raise CannotStart, with the remedy, if this code must not use the site. An unreachable database is not judged."""
    refuse_unfinished_restore(Path(settings.DATA_DIR))
    # By ourselves, before the pool is used: a wrong address is then no error of a pool that timed out.
    parameters = {**connection.get_connection_params(), "connect_timeout": 10}
    try:
        with psycopg.connect(**parameters, autocommit=True) as own:
            refuse_unusable_database(own)
    except psycopg.OperationalError:
        return


def exit_if_unusable() -> None:
    """End this process with the sentence of `refuse_unusable_site`, and code 1."""
    try:
        refuse_unusable_site()
    except CannotStart as error:
        sys.exit(str(error))


def refuse_unusable_database(own: psycopg.Connection[Any]) -> None:
    """Raise CannotStart, with the remedy, if this code must not use this database."""
    refuse_marked_database(own)
    refuse_newer_migrations(own)


@contextmanager
def hold_usable(data: Path) -> Iterator[None]:
    """Hold the folder's lock for the block. Raise CannotStart as `hold`, and if a restore has not finished there."""
    with hold(data):
        refuse_unfinished_restore(data)
        yield
