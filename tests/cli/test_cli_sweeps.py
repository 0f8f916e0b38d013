"""`esweb sweep` and `esweb sweeps`, against the real server."""

from __future__ import annotations

import json
from pathlib import Path

from runs.models import Cluster, Run, Sweep
from tests.cli.conftest import RunCli

GRID = ("--preset", "es-micro", "--grid", "es.sigma=0.1,0.2", "--grid", "es.noise=full,low_rank", "--seeds", "0-1")


def test_sweep_is_planned_launched_and_listed(run_cli: RunCli, local: Cluster) -> None:
    code, out, _ = run_cli("sweep", "Concise", *GRID, "--plan")
    assert code == 0 and out.startswith("8 runs; 0 of them estimated") and 'es.noise="full" seed=0' in out
    assert not Run.objects.exists()
    code, out, _ = run_cli("sweep", "Concise", *GRID, "--at-once", "2", "--name", "wide", "--set", "es.iterations=7")
    sweep = Sweep.objects.get()
    assert code == 0 and out.startswith(f"{sweep.pk}  8 runs  wide  http://")
    assert (sweep.at_once, sweep.base["es"]["iterations"]) == (2, 7)
    assert len(json.loads(run_cli("ls", "--sweep", str(sweep.pk), "--json")[1])) == 8
    code, out, _ = run_cli("sweeps", str(sweep.pk))
    assert code == 0 and "running  0 of 8 finished (8 created)  wide" in out and "es.sigma=0.1" in out


def test_sweep_state_commands(run_cli: RunCli, local: Cluster) -> None:
    pk = str(json.loads(run_cli("sweep", "Concise", *GRID, "--json")[1])["id"])
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled"), ("uncancel", "running")):
        assert json.loads(run_cli("sweeps", pk, verb, "--json")[1])["state"] == state
    code, out, _ = run_cli("sweeps", pk, "extend", "--grid", "es.sigma=0.3", "--seeds", "2", "--at-once", "9", "--json")
    assert (code, json.loads(out)["runs"], json.loads(out)["at_once"]) == (0, 18, 9)
    code, _, err = run_cli("sweeps", pk, "pause", "--seeds", "2")
    assert code == 2 and "--seeds can only be used with extend" in err


def test_cells_file_is_read_and_errors_are_reported(run_cli: RunCli, local: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "cells.json"
    file.write_text('[{"es.sigma": 0.1}, {"es.sigma": 0.2, "es.alpha": 0.1}]')
    assert run_cli("sweep", "Concise", "--preset", "es-micro", "--cells", str(file))[0] == 0
    assert Run.objects.count() == 2
    for arguments in (["--grid", "es.sigma"], ["--cells", str(tmp_path)], ["--seeds", "x", "--grid", "es.sigma=1"]):
        assert run_cli("sweep", "Concise", "--preset", "es-micro", *arguments)[0] == 2
    code, _, err = run_cli("sweep", "Concise", "--preset", "es-micro", "--grid", "es.sigma=-1", "--grid", "es.sgima=1")
    assert code == 2 and "es.sgima: is not a known key; did you mean es.sigma?" in err
    assert Sweep.objects.count() == 1
