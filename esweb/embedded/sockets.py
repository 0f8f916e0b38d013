"""Addresses of the bundled servers. They depend only on the data folder, so that every command finds them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

USER = DATABASE = "esweb"
POSTGRES_PORT = 5432
MAX_SOCKET_PATH_BYTES = 107  # bytes; sun_path holds 108 with the closing NUL
SOCKET_NAMES = (f".s.PGSQL.{POSTGRES_PORT}", "valkey.sock")


def socket_folder(data: Path) -> Path:
    """Return data/sockets; if that is too long for a socket's path, a folder in /tmp named after this user and the
    data."""
    folder = data / "sockets"
    longest = max(len(os.fsencode(folder / name)) for name in SOCKET_NAMES)
    if longest <= MAX_SOCKET_PATH_BYTES:
        return folder
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    return Path("/tmp") / f"esweb-{os.getuid()}-{digest}"  # noqa: S108  (made 0700, and refused where it is not ours)


def valkey_socket(data: Path) -> Path:
    """Return the socket that Valkey listens on."""
    return socket_folder(data) / SOCKET_NAMES[1]


def database_url(data: Path, name: str = DATABASE) -> str:
    """Return the address of the bundled PostgreSQL."""
    return f"postgresql://{USER}@/{name}?host={quote(str(socket_folder(data)))}"


def redis_url(data: Path) -> str:
    """Return the address of the bundled Valkey."""
    return f"unix://{quote(str(valkey_socket(data)))}?db=0"
