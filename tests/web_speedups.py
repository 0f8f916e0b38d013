"""Avoid slow work of Django in tests that has the same result for each client or password."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

list_static_files = WhiteNoiseMiddleware.add_files_from_finders
static_files: dict[tuple[object, ...], dict[str, StaticFile]] = {}
"""Settings of WhiteNoise -> its files by path."""


@pytest.fixture(scope="session", autouse=True)
def fast_web_setup() -> Iterator[None]:
    """Speed up every test. Passwords are hashed as on a site, in fewer rounds: they protect no account."""
    with (
        mock.patch.object(WhiteNoiseMiddleware, "add_files_from_finders", list_static_files_once),
        mock.patch.object(PBKDF2PasswordHasher, "iterations", 1000),
    ):
        yield


def list_static_files_once(middleware: WhiteNoiseMiddleware) -> None:
    """List static files once: a site lists them when it starts, and each test's client starts a site."""
    key = (middleware.static_prefix, middleware.max_age, middleware.allow_all_origins, middleware.charset)
    if key not in static_files:
        list_static_files(middleware)
        static_files[key] = dict(middleware.files)
    middleware.files.update(static_files[key])
