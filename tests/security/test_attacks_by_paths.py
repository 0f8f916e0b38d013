"""Attacks that other trackers fell to: paths that lead out of where they should, in addresses, records and files.

CVE-2026-2614, CVE-2023-6831, CVE-2023-3765, CVE-2024-1483, -1558, -1560, -1594 and -3848, and mlflow#7166
(`get-artifact?path=../../etc/passwd`), each tried where our own addresses take what a path could be made of.
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
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls
from workers.config import ConfigError, RunConfig, preset

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
SECRET = "zq7outside"
WAYS_OUT = [
    "../../outside.txt", "..%2f..%2foutside.txt", "%2e%2e/%2e%2e/outside.txt", "....//....//outside.txt",
    "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "file:%2f%2f%2fetc%2fpasswd",
    "x%23/../../outside.txt", "x?/../../outside.txt", "..\\..\\outside.txt", "..%5c..%5coutside.txt", "%00/outside.txt",
    "\u2025/outside.txt",
]  # fmt: skip


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    """A run with a checkpoint, beside a file that nobody may read."""
    run = full_runs.make_run(experiment, "es-micro")
    checkpoint_files.save(run, 5)
    (runs_dir / "outside.txt").write_text(SECRET)
    (runs_dir.parent / "outside.txt").write_text(SECRET)
    return run


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_address_leads_to_a_file_outside(ada: User, ada_client: Client, run: Run, way: str) -> None:
    """Reading any file: CVE-2026-2614 and CVE-2023-6831; with a # before the dots, CVE-2024-1594 and -3848."""
    script = calls(ada, "admin")
    for before, after in (("/runs/", "/log.txt"), (f"/runs/{run.uid}/checkpoints/", "/"), ("/static/", ""),
                          (f"/runs/{run.uid}/attempts/", "/log.txt"), ("/shared/", "/")):  # fmt: skip
        answer = ada_client.get(f"{before}{way}{after}", follow=True)
        assert SECRET.encode() not in _content(answer) and b"root:" not in _content(answer)
    for before, after in (
        (f"/api/v1/runs/{run.uid}/checkpoints/", "/download"),
        ("/api/v1/runs/", ""),
        ("/api/v1/attempts/", ""),
    ):
        answer = script.get(f"{before}{way}{after}")
        assert SECRET.encode() not in answer.content and b"root:" not in answer.content


@pytest.mark.parametrize("names", ["path file artifact log", "log_find", "name", "as", "section", "step"])
def test_no_question_names_a_file(ada_client: Client, run: Run, names: str) -> None:
    """mlflow#7166: `get-artifact?path=../../etc/passwd`."""
    for page in ("run", "run-log", "run-chart", "run-responses", "run-checkpoints"):
        for way in ("../../outside.txt", "/etc/passwd"):
            asked = dict.fromkeys(names.split(), way)
            answer = ada_client.get(reverse(page, args=[run.uid]), asked, headers={"hx-request": "true"})
            assert SECRET.encode() not in answer.content and b"root:" not in answer.content


@pytest.mark.parametrize(
    "path", ["../../outside.txt", "/etc/passwd", "checkpoints/../../../outside.txt", "", "a\x00b", ".."]
)
def test_a_record_names_no_file_outside(ada: User, run: Run, path: str) -> None:
    """A path that was written by whoever may write, and believed later: CVE-2024-1558, CVE-2024-1560, CVE-2023-3765."""
    key = f"esweb-{run.uid}-a1"
    line = {"seq": 0, "t": 0, "kind": "checkpoint", "step": 7, "path": path, "bytes": 1, "sha256": "ab" * 32}
    pushed = calls(ada, "ingest", run=run).post(
        f"/api/v1/attempts/{key}/records?epoch=9", json.dumps(line), content_type="application/jsonl"
    )
    assert pushed.status_code == 422
    assert not Checkpoint.objects.filter(step=7).exists()


def test_links_in_a_runs_folder_are_not_followed(ada_client: Client, run: Run, runs_dir: Path) -> None:
    """Files that stand for others, CVE-2024-1483's class: what runs writes its folder, and the server reads it."""
    attempt = run.attempts.get()
    inside = attempt.directory / "checkpoints" / "step-000005"
    (inside / "model.bin").symlink_to(runs_dir / "outside.txt")
    (inside / "all").symlink_to(runs_dir)
    (attempt.directory / "log.txt").symlink_to(runs_dir / "outside.txt")
    (attempt.directory / "checkpoints" / "step-000009").symlink_to(runs_dir)
    download = ada_client.get(reverse("run-checkpoint", args=[run.uid, 5]))
    assert isinstance(download, StreamingHttpResponse)
    assert SECRET.encode() not in b"".join(checkpoint_files.unpacked(download).values())
    assert ada_client.get(reverse("run-checkpoint", args=[run.uid, 9])).status_code == 404
    assert ada_client.get(reverse("run-log-file", args=[run.uid])).status_code == 404
    shown = ada_client.get(reverse("run-log", args=[run.uid]), headers={"hx-request": "true"})
    assert SECRET not in shown.content.decode()


@pytest.mark.parametrize("path", ["../../etc/x:Task", "/etc/x:Task", "a/../../b:Task", "file:///etc/x:Task"])
def test_a_task_is_named_and_not_pointed_at(path: str) -> None:
    """Code from wherever a request says: tasks are looked for by name, in folders that an admin has named."""
    config = {**preset("es-micro").config, "task": {"name": "own", "options": {"path": path}}}
    with pytest.raises(ConfigError, match="module:attribute"):
        RunConfig.from_json(config)


def _content(answer: object) -> bytes:
    if isinstance(answer, StreamingHttpResponse):
        checkpoint_files.close(answer)
        return b""
    return bytes(answer.content)  # type: ignore[attr-defined]
