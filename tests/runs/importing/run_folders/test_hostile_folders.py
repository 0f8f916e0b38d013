"""Hostile run folders: each file is refused or reported, costs little, and reaches nothing outside of its own run."""

from __future__ import annotations

import io
import json
import os
import tarfile
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import importing
from runs.importing.budget import Budget, OverBudget
from runs.importing.records import ImportReport
from runs.importing.run_folders.assemble import find_run_folders
from runs.importing.run_folders.stored import write_pieces
from runs.importing.stored_sources import FrameWriter
from runs.models import Attempt, Experiment, Run, Score
from tests.cases import each_case
from tests.runs.importing.run_folders.folders import (
    BEGAN,
    UID,
    es_records,
    import_path,
    remarks_of,
    write_attempt,
    write_checkpoint,
    write_exit,
)
from workers.records import Checkpoint, Metric, Response, pack

pytestmark = pytest.mark.usefixtures("runs_dir")
GB = 1024**3
HUGE = 10**400


def append(folder: Path, *lines: bytes) -> None:
    with (folder / "records.0.jsonl").open("ab") as file:
        file.writelines(lines)


def metric(seq: int, step: int = 9, value: float = 1.0, t: float = BEGAN) -> bytes:
    return pack(seq, t, Metric(step, {"a": value}))


def _sparse(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    with (folder / name).open("wb") as file:
        file.truncate(10 * GB)


NEXT = len(es_records())
HOSTILE = {
    "zeros as records": lambda f: _sparse(f, "records.1.jsonl"),
    "zeros as a log": lambda f: _sparse(f, "log.txt"),
    "zeros as a config": lambda f: _sparse(f, "run.json"),
    "zeros in one line": lambda f: append(f, b"\0" * 9_000_000, b"\n"),
    "garbage": lambda f: append(f, b"x\n" * 20_000),
    "deep JSON": lambda f: append(f, b'{"seq":%d,"t":1,"kind":' % NEXT + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    "deep config": lambda f: (f / "run.json").write_text('{"a":' * 60 + "1" + "}" * 60),
    "huge numbers": lambda f: append(f, b'{"seq":%d,"t":1,"kind":"metric","step":%d,"values":{}}\n' % (NEXT, HUGE)),
    "huge seq": lambda f: append(f, metric(2**64), metric(NEXT)),
    "repeated seq": lambda f: append(f, metric(3), metric(3)),
    "gap": lambda f: append(f, metric(NEXT + 1000)),
    "checkpoint outside": lambda f: append(f, pack(NEXT, BEGAN, Checkpoint(1, "../../x", 1, "a" * 64))),
    "epoch of 11 digits": lambda f: (f / "records.99999999999.jsonl").write_bytes(metric(0)),
    "epoch with zeros": lambda f: (f / "records.007.jsonl").write_bytes(metric(0)),
    "exit code": lambda f: write_exit(f, code=10**30),
    "exit time": lambda f: write_exit(f, ended_at=float("1e300")),
    "exit is a list": lambda f: (f / "exit.json").write_text("[]"),
    "exit without a key": lambda f: (f / "exit.json").write_text('{"code": 0}'),
    "arguments": lambda f: (f / "spec.json").write_text('{"argv": [1]}'),
    "pickle": lambda f: write_checkpoint(f, 3),
    "checkpoint without record": lambda f: write_checkpoint(f, 7),
    "own file": lambda f: (f / "notes.md").write_text("x"),
    "token": lambda f: (f / "scorer-token").write_text("secret"),
    "empty replay log": lambda f: (f / "replay.jsonl").write_bytes(b""),
    "link": lambda f: (f / "slurm.log").symlink_to("/etc/passwd"),
    "device": lambda f: os.mkfifo(f / "slurm.log"),
    "config that is not storable": lambda f: (f / "run.json").write_text(
        json.dumps({"method": "es", "a\x00": "\ud800", "n": float("inf"), "h": 10**1000})),
}  # fmt: skip
NAMED = {
    "zeros as records": "records.1.jsonl", "zeros as a log": "log.txt", "zeros as a config": "run.json",
    "deep config": "run.json", "epoch of 11 digits": "records.99999999999.jsonl",
    "epoch with zeros": "records.007.jsonl", "exit code": "exit.json", "exit time": "exit.json",
    "exit is a list": "exit.json", "exit without a key": "exit.json", "arguments": "spec.json",
    "pickle": "optimizer.pt", "checkpoint without record": "step-000007", "own file": "notes.md",
    "token": "scorer-token", "empty replay log": "replay.jsonl", "link": "slurm.log", "device": "slurm.log",
    "config that is not storable": "run.json",
}  # fmt: skip
"""File that the import names, if it is not records.0.jsonl with a line."""


@each_case("kind", list(HOSTILE), ids=list(HOSTILE))
def test_hostile_file_is_reported_by_name(ada: User, tmp_path: Path, kind: str) -> None:
    folder = write_attempt(tmp_path / "d")
    HOSTILE[kind](folder)
    imported = import_path(folder, ada, kind)
    (run,) = imported.new_runs
    remarks = remarks_of(imported)
    assert any(NAMED.get(kind, "records.0.jsonl, line") in remark for remark in remarks), remarks
    assert len(remarks) <= 202
    assert run.population_set.count() == 3, "the whole records are there"
    assert "passwd" not in str(list(run.root.rglob("*"))) and not list(run.root.rglob("*token*"))
    assert sum(file.stat().st_size for file in run.root.rglob("*") if file.is_file()) < 12_000_000


def test_record_without_a_time_is_stored_with_a_warning(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    append(folder, b'{"seq":%d,"t":"NaN","kind":"metric","step":77,"values":{"a":1}}\n' % NEXT)
    imported = import_path(folder, ada, "d")
    (run,) = imported.new_runs
    assert any("nan is no time in Unix seconds: the record has no time" in remark for remark in remarks_of(imported))
    assert run.attempts.get().events.filter(why__contains=f"first at seq {NEXT}: nan").exists()
    assert run.series.get(key="a").last_step == 77


def test_numbers_at_the_limits_are_stored_bit_by_bit(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d", [
        Metric(1, {"a": float("nan"), "b": float("inf"), "c": 5e-324, "d": -0.0, "e": 1.7976931348623157e308}),
        Metric(-5, {"a": 1.0}), Response(1, "eval", "q\x00", 0, "a\x00\ud800", 1, float("nan"), prompt="p"),
    ])  # fmt: skip
    run = import_path(folder, ada).new_runs[0]
    assert run.series.count() == 5
    assert run.response_set.get().text == "a\ufffd?"


def test_archive_with_paths_and_links_reaches_nothing(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / f"esweb-{UID}-a1")
    archive = tmp_path / "hostile.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(folder, folder.name)
        for name, kind in (
            (f"{folder.name}/slurm.log", tarfile.SYMTYPE),
            (f"{folder.name}/evaluate.json", tarfile.LNKTYPE),
        ):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, "/etc/passwd"
            packed.addfile(link)
        for name in (
            f"../esweb-{UID}-a2/records.0.jsonl",
            f"/{folder.name}/run.json",
            f"{folder.name}/../../probe.json",
        ):
            member = tarfile.TarInfo(name)
            member.size = 3
            packed.addfile(member, io.BytesIO(b"abc"))
    imported = import_path(archive, ada)
    assert len(imported.refused) == 5
    (run,) = imported.new_runs
    names = {file.name for file in run.root.rglob("*") if file.is_file()}
    assert names == {"records.0.jsonl", "run.json", "log.txt", "replay.jsonl"}


def test_folder_named_as_a_run_of_this_site_writes_nothing_there(ada: User, bo: User, tmp_path: Path) -> None:
    experiment = Experiment.objects.create(owner=bo, name="Mine")
    here = Run.objects.create(experiment=experiment, uid=UID, name="a", method="es", seed=0, config={}, created_by=bo)
    Attempt.objects.create(
        run=here, n=1, key=f"esweb-{UID}-a1", origin="import", state="failed", drained_at=timezone.now()
    )
    here.attempts.get().directory.mkdir(parents=True)
    imported = import_path(write_attempt(tmp_path / f"esweb-{UID}-a1"), ada)
    assert imported.new_runs[0].uid != UID
    assert (list(here.attempts.get().directory.iterdir()), here.attempts.get().record_files.count()) == ([], 0)
    assert here.response_set.count() == here.attempts.get().events.count() == 0


def test_many_epochs_cost_what_they_hold(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    for epoch in range(1, 60):
        (folder / f"records.{epoch * 1000}.jsonl").write_bytes(metric(0, step=epoch))
    run = import_path(folder, ada).new_runs[0]
    assert run.attempts.get().record_files.count() == 60


@each_case("is_outer", [False, True], ids=["file", "folder"])
def test_link_that_replaces_a_listed_file_is_not_followed(ada: User, tmp_path: Path, is_outer: bool) -> None:
    """Who may write to a disk that the server reads may replace a file or a folder after it was listed."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "log.txt").write_text("TOKEN\n")
    folder = write_attempt(tmp_path / "d")
    with ExitStack() as stack:
        files = list(importing.files_from_path(folder, stack))
        if is_outer:
            folder.rename(tmp_path / "moved")
            folder.symlink_to(tmp_path / "secret")
        else:
            (folder / "log.txt").unlink()
            (folder / "log.txt").symlink_to(tmp_path / "secret" / "log.txt")
        imported = importing.import_runs(files, importing.ImportTarget(ada, "Links"))
    assert imported.refused or "log.txt" in str(remarks_of(imported))
    copies = [path for run in Run.objects.all() for path in run.root.rglob("*") if path.is_file()]
    assert not [path for path in copies if b"TOKEN" in path.read_bytes()]


def test_pipe_that_replaces_a_listed_file_is_not_waited_for(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    with ExitStack() as stack:
        files = list(importing.files_from_path(folder, stack))
        (folder / "replay.jsonl").unlink()
        os.mkfifo(folder / "replay.jsonl")
        imported = importing.import_runs(files, importing.ImportTarget(ada, "Pipes"))
    assert "is not a regular file any more" in str(imported.refused)


def test_facts_and_scores_that_no_page_could_show_are_left_out(ada: User, ada_client: Client, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    event = {"at": 1e9, "level": "fatal", "why": "<script>alert(1)</script>", "from_state": "x", "to_state": "y"}
    run = {"uid": "a", "name": "<script>alert(2)</script>", "method": "es", "seed": 1, "state": "running"}
    attempt = {"n": 1, "origin": "x", "state": "succeeded", "exit_signal": -7, "started_at": 3.2e10, "ended_at": 0}
    facts = {"format": 1, "records": "files", "events": [event], "run": {**run, "series_origin": ""}}
    (folder / "site.json").write_text(json.dumps({**facts, "attempt": attempt}))
    score = b'{"epoch":0,"seq":4,"scorer":"a","key":"k","value":%s}\n'
    others = [score.replace(b'"a"', b'"%d"' % number) % b"1" for number in range(60)]
    (folder / "scores.jsonl").write_bytes(b"".join([score % b"1", score % (b"1" * 400), *others]))
    imported = import_path(folder, ada)
    (saved,) = imported.new_runs
    assert "scores.jsonl, line 2: is no score" in str(remarks_of(imported))
    assert Score.objects.filter(response__run=saved).values("scorer").distinct().count() == 50
    for page in ("", "log/"):
        shown = ada_client.get(f"/runs/{saved.uid}/{page}")
        assert shown.status_code == 200 and b"<script>alert" not in shown.content


def test_site_facts_beyond_their_size_are_not_parsed(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    (folder / "site.json").write_bytes(b" " * (8 * 1024**2 + 1))
    assert "at most 8388608 are read" in str(remarks_of(import_path(folder, ada)))


def test_scores_of_an_upload_count_before_they_are_saved(ada: User, tmp_path: Path) -> None:
    folder = write_attempt(tmp_path / "d")
    line = b'{"epoch":0,"seq":4,"scorer":"%05d","key":"k","value":1}\n'
    (folder / "scores.jsonl").write_bytes(b"".join(line % number for number in range(3_000)))
    budget = Budget()
    with ExitStack() as stack, TemporaryFile() as frames:
        files = [file for file in importing.files_from_path(folder, stack) if isinstance(file, importing.File)]
        with pytest.raises(OverBudget, match="numbers"):
            write_pieces(FrameWriter(frames), find_run_folders(files)[0][0], budget, ImportReport())
    assert not Run.objects.exists()


def test_config_of_any_form_leaves_the_pages_of_its_experiment_whole(
    ada: User, ada_client: Client, tmp_path: Path
) -> None:
    folder = write_attempt(tmp_path / "d")
    (folder / "run.json").write_text(json.dumps({"method": "es", "task": {"name": {"a": 1}}, "model": [1], "es": "x"}))
    run = import_path(folder, ada).new_runs[0]
    for page in (run.get_absolute_url(), run.experiment.get_absolute_url()):
        assert ada_client.get(page).status_code == 200
