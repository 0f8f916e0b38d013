"""Text that anything may have sent, as a database can keep it."""

from __future__ import annotations


def storable(value: object) -> str:
    """The value as text; halves of characters and NULs become the sign for what cannot be shown."""
    return str(value).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
