"""Django looks for a database backend under this module name.

The first connection of a process checks whether this code may use the database at all: a process that started while the
database was unreachable could not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base

from esweb.bootstrap.usable_site import refuse_unusable_database
from esweb.database.pool import Connection, Pool
from esweb.embedded import CannotStart


class UnusableDatabase(OperationalError, ImproperlyConfigured):
    """A restore into the database has not finished, or a newer esweb has migrated it; the message gives the remedy.

    Commands print it, pages answer 503, and the follower tries again.
    """


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own backend, with our pool if the settings have one. They may not enable Django's health checks."""

    _connection_pools: ClassVar[dict[str, Pool]]
    _is_checked: ClassVar[bool] = False
    answered_at: ClassVar[float] = 0.0
    """Reading of the monotonic clock at the last answer of PostgreSQL to a statement of this process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers.append(_note_answer)

    @property
    def pool(self) -> Pool | None:
        """The pool of the process; None if connections are opened one by one."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            # Several threads may get here concurrently: the first pool is used, and no other has a connection yet.
            connect = partial(self._open, {**self.get_connection_params(), "autocommit": True})
            self._connection_pools.setdefault(self.alias, Pool(connect, **options))
        return self._connection_pools[self.alias]

    def _open(self, params: dict[str, object]) -> Connection:
        connection: Connection = self.Database.connect(**params)
        try:
            self._configure_connection(connection)  # type: ignore[attr-defined]
            if not DatabaseWrapper._is_checked:
                refuse_unusable_database(connection)
                DatabaseWrapper._is_checked = True
        except CannotStart as error:
            connection.close()
            raise UnusableDatabase(str(error)) from error
        except BaseException:
            connection.close()
            raise
        return connection


def _note_answer(execute: Callable[..., Any], *arguments: Any) -> Any:
    """Run a statement, and note when it was answered: a slow server answers some statements, a frozen one none."""
    result = execute(*arguments)
    DatabaseWrapper.answered_at = time.monotonic()
    return result
