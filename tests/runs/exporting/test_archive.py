"""The archive of a run: its files, what it leaves out, and how it is sent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.exporting import Parts, export_size
from runs.exporting.run_export import slots
from runs.models import Experiment, Run
from tests.guides.blocks import ROOT, read_blocks
from tests.runs import full_runs
from tests.runs.api_client import calls
from tests.runs.exporting.archives import archive_of, records_of_each_kind, unpack_to, unzip_reply
from tests.runs.external_runs import make_external_run
from tests.runs.full_runs import make_run
from workers.records import read, records_path

SECRET = "hf_abcdefghijklmnopqrstuvwx"
GUIDE = ROOT / "docs/guides/export.md"


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    """Create a run with files of each kind in its attempt's directory, and secrets among them."""
    run = make_run(experiment)
    full_runs.record(run, records_of_each_kind())
    directory = run.attempts.get().directory
    files = {
        "log.txt": "step 1\n", "replay.jsonl": '{"step":1}\n', "exit.json": '{"code": 0}', "run.json": "{}",
        "spec.json": f'{{"env": {{"TOKEN": "{SECRET}"}}}}', "site-token": SECRET, "claim/owner.json": SECRET,
        "checkpoints/step-000005/model.safetensors": "weights", "checkpoints/draft/model.safetensors": "no",
        "heartbeat.json": SECRET, "evaluate.json": str(runs_dir),
    }  # fmt: skip
    unpack_to(directory, {name: text.encode() for name, text in files.items()})
    (directory / "checkpoints/step-000005/config.json").symlink_to("/etc/hostname")
    return run


def names_of(run: Run, parts: Parts | None = None) -> set[str]:
    """Return the names of the files of the first attempt in an export."""
    folder = f"esweb-run-{run.uid}/esweb-{run.uid}-a1/"
    return {name.removeprefix(folder) for name in archive_of(run, parts) if name.startswith(folder)}


def test_archive_holds_the_attempt_and_neither_tokens_nor_links(run: Run, runs_dir: Path) -> None:
    plain = {"run.json", "site.json", "records.1.jsonl", "exit.json"}
    logs = {"log.txt", "replay.jsonl"}
    assert names_of(run) == plain | logs
    assert names_of(run, Parts(has_logs=False)) == plain
    assert names_of(run, Parts(has_checkpoints=True)) == plain | logs | {"checkpoints/step-000005/model.safetensors"}
    whole = b"".join(archive_of(run, Parts(has_checkpoints=True)).values())
    assert SECRET.encode() not in whole and str(runs_dir).encode() not in whole
    size = export_size([run])
    assert (size.attempts, size.logs, size.checkpoints, size.is_estimate) == (1, 29, 7, True) and size.records > 1000


def test_secrets_of_other_programs_are_replaced(experiment: Experiment, runs_dir: Path) -> None:
    config = {
        "api_key": SECRET,
        "wandb": {"token": SECRET},
        "data": "/data/train",
        "lr": 0.1,
        "url": f"https://a:{SECRET}@b",
    }
    run = make_external_run(experiment, config=config, command=f"train.py --api-key {SECRET} --lr 1", name="x")
    files = archive_of(run)
    assert SECRET.encode() not in b"".join(files.values())
    exported = json.loads(files[f"esweb-run-{run.uid}/esweb-{run.uid}-a1/run.json"])
    assert exported == {"api_key": "…", "wandb": {"token": "…"}, "data": "/data/train", "lr": 0.1, "url": "https://…@b"}


def test_own_record_files_are_exported_byte_for_byte(run: Run) -> None:
    attempt = run.attempts.get()
    rows = archive_of(run)[f"esweb-run-{run.uid}/{attempt.key}/records.1.jsonl"]
    path = records_path(attempt.directory, 1)
    path.write_bytes(rows + b'{"seq":99,"t":1.5,"kind":"status","phase":"d')
    name = f"esweb-run-{run.uid}/{attempt.key}/records.1.jsonl"
    # While the run writes, its last line may be incomplete: it is left for a later export.
    assert archive_of(run)[name] == rows
    full_runs.end(run)
    assert archive_of(Run.objects.get(pk=run.pk))[name] == path.read_bytes()
    # A file that lacks what the rows have is not the whole.
    attempt.record_files.update(offset=path.stat().st_size + 1)
    assert archive_of(run)[name] == rows


def test_loader_reads_every_table(run: Run, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="the loader needs pandas")
    folder = unpack_to(tmp_path / "unpacked", archive_of(run)) / f"esweb-run-{run.uid}"
    (guide_block,) = (block.text for block in read_blocks(GUIDE) if block.language == "python")
    code = (
        "import load, runpy\nrunpy.run_path('load.py', run_name='__main__')\n"
        f"[table.to_pickle(f'{{name}}.pickle') for name, table in load.read('.').items()]\n{guide_block}"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "responses" in ran.stdout and "rows" in ran.stdout
    tables = {path.stem: pandas.read_pickle(path) for path in folder.glob("*.pickle")}
    records = read(folder / f"esweb-{run.uid}-a1" / "records.1.jsonl").lines
    counts = {kind: sum(line.record.kind == kind for line in records) for kind in ("response", "probe", "checkpoint")}
    assert len(tables["responses"]) == counts["response"] == run.response_set.count()
    assert len(tables["checkpoints"]) == counts["checkpoint"] and len(tables["runs"]) == len(tables["attempts"]) == 1
    assert set(tables["metrics"]["key"]) == set(
        run.series.exclude(key__startswith="axes/").values_list("key", flat=True)
    )
    answers = tables["responses"].set_index(["step", "prompt_id", "sample"])
    assert answers.loc[(12, "france", 1), "prompt"] == "Capital of France?"
    assert answers.loc[(12, "france", 0), "prompt"] == "Capital of Italy?"
    assert len(tables["populations"]) == 6 and set(tables["populations"]["seed"]) == {0, 1}


def test_run_without_records_is_exported(experiment: Experiment, runs_dir: Path, ada_client: Client) -> None:
    run = make_run(experiment, state="queued")
    assert names_of(run) == {"run.json", "site.json", "records.0.jsonl"}
    assert "no records yet" in ada_client.get(reverse("run-export", args=[run.uid])).content.decode()


def test_page_names_sizes_and_file_is_sent_whole(ada_client: Client, run: Run) -> None:
    page = ada_client.get(reverse("run-export", args=[run.uid])).content.decode()
    assert "Include checkpoints (7\xa0bytes)" in page and reverse("run-export-file", args=[run.uid]) in page
    file = reverse("run-export-file", args=[run.uid])
    whole = ada_client.get(f"{file}?checkpoints=yes&logs=no")
    assert whole["Content-Disposition"] == f'attachment; filename="esweb-run-{run.uid}.zip"'
    names = {name.rpartition("/")[2] for name in unzip_reply(whole)}
    assert {"README.md", "load.py", "model.safetensors"} <= names and "log.txt" not in names
    assert ada_client.get(f"{file}?checkpoints=maybe").status_code == 404


def test_private_run_is_exported_to_its_owner_alone(run: Run, bo: User, bo_client: Client, ada: User) -> None:
    Experiment.objects.update(is_private=True)
    for name in ("run-export", "run-export-file"):
        assert bo_client.get(reverse(name, args=[run.uid])).status_code == 404
    for path in ("export", "export/size"):
        assert calls(bo, "read").get(f"/api/v1/runs/{run.uid}/{path}").status_code == 404
    size = calls(ada, "read").get(f"/api/v1/runs/{run.uid}/export/size").json()
    assert size["attempts"] == 1 and size["checkpoints"] == 7 and size["is_estimate"]
    reply = calls(ada, "read").get(f"/api/v1/runs/{run.uid}/export?logs=false")
    assert len(unzip_reply(reply)) == 6


def test_second_export_of_a_user_waits_for_the_first(
    run: Run, ada: User, ada_client: Client, bo_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "patience_seconds", 0.0)
    address = reverse("run-export-file", args=[run.uid])
    with slots.occupied(ada.pk):
        assert ada_client.get(address).status_code == 503
        assert unzip_reply(bo_client.get(address))
    assert unzip_reply(ada_client.get(address))
