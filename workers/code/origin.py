"""Where code comes from: the commit of its git checkout with what was changed since, else the installed version."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from workers.code.contents import PACKAGE, fingerprint

GIT_SECONDS = 20.0
PASSED_ON = ("PATH", "HOME")


@dataclass(frozen=True)
class Code:
    """What an attempt is to run. `sha256` is the fingerprint of the package and says it all; the rest says where to
    look. `commit` is empty outside of a git checkout; `diff_sha256` digests `git diff` of the package's tracked files.
    """

    sha256: str
    version: str = ""
    commit: str = ""
    is_dirty: bool = False
    diff_sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it is kept with an attempt."""
        return asdict(self)


def code_of(package: Path = PACKAGE) -> Code:
    """The code as it lies on disk now. Raises OSError."""
    code = Code(fingerprint(package), version=_installed())
    commit = _git(package, "rev-parse", "HEAD")
    # A folder of installed packages may lie in a checkout of something else, which knows nothing of it.
    if commit is None or not _git(package, "ls-files", "--", "__init__.py"):
        return code
    changes = _git(package, "status", "--porcelain", "--", ".") or b""
    diff = _git(package, "diff", "--binary", "HEAD", "--", ".") or b""
    digest = hashlib.sha256(diff).hexdigest() if diff else ""
    return Code(code.sha256, code.version, commit.decode().strip(), bool(changes), digest)


def _installed() -> str:
    try:
        return version("esweb")
    except PackageNotFoundError:
        return ""


def _git(folder: Path, *words: str) -> bytes | None:
    """What git answers; None where there is no git, or no checkout that it may read."""
    # Looking writes nothing, and takes no lock that would stand in the way of somebody's commit.
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-c", "diff.autoRefreshIndex=false", "-C", str(folder), *words],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
