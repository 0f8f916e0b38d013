"""Refuse a database whose tables were made by a newer esweb: this one would misread or damage them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

import psycopg
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from esweb.embedded import CannotStart

Migration = tuple[str, str]
"""App label and name, as Django records them."""


def refuse_newer_database() -> None:
    """Raise CannotStart if the database has migrations that this code does not. An unreachable one is not judged."""
    try:
        applied = _applied()
    except psycopg.OperationalError:
        return
    if unknown := unknown_migrations(applied):
        raise CannotStart(
            f"A newer esweb created this database: this one does not know {sentence(unknown)}. "
            "Install that version again, or restore a backup of this version."
        )


def unknown_migrations(applied: Iterable[Migration]) -> list[str]:
    """Return those of the applied migrations that no installed app has, as `app.name`, sorted."""
    unknown = {migration for migration in applied if migration not in _files()}
    if not unknown:
        return []
    # Squashed migrations replace others, of which the files may be gone.
    squashed = MigrationLoader(None, ignore_no_migrations=True).disk_migrations.values()
    unknown -= {replaced for migration in squashed for replaced in migration.replaces}
    labels = {app.label for app in apps.get_app_configs()}
    return sorted(f"{app}.{name}" for app, name in unknown if app in labels)


def sentence(migrations: list[str]) -> str:
    """Return the first of these migrations and how many more there are."""
    more = f" and {len(migrations) - 1} more migrations" if len(migrations) > 1 else ""
    return f"the migration {migrations[0]}{more}"


def _files() -> set[Migration]:
    """Return the migrations of all installed apps, by their files' names: importing all of them takes half a second."""
    migrations = set()
    for app in apps.get_app_configs():
        try:
            package = import_module(f"{app.name}.migrations")
        except ModuleNotFoundError:
            continue
        migrations |= {(app.label, module.name) for module in pkgutil.iter_modules(package.__path__)}
    return migrations


def _applied() -> list[Migration]:
    """Return the migrations that the database has; none if it is new. Connect by ourselves, before the pool is used."""
    with psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": 10}, autocommit=True) as own:
        if own.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,):
            return []
        return own.execute("SELECT app, name FROM django_migrations").fetchall()
