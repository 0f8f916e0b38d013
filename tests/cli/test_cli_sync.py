"""`esweb sync` sends runs that a program recorded offline, to the real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from esweb_client.cli.errors import AWAY, BAD_INPUT
from runs.models import Run
from tests.cli.conftest import RunCli

PROGRAM = """
import json, sys
import esweb_client
run = esweb_client.init(mode="offline", dir=sys.argv[1], capture_git=False, **json.loads(sys.argv[2]))
run.log({"loss": 0.5}, step=0)
run.finish()
"""


def record_offline(folder: Path, **settings: object) -> None:
    """Record a run by a program that ends before it is sent."""
    arguments = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(settings)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ESWEB_")}
    subprocess.run(arguments, env=environment, check=True, capture_output=True)


def test_offline_runs_are_sent_once(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "spools"
    record_offline(folder, project="Elsewhere", id="first", config={"lr": 0.1})
    code, out, err = run_cli("sync", str(folder))
    assert (code, err) == (0, "") and out.splitlines()[0].startswith("first: sent")
    assert out.splitlines()[-1] == "1 sent, 0 already sent, 0 still written, 0 failed"
    run = Run.objects.get()
    assert (run.experiment.name, run.state, run.config["lr"]) == ("Elsewhere", "succeeded", 0.1)
    monkeypatch.setenv("ESWEB_DIR", str(folder))
    result = json.loads(run_cli("sync", "--clean", "--json")[1])
    assert (result["counts"]["already sent"], result["spools"][0]["run_id"]) == (1, "first")
    assert run_cli("sync")[1] == "0 sent, 0 already sent, 0 still written, 0 failed\n"
    assert Run.objects.count() == 1


def test_refused_run_is_reported_by_exit_code(run_cli: RunCli, tmp_path: Path) -> None:
    record_offline(tmp_path / "spools", experiment=999_999, id="lost")
    code, out, _ = run_cli("sync", str(tmp_path / "spools"))
    assert code == AWAY and "lost: failed" in out and out.endswith("1 failed\n")
    assert any((tmp_path / "spools").iterdir())


def test_run_without_its_settings_is_sent_or_named(run_cli: RunCli, tmp_path: Path) -> None:
    folder = tmp_path / "spools"
    for name in ("lost", "moved"):
        record_offline(folder, project="Elsewhere", id=name)
        [settings] = (folder / name).glob("*/meta.json")
        settings.unlink()
    moved = settings.parent.rename(folder / "moved" / "a copy")
    code, out, err = run_cli("sync", str(folder), "--project", "Rescued")
    lines = out.splitlines()
    assert (code, lines[-1]) == (AWAY, "1 sent, 0 already sent, 0 still written, 1 failed")
    assert any(line.startswith("moved: failed (meta.json is missing") and line.endswith(str(moved)) for line in lines)
    assert "meta.json of this start was lost" in err
    run = Run.objects.get()
    assert (run.experiment.name, run.name, run.state) == ("Rescued", "lost", "succeeded")


def test_missing_folder_is_reported(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run_cli("sync")
    assert code == BAD_INPUT and "there is no folder esweb-runs" in err
