"""Description of this process: its program, its code's version in Git, and the machine with its packages."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from esweb_client.gpus import find_gpus

GIT_SECONDS = 3.0
MAX_COMMAND = 4_000
MAX_TEXT = 300
MAX_PACKAGES = 5_000
CPUINFO = Path("/proc/cpuinfo")
MB = 2**20
HIDDEN = "•••"
SECRET = re.compile(r"(token|secret|passw|api[-_]?key|credential)", re.IGNORECASE)


def describe_program(version: str) -> dict[str, str]:
    """Return the program, host and command line of this process, without secrets among its arguments."""
    command = " ".join(hide_secrets(sys.argv))[:MAX_COMMAND]
    return {"program": f"esweb_client {version}", "host": platform.node()[:200], "command": command}


def hide_secrets(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the values of options that name a secret hidden."""
    shown: list[str] = []
    hides_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        is_secret = name.startswith("-") and bool(SECRET.search(name))
        is_value = hides_next and not argument.startswith("--")
        shown.append(HIDDEN if is_value else f"{name}={HIDDEN}" if is_secret and equals else argument)
        hides_next = is_secret and not equals
    return shown


def describe_git() -> dict[str, Any]:
    """Return commit, branch, remote and dirty of the folder that the program runs in; empty outside of Git."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return {}
    status = _git("status", "--porcelain", "--untracked-files=no")
    git = {
        "commit": commit,
        "branch": _git("rev-parse", "--abbrev-ref", "HEAD") or "",
        "remote": strip_credentials(_git("config", "--get", "remote.origin.url") or ""),
    }
    return git if status is None else {**git, "dirty": bool(status)}


def strip_credentials(remote: str) -> str:
    """Return the address of a remote without the user and password in it."""
    if "://" not in remote:
        return remote
    parts = urlsplit(remote)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def describe_environment() -> dict[str, Any]:
    """Return the fields of an environment record. Unknown values are empty."""
    gpus = find_gpus()
    driver, cuda = gpus.driver() if gpus else ("", "")
    return {
        "node": platform.node()[:MAX_TEXT],
        "os": _system()[:MAX_TEXT],
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpu": _processor()[:MAX_TEXT],
        "cores": _cores(),
        "memory_mb": _memory_mb(),
        "driver": driver,
        "cuda": cuda,
        "gpus": gpus.describe() if gpus else [],
        "packages": _packages(),
    }


def _git(*arguments: str) -> str | None:
    """Return what Git prints; None if it fails or takes too long."""
    try:
        result = subprocess.run(
            ["git", "--no-optional-locks", *arguments], capture_output=True, text=True, timeout=GIT_SECONDS, check=True,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()[:1000]


def _packages() -> dict[str, str]:
    versions: dict[str, str] = {}
    for distribution in distributions():
        # Read once: `distribution.version` would parse the file again.
        metadata = distribution.metadata
        name = metadata["Name"]
        # A folder that an interrupted installation left behind has no name.
        if name and len(versions) < MAX_PACKAGES:
            key = re.sub(r"[-_.]+", "-", name).lower()[:MAX_TEXT]
            versions.setdefault(key, (metadata["Version"] or "")[:MAX_TEXT])
    return dict(sorted(versions.items()))


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return kernel
    names = [line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")]
    return f"{names[0]}, {kernel}" if names else kernel


def _processor() -> str:
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0


def _memory_mb() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB
    except (AttributeError, OSError, ValueError):
        return 0
