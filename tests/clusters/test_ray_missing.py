"""Tests that need a Ray are skipped with the reason if none can start; a running one listens on loopback only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.clusters.ray import RayHead, missing
from tests.clusters.ray.sessions import members
from tests.waiting import wait_until
from workers.attempt import Process

LISTENS = "0A"
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F")
"""127.0.0.1 and ::ffff:127.0.0.1, as the kernel writes them."""


def test_missing_or_outdated_ray_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path))
    assert missing() == "Ray is not installed: `make test-tools` installs it"
    (tmp_path / "peers" / "ray").mkdir(parents=True)
    (tmp_path / "peers" / "ray" / "installed").write_text("ray==1.0")
    assert missing().startswith("Ray is not installed")
    monkeypatch.setattr("sys.platform", "darwin")
    assert missing() == "a Ray of one's own needs Linux"


def test_ray_listens_on_loopback_and_requires_token(ray: RayHead) -> None:
    assert httpx.get(f"{ray.address}/api/jobs/", trust_env=False).status_code == 401
    assert ray.ask("GET", "/api/version")["ray_version"]
    assert ray.token_file.stat().st_mode & 0o777 == 0o600
    first = ray.session()
    assert first is not None
    listening = wait_until(
        lambda: len(current_addresses := list(listening_addresses(first))) >= 5 and current_addresses,
        "Ray to listen at five addresses",
    )
    assert set(listening) <= set(LOOPBACK)


def listening_addresses(first: Process) -> Iterator[str]:
    """Yield the addresses at which the processes of a session listen."""
    sockets = {link for pid in members(first) for link in open_sockets(pid)}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENS and f"socket:[{inode}]" in sockets:
                yield local.partition(":")[0]


def open_sockets(pid: int) -> set[str]:
    targets = set[str]()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            # Files are opened and closed all the time.
            with contextlib.suppress(FileNotFoundError):
                targets.add(str(file.readlink()))
    return targets
