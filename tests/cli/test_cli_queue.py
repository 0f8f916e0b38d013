"""`esweb queue`, `hold`, `release` and `move`, against the real server."""

from __future__ import annotations

import json

from runs.models import Attempt, Cluster, Experiment
from tests.cli.conftest import RunCli
from tests.runs.launching.test_queue_page import waiting


def test_queue_commands_hold_release_and_move_runs(run_cli: RunCli, local: Cluster, experiment: Experiment) -> None:
    Cluster.objects.create(name="far", kind="slurm")
    run = waiting(experiment)
    code, out, _ = run_cli("queue")
    assert code == 0 and out.splitlines()[1].split()[:4] == [run.uid, "queued", "local", "ada"]
    assert "starts waiting runs in order" in out and out.endswith("0 going, 1 waiting\n")
    assert "1 core " in out.splitlines()[1]
    run.config["compute"] |= {"gpus": 0.25}
    run.save()
    assert "0.25 GPU " in run_cli("queue")[1].splitlines()[1]
    assert json.loads(run_cli("queue", "--cluster", "far", "--mine", "--json")[1])["items"] == []
    assert run_cli("hold", run.uid)[:2] == (0, f"{run.uid}  hold requested; the run is queued\n")
    assert run_cli("hold", run.uid)[0] == 1
    Attempt.objects.update(state="created", hold="person", moves_to=None, cancel_requested_at=None)
    assert "held" in run_cli("queue")[1]
    assert run_cli("release", run.uid)[0] == 0
    assert run_cli("move", run.uid, "--to", "far")[:2] == (0, f"{run.uid}  moves to far\n")
    code, _, err = run_cli("move", run.uid, "--to", "moon")
    assert code == 1 or "far, local" in err
