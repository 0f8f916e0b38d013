"""The key that signs sessions and links: created once, stored in the data folder, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

created: list[Path] = []
"""The keys that this process created, and the folders that it created for them."""


def load_secret_key(data: Path) -> str:
    """Return the key in data/secret-key; create it if it is missing. Raise ImproperlyConfigured if it cannot be
    stored."""
    file = data / "secret-key"
    try:
        if not file.exists():
            _make(file)
        _close(file)
        return file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {data} cannot be used: {error.strerror} ({error.filename or file})."
        ) from error


def _close(file: Path) -> None:
    """Take the permissions of other users, if the key is ours: a copy of the folder may have given them some."""
    stat = file.stat()
    if stat.st_mode & 0o077 and stat.st_uid == os.geteuid():
        file.chmod(0o600)


def _make(file: Path) -> None:
    """Write a whole draft, then link it: two processes that start at the same time agree on the first."""
    is_new_folder = not file.parent.exists()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f"secret-key.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(50))
        try:
            os.link(draft, file)
        except FileExistsError:
            return
        created.extend([file, file.parent] if is_new_folder else [file])
    finally:
        draft.unlink()
