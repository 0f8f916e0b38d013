"""The queue over the API, and runs held, released and moved by call."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from runs.models import Cluster, Experiment
from tests.runs.api_client import calls, paths
from tests.runs.launching.test_api_sweeps import post
from tests.runs.launching.test_queue_page import waiting

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


def test_queue_counts_the_gpus_of_all_nodes(ada: User, experiment: Experiment) -> None:
    run = waiting(experiment)
    run.config["compute"] |= {"nodes": 2, "gpus": 4, "cores": 8, "gpu_type": "h100"}
    run.save()
    (job,) = calls(ada, "read").get("/api/v1/queue").json()["items"]
    assert {name: job[name] for name in ("nodes", "gpus", "cores", "total_gpus", "total_cores")} == {
        "nodes": 2, "gpus": 4, "cores": 8, "total_gpus": 8, "total_cores": 16,
    }  # fmt: skip


def test_queue_states_the_share_of_a_gpu(ada: User, experiment: Experiment) -> None:
    run = waiting(experiment)
    script, names = calls(ada, "read"), ("gpus", "total_gpus", "gpu_memory_mb")
    for gpus, planned, expected in (
        ("auto", {}, [1, 1, 0]),
        ("auto", {"gpu_share": 0.07, "gpu_memory_mb": 9600}, [0.07, 0.07, 9600]),
        ("auto", {"gpu_share": 1, "gpu_memory_mb": 100_000}, [1, 1, 100_000]),
        (0.25, {"gpu_share": 0.25, "gpu_memory_mb": 0}, [0.25, 0.25, 0]),
    ):
        run.config["compute"] |= {"gpus": gpus}
        run.save()
        run.attempts.update(**planned)
        (job,) = script.get("/api/v1/queue").json()["items"]
        assert [job[name] for name in names] == expected


def test_the_queue_is_read_and_changed(ada: User, bo: User, experiment: Experiment) -> None:
    Cluster.objects.create(name="far", kind="slurm")
    run = waiting(experiment)
    queue = calls(bo, "read").get("/api/v1/queue").json()
    (job,) = queue["items"]
    assert (queue["going"], queue["waiting"], job["run"], job["position"]) == (0, 1, run.uid, 3)
    assert (job["person"], job["cluster"], job["held"], job["cores"]) == ("ada", "local", False, 1)
    assert calls(bo, "read").get("/api/v1/queue?mine=true").json()["items"] == []
    assert "the clusters are far, local" in calls(bo, "read").get("/api/v1/queue?cluster=moon").json()["detail"]
    script = calls(ada)
    for verb in ("hold", "release"):
        assert post(calls(bo), f"runs/{run.uid}/{verb}").status_code == 403
    assert post(script, f"runs/{run.uid}/release").status_code == 409
    assert "far, local" in paths(post(script, f"runs/{run.uid}/move", {"cluster": "moon"}))["compute.cluster"]
    assert post(script, f"runs/{run.uid}/move", {"cluster": "far"}).status_code == 202
    assert run.attempts.get().moves_to is not None
    assert post(script, f"runs/{run.uid}/hold").status_code == 409
