"""Spares tests what Django's side does anew for each client or password, slowly and always with the same outcome."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

list_files = WhiteNoiseMiddleware.add_files_from_finders
listed: dict[tuple[object, ...], dict[str, StaticFile]] = {}
"""What may be asked for by how it is sent -> the files by their paths."""


@pytest.fixture(scope="session", autouse=True)
def sparing() -> Iterator[None]:
    """For every test. Passwords are hashed as on a site, in fewer rounds: these keep nobody's account."""
    with (
        mock.patch.object(WhiteNoiseMiddleware, "add_files_from_finders", list_files_once),
        mock.patch.object(PBKDF2PasswordHasher, "iterations", 1000),
    ):
        yield


def list_files_once(middleware: WhiteNoiseMiddleware) -> None:
    """A site lists pages' files when it starts, and a test's client starts a site."""
    sent = (middleware.static_prefix, middleware.max_age, middleware.allow_all_origins, middleware.charset)
    if sent not in listed:
        list_files(middleware)
        listed[sent] = dict(middleware.files)
    middleware.files.update(listed[sent])
