"""Servers of other trackers, each installed into an environment of its own and started next to ours.

The environments are stored in the cache folder (ESWEB_CACHE, else .esweb/cache); only the first time needs a network.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.closed_loop import Client
from benchmarks.points import KEYS, POINTS, START, Batch
from benchmarks.servers import ROOT, Site, await_answer, end

INSTALL_SECONDS = 900
SERVES = "import sys, uvicorn; from trackio.server import build_starlette_app_only as build; "
TRACKIO = SERVES + "uvicorn.run(build()[0], port=int(sys.argv[1]), log_level='error')"
TOKEN = "for-this-benchmark"  # noqa: S105


class PeerUnavailable(Exception):
    """A peer that is not available here. The message gives the reason."""


@dataclass(frozen=True)
class MLflow:
    """`mlflow server` on a database of our own PostgreSQL.

    The quickest API: POST runs/log-batch, with as many metrics as it takes, a thousand.
    """

    name: str
    goal: float
    port: int
    batches = 6
    largest = POINTS
    quickest_goal = 0.0

    def clients(self, batches: Sequence[Sequence[Batch]]) -> list[Client]:
        """Return one client a writer, each with a run of its own."""
        return [Client(self.port, "/api/2.0/mlflow/runs/log-batch", JSON, self._bodies(own)) for own in batches]

    def _bodies(self, batches: Sequence[Batch]) -> list[bytes]:
        created = _post(self.port, "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "start_time": 1})
        run_id = created["run"]["info"]["run_id"]
        return [json.dumps({"run_id": run_id, "metrics": _cells(batch)}).encode() for batch in batches]


@dataclass(frozen=True)
class Trackio:
    """trackio's own server application under uvicorn, on SQLite, the only database that it supports.

    The quickest API: POST /api/bulk_log with as many logs as one likes, here of ten metrics, without log ids,
    which cost it an index.
    """

    name = "trackio"
    batches = 20
    largest = 100_000
    goal, quickest_goal = 3.0, 7.0
    port: int

    def clients(self, batches: Sequence[Sequence[Batch]]) -> list[Client]:
        """Return one client a writer, each with a run of its own."""
        headers = JSON | {"X-Trackio-Write-Token": TOKEN}
        return [
            Client(self.port, "/api/bulk_log", headers, [_logs(name, batch) for batch in own])
            for own, name in ((own, uuid4().hex) for own in batches)
        ]


JSON = {"Content-Type": "application/json"}


def mlflow(site: Site) -> AbstractContextManager[MLflow]:
    """Run MLflow's server as one process, like ours, until the end. Raise PeerUnavailable."""
    return _mlflow(site, "MLflow", 50.0, 1)


def mlflow_as_it_comes(site: Site) -> AbstractContextManager[MLflow]:
    """Run MLflow's server with the processes that it starts by default, until the end. Raise PeerUnavailable."""
    return _mlflow(site, "MLflow, 4 processes", 0.0, 4)


@contextmanager
def _mlflow(site: Site, name: str, goal: float, workers: int) -> Iterator[MLflow]:
    python = install("mlflow", "mlflow==3.17.2", "psycopg2-binary==2.9.13")
    port, store = free_port(), site.database_url(f"mlflow_{workers}").replace("postgresql://", "postgresql+psycopg2://")
    argv = [str(python.parent / "mlflow"), "server", "--backend-store-uri", store, "--port", str(port)]
    argv += ["--workers", str(workers), "--default-artifact-root", str(site.data / "mlflow")]
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    with _running(argv, f"http://127.0.0.1:{port}/health", site.data / f"mlflow_{workers}.log", PATH=path):
        yield MLflow(name, goal, port)


@contextmanager
def trackio(site: Site) -> Iterator[Trackio]:
    """Run trackio's server, until the end. Raise PeerUnavailable."""
    python, port = install("trackio", "trackio==0.43.0"), free_port()
    env = {"TRACKIO_DIR": str(site.data / "trackio"), "TRACKIO_WRITE_TOKEN": TOKEN}
    argv = [str(python), "-c", TRACKIO, str(port)]
    with _running(argv, f"http://127.0.0.1:{port}/version", site.data / "trackio.log", **env):
        yield Trackio(port)


def install(name: str, *requirements: str) -> Path:
    """Return the Python of the peer's environment; create it if it is missing. Raise PeerUnavailable."""
    folder = Path(os.environ.get("ESWEB_CACHE", ROOT / ".esweb" / "cache")) / "peers" / name
    done, python = folder / "installed", folder / "bin" / "python"
    if not (done.exists() and done.read_text(encoding="utf-8") == " ".join(requirements)):
        uv = str(Path(sys.executable).with_name("uv"))
        _install([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
        _install([uv, "pip", "install", "--quiet", "--python", str(python), *requirements])
        done.write_text(" ".join(requirements), encoding="utf-8")
    return python


def free_port() -> int:
    """Return a port of this machine that no server listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _install(argv: list[str]) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or error
        raise PeerUnavailable(f"it cannot be installed: {' '.join(str(reason).split())[:300]}") from error


@contextmanager
def _running(argv: list[str], address: str, log: Path, **env: str) -> Iterator[None]:
    with log.open("ab") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out, cwd=log.parent, env=os.environ | env)
    try:
        await_answer(address, process)
        yield
    except OSError as error:
        raise PeerUnavailable(f"its server does not come up: {error}") from error
    finally:
        end(process)


def _post(port: int, path: str, body: Any) -> Any:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), JSON)
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def _cells(batch: Batch) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": value, "timestamp": int(1000 * START) + step, "step": step}
        for key, column in zip(KEYS, batch.columns, strict=True)
        for step, value in enumerate(column, batch.first)
    ]


def _logs(run: str, batch: Batch) -> bytes:
    rows = [dict(zip(KEYS, row, strict=True)) for row in zip(*batch.columns, strict=True)]
    logs = [
        {"project": "bench", "run": run, "metrics": metrics, "step": step, "config": None}
        for step, metrics in enumerate(rows, batch.first)
    ]
    return json.dumps({"logs": logs, "hf_token": None}).encode()
