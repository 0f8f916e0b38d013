"""The environment of a process that a test starts on the tests' own database and Redis."""

from __future__ import annotations

import os

from django.conf import settings
from django.db import connection


def on_test_database() -> dict[str, str]:
    """Return the variables with which a process of the project uses the database of the running test."""
    parameters = connection.get_connection_params()
    names = ("host", "port", "user", "password")
    query = "&".join(f"{name}={parameters[name]}" for name in names if parameters.get(name))
    url = f"postgresql:///{connection.settings_dict['NAME']}?{query}"
    data = str(settings.DATA_DIR)
    return {**os.environ, "DATABASE_URL": url, "REDIS_URL": settings.REDIS_URL, "ESWEB_DATA": data}
