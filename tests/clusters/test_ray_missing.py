"""Where no Ray can be brought up, tests that need one are skipped with the reason; one that is up keeps to itself."""

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


def test_an_environment_that_is_not_there_or_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path))
    assert missing() == "Ray is not installed: `make test-tools` installs it"
    (tmp_path / "peers" / "ray").mkdir(parents=True)
    (tmp_path / "peers" / "ray" / "installed").write_text("ray==1.0")
    assert missing().startswith("Ray is not installed")
    monkeypatch.setattr("sys.platform", "darwin")
    assert missing() == "a Ray of one's own needs Linux"


def test_it_listens_on_loopback_alone_and_answers_nobody_without_its_token(ray: RayHead) -> None:
    assert httpx.get(f"{ray.address}/api/jobs/", trust_env=False).status_code == 401
    assert ray.ask("GET", "/api/version")["ray_version"]
    assert ray.token_file.stat().st_mode & 0o777 == 0o600
    first = ray.session()
    assert first is not None
    ours = wait_until(lambda: len(every := list(addresses(first))) >= 5 and every, "Ray to listen at five addresses")
    assert set(ours) <= set(LOOPBACK)


def addresses(first: Process) -> Iterator[str]:
    """At which the processes of a session listen."""
    sockets = {link for pid in members(first) for link in opened(pid)}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENS and f"socket:[{inode}]" in sockets:
                yield local.partition(":")[0]


def opened(pid: int) -> set[str]:
    found = set[str]()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            # Opened and closed all the time.
            with contextlib.suppress(FileNotFoundError):
                found.add(str(file.readlink()))
    return found
