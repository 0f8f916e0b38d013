"""Run folders over the API: loose files with their paths, or an archive; equal to the folder on the server's disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from runs.models import Import, Run
from tests.runs.api_client import calls
from tests.runs.importing.run_folders.folders import (
    UID,
    es_records,
    import_path,
    remarks_of,
    write_attempt,
    write_checkpoint,
)
from tests.runs.row_comparison import different_tables

pytestmark = pytest.mark.usefixtures("runs_dir")


def site_folder(root: Path) -> Path:
    """Write two attempts of a run of a site: the second has two epochs and a checkpoint."""
    write_attempt(root / f"esweb-{UID}-a10", es_records("second"), epoch=2)
    second = root / f"esweb-{UID}-a10"
    records = [*es_records("third")[:-1], write_checkpoint(second, 3), es_records()[-1]]
    write_attempt(second, records, epoch=10)
    write_attempt(root / f"esweb-{UID}-a9", es_records("first")[:5], code=1)
    (second / "site-token").write_text("secret")
    (second / "spec.json").write_text(
        f'{{"argv": ["python", "-m", "workers.train", "run.json", "--out", ".", "--code", "{"ab" * 32}", "--resume", '
        f'"../esweb-{UID}-a9/checkpoints/step-000001"], "env": {{"KEY": "secret"}}}}'
    )
    return root


def test_uploads_and_archives_equal_the_folder(ada: User, tmp_path: Path) -> None:
    root = site_folder(tmp_path / UID)
    imported = import_path(root, ada)
    run = Run.objects.get()
    left_out = {remark.rpartition("/")[2] for remark in remarks_of(imported)}
    assert left_out == {
        "site-token: may hold a token: not read",
        "optimizer.pt: is not among the files of a checkpoint that are imported: left out (6 bytes)",
    }
    attempts = list(run.attempts.order_by("n"))
    assert [(attempt.n, attempt.state, attempt.resumed_attempt, attempt.resumed_step) for attempt in attempts] == [
        (9, "failed", None, None), (10, "succeeded", 9, 1),
    ]  # fmt: skip
    assert [attempt.record_files.count() for attempt in attempts] == [1, 2]
    copied = sorted(file.relative_to(run.root).as_posix() for file in run.root.rglob("*") if file.is_file())
    second = f"esweb-{run.uid}-a10"
    assert set(copied) >= {f"{second}/checkpoints/step-000003/model.safetensors", f"{second}/replay.jsonl"}
    assert not [name for name in copied if "token" in name or "spec" in name or "optimizer" in name]
    script = calls(ada)
    files = [file for file in root.rglob("*") if file.is_file()]
    archives = [Path(shutil.make_archive(str(tmp_path / "packed"), kind, tmp_path, UID)) for kind in ("zip", "gztar")]
    for uploads in (files, *([archive] for archive in archives)):
        name = uploads[-1].name
        body = {
            "files": [SimpleUploadedFile(file.name, file.read_bytes()) for file in uploads],
            "path": [file.relative_to(tmp_path).as_posix() for file in uploads],
            "experiment_name": name,
        }
        answer = script.post("/api/v1/imports", body)
        assert answer.status_code == 200, answer.json()
        (copy,) = Run.objects.filter(experiment__name=name)
        assert set(different_tables(run, copy)) <= {"Run", "AttemptEvent"}, different_tables(run, copy)
        assert Import.objects.get(run=copy).files == Import.objects.get(run=run).files
        assert len([file for file in copy.root.rglob("*") if file.is_file()]) == len(copied)
        assert not script.post("/api/v1/imports", body | {"files": [
            SimpleUploadedFile(file.name, file.read_bytes()) for file in uploads
        ]}).json()["files"][0]["made"]  # fmt: skip


def test_bare_records_are_a_run_of_their_own(ada: User, tmp_path: Path) -> None:
    """Without its config, a run has the method that its records tell, and no seed."""
    folder = write_attempt(tmp_path / "d")
    records = SimpleUploadedFile("records.0.jsonl", (folder / "records.0.jsonl").read_bytes())
    result = calls(ada).post("/api/v1/imports", {"files": [records]}).json()
    run = Run.objects.get()
    assert (run.method, run.seed, run.state, run.config) == ("es", -1, "succeeded", {})
    assert result["files"][0]["not_understood"] == [{"place": "run.json", "why": "is missing: the config is unknown"}]
