"""Ray in an environment of its own, pinned with hashes: 300 MB that neither web nor worker nor any other test needs.

It is stored in the cache folder ($ESWEB_CACHE, or ~/.cache/esweb); only the first time needs a network. `make lock`
renews `ray.lock` from `ray.in`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.tools import not_installed
from tests.waiting import PATIENCE_SECONDS
from workers.config.cache import cache_folder

HERE = Path(__file__).parent
LOCK = HERE / "ray.lock"


class CannotInstall(Exception):
    """The registry, or uv, refused; the message holds its output."""


def python() -> Path:
    """Return the interpreter of that environment."""
    return _folder() / "bin" / "python"


def missing() -> str:
    """Return why no Ray can be started here; empty if one can."""
    if sys.platform != "linux":
        return "a Ray of one's own needs Linux"
    if not _lock_copy().exists() or _lock_copy().read_bytes() != LOCK.read_bytes():
        return not_installed("Ray")
    return ""


def install() -> None:
    """Create the environment if it is missing or outdated. Raise CannotInstall if it fails."""
    if not missing():
        return
    uv = str(Path(sys.executable).with_name("uv"))
    _lock_copy().unlink(missing_ok=True)
    _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(_folder())])
    # Compiled once: Ray starts a dozen processes, of which some may not write compiled files.
    options = ("--quiet", "--no-deps", "--require-hashes", "--compile-bytecode")
    _run([uv, "pip", "install", *options, "--python", str(python()), "-r", str(LOCK)])
    _lock_copy().write_bytes(LOCK.read_bytes())


def _folder() -> Path:
    return cache_folder() / "peers" / "ray"


def _lock_copy() -> Path:
    return _folder() / "installed"


def _run(argv: list[str]) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=_environment())
    except (OSError, subprocess.SubprocessError) as error:
        message = getattr(error, "stderr", None) or error
        raise CannotInstall(f"Ray cannot be installed: {' '.join(str(message).split())[:500]}") from error


def _environment() -> dict[str, str]:
    """Return the environment of uv, with the mirror of pip's settings, which uv does not read."""
    argv = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    mirror = os.environ.get("PIP_INDEX_URL") or index
    return {**({"UV_DEFAULT_INDEX": mirror} if mirror else {}), **os.environ}
