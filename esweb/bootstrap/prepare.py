"""Prepare a site before its parts start: migrate the database, collect pages' files, create the first admin."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import psycopg
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connections
from django.db.backends.postgresql.base import DatabaseWrapper

from esweb.bootstrap.collectstatic import StaticCollection
from esweb.bootstrap.usable_site import refuse_unusable_site
from esweb.embedded import CannotStart
from esweb.embedded.child_process import raising_cannot_start

ADMIN = "admin"


def prepare(collection: StaticCollection) -> None:
    """Migrate while pages' files are collected.

    Raise CannotStart if a server is silent, the disk is full, or this code must not use the site.
    """
    _check_servers()
    refuse_unusable_site()
    collection.start()
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        raise CannotStart(f"The database could not be migrated: {error}") from error
    collection.finish()


def release_database() -> None:
    """Close our connections and end the threads that hold them: none may live when processes are started."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if isinstance(connection, DatabaseWrapper):
            connection.close_pool()


def password_file() -> Path:
    """Return the path of the file that holds the generated password of `admin`."""
    return Path(settings.DATA_DIR) / "admin-password"


def first_user() -> User:
    """Return the oldest active superuser. Create `admin` if there is none, with its password in `password_file()`."""
    user = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if user:
        return user
    password = secrets.token_urlsafe(12)
    with raising_cannot_start(settings.DATA_DIR):
        descriptor = os.open(password_file(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{password}\n")
    return User.objects.create_superuser(ADMIN, password=password)


def _check_servers() -> None:
    """Connect to both once, so that a wrong address is reported by its own name and not as a pool that timed out."""
    try:
        psycopg.connect(settings.DATABASE_URL, connect_timeout=10).close()
    except psycopg.Error as error:
        raise CannotStart(f"The database does not answer: {' '.join(str(error).split())}") from error
    try:
        with redis.from_url(settings.REDIS_URL) as client:
            client.ping()
    except redis.RedisError as error:
        raise CannotStart(f"Redis does not answer: {error}") from error
