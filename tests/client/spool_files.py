"""Read spools as files, and run programs that write them in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import esweb_client
from esweb_client.leftovers import find_spools
from esweb_client.reader import Cursor, read_entries
from esweb_client.spool import RECORDS
from esweb_client.sync import SyncResult, sync
from tests.client.receiver import TOKEN, Receiver

CLIENT = Path(__file__).parents[2] / "client"
QUIET: dict[str, Any] = {"system_metrics_seconds": 0, "capture_git": False}
"""Arguments of `init` for a run that records nothing by itself but its environment."""
START = """
import esweb_client, os, sys
start = dict(system_metrics_seconds=0, capture_git=False, dir=os.environ['SPOOLS'])
"""


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a spool's file."""
    records: list[dict[str, Any]] = []
    cursor = Cursor()
    while True:
        entries, after = read_entries(folder / RECORDS, cursor)
        if after == cursor:
            return records
        records += [entry.body for entry in entries]
        cursor = after


def only_spool(directory: Path) -> Path:
    """Return the only spool in a folder."""
    (folder,) = find_spools(directory)
    return folder


def values(records: list[dict[str, Any]], key: str) -> list[Any]:
    """Return the values of a metric, in the order of the records."""
    return [r["values"][key] for r in records if r["kind"] == "metric" and key in r["values"]]


def environment(spools: Path, receiver: Receiver | None = None, **more: str) -> dict[str, str]:
    """Return the environment of a program: its spools, and the server that it reports to."""
    server = {"ESWEB_URL": receiver.url, "ESWEB_TOKEN": TOKEN} if receiver else {}
    paths = {"PYTHONPATH": str(CLIENT), "XDG_CONFIG_HOME": str(spools / "no account"), "PATH": "/usr/bin:/bin"}
    return {**paths, "SPOOLS": str(spools), **server, **more}


def program(text: str) -> list[str]:
    """Return the command of a program in Python, for which `start` holds quiet arguments of `init`."""
    return [sys.executable, "-W", "error", "-c", START + textwrap.dedent(text)]


@contextmanager
def running(text: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while the block runs; it is killed at its end."""
    with subprocess.Popen(
        program(text), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def offline(spools: Path, **settings: Any) -> esweb_client.Run:
    """Start a run that is only recorded."""
    return esweb_client.init(mode="offline", dir=spools, **QUIET, **settings)


def log(run: esweb_client.Run, count: int, first: int = 0) -> None:
    """Log so many records of two values, with their steps as x."""
    for step in range(first, first + count):
        run.log({"x": float(step), "y": 0.5}, step=step)


def send(spools: Path, receiver: Receiver, **options: Any) -> SyncResult:
    """Send the spools to the receiver."""
    return sync(spools, (receiver.url, TOKEN), lambda line: None, **options)


def seqs(receiver: Receiver) -> list[int]:
    """Return the seqs of the only attempt's records, in the order of their arrival."""
    return [record["seq"] for record in receiver.attempt.records]
