"""Attacks that succeeded on other trackers: paths that leave their folder, in addresses, records and files.

CVE-2026-2614, CVE-2023-6831, CVE-2023-3765, CVE-2024-1483, -1558, -1560, -1594 and -3848, and mlflow#7166
(`get-artifact?path=../../etc/passwd`), each on those of our addresses that take parts of a path.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import reverse

from runs.models import Checkpoint, Experiment, Run
from tests.cases import each_case
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls
from workers.config import ConfigError, RunConfig, preset

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
SECRET = "zq7outside"
HOSTILE_PATHS = [
    "../../outside.txt", "..%2f..%2foutside.txt", "%2e%2e/%2e%2e/outside.txt", "....//....//outside.txt",
    "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "file:%2f%2f%2fetc%2fpasswd",
    "x%23/../../outside.txt", "x?/../../outside.txt", "..\\..\\outside.txt", "..%5c..%5coutside.txt", "%00/outside.txt",
    "\u2025/outside.txt",
]  # fmt: skip


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    """Return a run with a checkpoint, next to a file that nobody may read."""
    run = full_runs.make_run(experiment, "es-micro")
    checkpoint_files.save(run, 5)
    (runs_dir / "outside.txt").write_text(SECRET)
    (runs_dir.parent / "outside.txt").write_text(SECRET)
    return run


@each_case("hostile_path", HOSTILE_PATHS)
def test_addresses_reach_no_outside_file(ada: User, ada_client: Client, run: Run, hostile_path: str) -> None:
    """Reading any file: CVE-2026-2614 and CVE-2023-6831; with a # before the dots, CVE-2024-1594 and -3848."""
    script = calls(ada, "admin")
    for prefix, suffix in (("/runs/", "/log.txt"), (f"/runs/{run.uid}/checkpoints/", "/"), ("/static/", ""),
                          (f"/runs/{run.uid}/attempts/", "/log.txt"), ("/shared/", "/")):  # fmt: skip
        response = ada_client.get(f"{prefix}{hostile_path}{suffix}", follow=True)
        assert SECRET.encode() not in _content(response) and b"root:" not in _content(response)
    for prefix, suffix in (
        (f"/api/v1/runs/{run.uid}/checkpoints/", "/download"),
        ("/api/v1/runs/", ""),
        ("/api/v1/attempts/", ""),
    ):
        response = script.get(f"{prefix}{hostile_path}{suffix}")
        assert SECRET.encode() not in response.content and b"root:" not in response.content


@each_case("names", ["path file artifact log", "log_find", "name", "as", "section", "step"])
def test_query_names_no_file(ada_client: Client, run: Run, names: str) -> None:
    """mlflow#7166: `get-artifact?path=../../etc/passwd`."""
    for page in ("run", "run-log", "run-chart", "run-responses", "run-checkpoints"):
        for hostile_path in ("../../outside.txt", "/etc/passwd"):
            params = dict.fromkeys(names.split(), hostile_path)
            response = ada_client.get(reverse(page, args=[run.uid]), params, headers={"hx-request": "true"})
            assert SECRET.encode() not in response.content and b"root:" not in response.content


@each_case("path", ["../../outside.txt", "/etc/passwd", "checkpoints/../../../outside.txt", "", "a\x00b", ".."])
def test_record_names_no_outside_file(ada: User, run: Run, path: str) -> None:
    """A stored path that is trusted when it is read later: CVE-2024-1558, CVE-2024-1560, CVE-2023-3765."""
    key = f"esweb-{run.uid}-a1"
    line = {"seq": 0, "t": 0, "kind": "checkpoint", "step": 7, "path": path, "bytes": 1, "sha256": "ab" * 32}
    response = calls(ada, "ingest", run=run).post(
        f"/api/v1/attempts/{key}/records?epoch=9", json.dumps(line), content_type="application/jsonl"
    )
    assert response.status_code == 422
    assert not Checkpoint.objects.filter(step=7).exists()


def test_symlinks_in_run_folder_are_not_followed(ada_client: Client, run: Run, runs_dir: Path) -> None:
    """Symbolic links, the class of CVE-2024-1483: a run's program writes its folder, and the server reads it."""
    attempt = run.attempts.get()
    inside = attempt.directory / "checkpoints" / "step-000005"
    (inside / "model.bin").symlink_to(runs_dir / "outside.txt")
    (inside / "all").symlink_to(runs_dir)
    (attempt.directory / "log.txt").symlink_to(runs_dir / "outside.txt")
    (attempt.directory / "checkpoints" / "step-000009").symlink_to(runs_dir)
    download = ada_client.get(reverse("run-checkpoint", args=[run.uid, 5]))
    assert isinstance(download, StreamingHttpResponse)
    assert SECRET.encode() not in b"".join(checkpoint_files.unpack_reply(download).values())
    assert ada_client.get(reverse("run-checkpoint", args=[run.uid, 9])).status_code == 404
    assert ada_client.get(reverse("run-log-file", args=[run.uid])).status_code == 404
    log_page = ada_client.get(reverse("run-log", args=[run.uid]), headers={"hx-request": "true"})
    assert SECRET not in log_page.content.decode()


@each_case("path", ["../../etc/x:Task", "/etc/x:Task", "a/../../b:Task", "file:///etc/x:Task"])
def test_own_task_path_is_refused(path: str) -> None:
    """Code from a path in a request: tasks are looked up by name, in folders that an admin has set."""
    config = {**preset("es-micro").config, "task": {"name": "own", "options": {"path": path}}}
    with pytest.raises(ConfigError, match="module:attribute"):
        RunConfig.from_json(config)


def _content(response: object) -> bytes:
    if isinstance(response, StreamingHttpResponse):
        checkpoint_files.close(response)
        return b""
    return bytes(response.content)  # type: ignore[attr-defined]
