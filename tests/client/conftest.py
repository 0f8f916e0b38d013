"""Fixtures of the client's tests: a receiver, a folder of spools, and programs that log in processes of their own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from esweb_client import current
from esweb_client.settings import RANKS
from tests.client.receiver import TOKEN, Receiver, running_receiver
from tests.client.spool_files import QUIET
from tests.small_disks import SmallDisk, small_disk
from tests.waiting import PATIENCE_SECONDS

VARIABLES = (
    "ESWEB_URL", "ESWEB_TOKEN", "ESWEB_TOKEN_FILE", "ESWEB_PROJECT", "ESWEB_MODE", "ESWEB_DIR", "ESWEB_RUN_ID",
    "ESWEB_RUN_GROUP", "ESWEB_RUN_NAME", "ESWEB_TAGS", "ESWEB_NOTE", "ESWEB_METHOD", "ESWEB_DISABLED",
)  # fmt: skip


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Keep settings of this machine's user and ranks out of the tests, and end the run that a test leaves."""
    for name in (*VARIABLES, "RANK", *RANKS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield
    if current._current is not None:
        current._current.finish(timeout=0)
    current._current = None


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture
def spools(tmp_path: Path) -> Path:
    return tmp_path / "spools"


@pytest.fixture
def disk(spools: Path) -> Iterator[SmallDisk]:
    """Mount a disk of one megabyte over the folder of the spools."""
    spools.mkdir()
    with small_disk(spools, 1) as mounted:
        yield mounted


@pytest.fixture
def away() -> Iterator[dict[str, Any]]:
    """Return settings of a server at whose address nothing listens while the test runs."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield {"server_url": f"http://127.0.0.1:{unused.getsockname()[1]}", "token": TOKEN, **QUIET}


@pytest.fixture
def start(receiver: Receiver, spools: Path) -> Callable[..., esweb_client.Run]:
    """Return a function that starts a run which reports to the receiver."""

    def start_run(**settings: Any) -> esweb_client.Run:
        server = {"server_url": receiver.url, "token": TOKEN, "dir": spools}
        return esweb_client.init(**{**QUIET, **server, **settings})

    return start_run


def finish(run: esweb_client.Run, **end: Any) -> None:
    """Finish a run with the patience of the tests."""
    run.finish(**{"timeout": PATIENCE_SECONDS, **end})
