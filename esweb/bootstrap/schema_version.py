"""Refuse a database whose tables were made by a newer esweb: this one would misread or damage them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import django
import psycopg
from django.apps import AppConfig, apps
from django.conf import settings

from esweb.bootstrap.unfinished_restore import has_table
from esweb.embedded import CannotStart

Migration = tuple[str, str]
"""App label and name, as Django records them."""


def refuse_newer_migrations(connection: psycopg.Connection[Any]) -> None:
    """Raise CannotStart if the database has migrations that this code does not; a new one has none."""
    if unknown := unknown_migrations(applied_migrations(connection)):
        raise CannotStart(
            f"A newer esweb created this database: this one does not know {sentence(unknown)}. "
            "Install that version again, or restore a backup of this version."
        )


def applied_migrations(connection: psycopg.Connection[Any]) -> list[Migration]:
    """Return the migrations that the database has."""
    if not has_table(connection, "django_migrations"):
        return []
    rows = connection.execute("SELECT app, name FROM django_migrations").fetchall()
    return [(str(app), str(name)) for app, name in rows]


def unknown_migrations(applied: Iterable[Migration]) -> list[str]:
    """Return those of the applied migrations that this code does not have, as `app.name`, sorted.

    Migrations of an app that this code does not have are among them: a newer esweb may have added the app.
    """
    unknown = {*applied} - _files()
    if not unknown:
        return []
    # Models are loaded only here: beat needs none otherwise, and starts in a quarter of the time.
    from django.db.migrations.loader import MigrationLoader

    if not apps.ready:
        django.setup(set_prefix=False)
    # Squashed migrations replace others, of which the files may be gone.
    squashed = MigrationLoader(None, ignore_no_migrations=True).disk_migrations.values()
    unknown -= {replaced for migration in squashed for replaced in migration.replaces}
    return sorted(f"{app}.{name}" for app, name in unknown)


def sentence(migrations: list[str]) -> str:
    """Return the first of these migrations and how many more there are."""
    more = f" and {len(migrations) - 1} more migrations" if len(migrations) > 1 else ""
    return f"the migration {migrations[0]}{more}"


@cache
def _files() -> frozenset[Migration]:
    """Return the migrations of all installed apps, by their files' names: importing all of them takes half a second."""
    return frozenset((label, name) for label, package in _apps() for name in _modules(f"{package}.migrations"))


def _apps() -> Iterator[tuple[str, str]]:
    """Yield label and package of each installed app. Beat has not set Django up, which would take a second."""
    for entry in settings.INSTALLED_APPS:
        config = AppConfig.create(entry)
        yield config.label, config.name


def _modules(package: str) -> list[str]:
    try:
        module = import_module(package)
    except ModuleNotFoundError:
        return []
    return [module.name for module in pkgutil.iter_modules(module.__path__)]
