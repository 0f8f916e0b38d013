"""`esweb queue`, `hold`, `release` and `move`, against the real server."""

from __future__ import annotations

import json

from runs.models import Attempt, Cluster, Experiment
from tests.cli.conftest import Say
from tests.runs.launching.test_queue_page import waiting


def test_the_queue_is_told_and_runs_are_held_released_and_moved(
    say: Say, local: Cluster, experiment: Experiment
) -> None:
    Cluster.objects.create(name="far", kind="slurm")
    run = waiting(experiment)
    code, out, _ = say("queue")
    assert code == 0 and out.splitlines()[1].split()[:4] == [run.uid, "queued", "local", "ada"]
    assert "starts what waits in order" in out and out.endswith("0 going, 1 waiting\n")
    assert json.loads(say("queue", "--cluster", "far", "--mine", "--json")[1])["items"] == []
    assert say("hold", run.uid)[:2] == (0, f"{run.uid}  hold: asked for; the run is queued\n")
    assert say("hold", run.uid)[0] == 1
    Attempt.objects.update(state="created", hold="person", moves_to=None, cancel_requested_at=None)
    assert "held" in say("queue")[1]
    assert say("release", run.uid)[0] == 0
    assert say("move", run.uid, "--to", "far")[:2] == (0, f"{run.uid}  moves to far\n")
    code, _, err = say("move", run.uid, "--to", "moon")
    assert code == 1 or "far, local" in err
