"""Identity of a process's code: the fingerprint of the package `workers`, and the commit or version that it comes
from."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package `workers` that this process runs."""
COMPILED = "__pycache__"
GIT_SECONDS = 20.0
GIT_VARIABLES = ("PATH", "HOME")


@dataclass(frozen=True)
class Code:
    """The code of an attempt.

    `sha256` is the fingerprint of the package and identifies it; the other fields help to find it. `commit` is empty
    outside of a git checkout; `diff_sha256` is the digest of `git diff` of the package's tracked files.
    """

    sha256: str
    version: str = ""
    commit: str = ""
    is_dirty: bool = False
    diff_sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they are stored with an attempt."""
        return asdict(self)


def code_of(package: Path = PACKAGE) -> Code:
    """Return the identity of the code that is on disk now. Raise OSError."""
    code = Code(fingerprint(package), version=_installed())
    commit = _git(package, "rev-parse", "HEAD")
    # A folder of installed packages may be in the checkout of another project, which does not track it.
    if commit is None or not _git(package, "ls-files", "--", "__init__.py"):
        return code
    changes = _git(package, "status", "--porcelain", "--", ".") or b""
    diff = _git(package, "diff", "--binary", "HEAD", "--", ".") or b""
    digest = hashlib.sha256(diff).hexdigest() if diff else ""
    return Code(code.sha256, code.version, commit.decode().strip(), bool(changes), digest)


def fingerprint(package: Path = PACKAGE) -> str:
    """Return the sha256 of the listing, 64 hexadecimal digits. It does not depend on the folder. Raise OSError."""
    return hashlib.sha256(listing(package).encode()).hexdigest()


def listing(package: Path = PACKAGE) -> str:
    """Return a line per file, `<sha256>  workers/<path>`, sorted by path, as `sha256sum` prints. Raise OSError."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in files(package))


def files(package: Path = PACKAGE) -> Iterator[tuple[str, Path]]:
    """Yield (`workers/<path>`, file), sorted by path, without hidden and compiled files."""
    paths = {f"workers/{path.relative_to(package).as_posix()}": path for path in package.rglob("*") if path.is_file()}
    for name, path in sorted(paths.items()):
        parts = Path(name).parts
        if COMPILED not in parts and not any(part.startswith(".") for part in parts):
            yield name, path


def _installed() -> str:
    try:
        return version("esweb")
    except PackageNotFoundError:
        return ""


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Return what git prints; None if git is missing, or the folder is in no checkout that it may read."""
    # These commands write nothing and take no lock that could block a commit.
    env = {name: os.environ[name] for name in GIT_VARIABLES if name in os.environ}
    env |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-c", "diff.autoRefreshIndex=false", "-C", str(folder), *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
