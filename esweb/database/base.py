"""Django looks for a database backend under this module name."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base

from esweb.database.pool import Connection, Pool


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own backend, with our pool if the settings have one. They may not enable Django's health checks."""

    _connection_pools: ClassVar[dict[str, Pool]]

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
        except BaseException:
            connection.close()
            raise
        return connection
