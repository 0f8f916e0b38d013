"""`esweb import`, against the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from esweb_client.cli.errors import BAD_INPUT, NOT_ALLOWED
from runs.models import Experiment, Run
from tests.cli.conftest import RunCli
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration

pytestmark = pytest.mark.usefixtures("runs_dir")


def log(seed: int = 0, iterations: int = 4) -> str:
    """Return a log of ES."""
    return HEADER.format(seed=seed) + "".join(map(iteration, range(1, iterations + 1)))


def test_files_become_runs_and_refused_ones_are_named(run_cli: RunCli, tmp_path: Path) -> None:
    file, other = tmp_path / 'a "1".log', tmp_path / "b.md"
    file.write_text(log() + ENDED)
    other.write_text("# no\n")
    code, out, err = run_cli("import", str(file), str(other), "--experiment", "Mine")
    run = Run.objects.get()
    lines = out.splitlines()
    assert (code, err) == (0, "") and lines[0].startswith(f"{run.uid}  new  ") and lines[0].endswith(f"/{run.uid}/")
    assert "b.md  not read: " in lines[1] and lines[2] == "1 new run in Mine; 1 file not read."
    assert run_cli("import", str(file), "--experiment", "Mine")[1].splitlines()[0].startswith(f"{run.uid}  already")
    assert Run.objects.count() == 1


def test_grown_file_continues_its_run(run_cli: RunCli, tmp_path: Path, experiment: Experiment) -> None:
    file = tmp_path / "a.log"
    file.write_text(log(iterations=2))
    assert run_cli("import", str(file), "--experiment", str(experiment.pk))[0] == 0
    file.write_text(log(iterations=4) + ENDED)
    code, out, _ = run_cli("import", str(file), "--experiment", str(experiment.pk), "--json")
    run = Run.objects.get(experiment=experiment)
    assert (code, json.loads(out)["files"][0]["went_on"][0]["uid"]) == (0, run.uid)


def test_folder_is_sent_with_the_names_of_its_files(run_cli: RunCli, tmp_path: Path) -> None:
    folder = tmp_path / "alpha0.0005_sigma0.001"
    folder.mkdir()
    for seed in (0, 1):
        (folder / f"es_seed{seed}.log").write_text("".join(map(iteration, range(1, 3 + seed))))
    code, out, _ = run_cli("import", str(folder), "--json")
    assert code == 0
    assert [file["name"] for file in json.loads(out)["files"]] == [f"{folder.name}/es_seed{n}.log" for n in (0, 1)]
    assert set(Run.objects.values_list("seed", "config__es__sigma")) == {(0, 0.001), (1, 0.001)}


def test_cells_that_are_not_read_are_named(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "verl.log"
    file.write_text("".join(f"step:{step} - a:1 - b:x{step}\n" for step in range(21)))
    lines = run_cli("import", str(file))[1].splitlines()
    assert len(lines) == 23 and lines[2].endswith("verl.log  line 2, column b  not read: 'x1' is not a number")
    assert lines[21].endswith("verl.log  not read: 1 more cell")


def test_nothing_read_is_bad_input(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text("# no\n")
    code, out, err = run_cli("import", str(file))
    assert (code, out) == (BAD_INPUT, "") and "Nothing was read" in err and "a.md" in err
    assert run_cli("import", str(tmp_path / "none"))[0] == BAD_INPUT
    (tmp_path / "empty").mkdir()
    assert "contain no file" in run_cli("import", str(tmp_path / "empty"))[2]
    monkeypatch.setenv("ESWEB_TOKEN", "esw_wrong")
    assert run_cli("import", str(file))[0] == NOT_ALLOWED
