"""The files of the package, and one sha256 over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package `workers` that this very process runs."""
COMPILED = "__pycache__"


def fingerprint(package: Path = PACKAGE) -> str:
    """64 hexadecimal digits: the same for the same files, wherever they lie. Raises OSError."""
    return hashlib.sha256(listing(package).encode()).hexdigest()


def listing(package: Path = PACKAGE) -> str:
    """A line a file, `<sha256>  workers/<path>`, by path: what `sha256sum` prints, and can check. Raises OSError."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in files(package))


def files(package: Path = PACKAGE) -> Iterator[tuple[str, Path]]:
    """(`workers/<path>`, file) by path: all but hidden files and what Python compiles by itself."""
    found = {f"workers/{path.relative_to(package).as_posix()}": path for path in package.rglob("*") if path.is_file()}
    for name, path in sorted(found.items()):
        parts = Path(name).parts
        if COMPILED not in parts and not any(part.startswith(".") for part in parts):
            yield name, path
