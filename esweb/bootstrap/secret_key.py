"""The key that signs sessions and links: made once, kept in the data folder, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def kept_in(data: Path) -> str:
    """The key in data/secret-key, made by whoever comes first. Raises ImproperlyConfigured where it cannot be kept."""
    file = data / "secret-key"
    try:
        if not file.exists():
            _make(file)
        return file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {data} cannot be used: {error.strerror} ({error.filename or file})."
        ) from error


def _make(file: Path) -> None:
    """Writes a whole file aside, then links it: two that start at once agree on the first."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = file.with_name(f"secret-key.{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(50))
        try:
            os.link(aside, file)
        except FileExistsError:
            return
    finally:
        aside.unlink()
