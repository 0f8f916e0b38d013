"""Sweeps over the API: launched once however often they are requested, and managed as a unit."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Attempt, Cluster, Experiment, Run, Sweep
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import evaluation, record

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
GRID = {"es.sigma": [0.1, 0.2], "es.population": [4, 8]}


def body(**more: Any) -> dict[str, Any]:
    """Return a sweep of eight runs."""
    return {"experiment_name": "Concise", "preset": "es-micro", "grid": GRID, "seeds": [0, 1], "at_once": 3, **more}


def post(client: Client, address: str, sent: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1/{address}", sent or {}, content_type="application/json", headers=headers)


def test_one_call_makes_the_sweep_and_a_repeated_one_makes_nothing(ada: User) -> None:
    script = calls(ada)
    answers = [post(script, "sweeps", body(), **{"Idempotency-Key": "mine"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    sweep = answers[0].json()
    assert (sweep["runs"], sweep["waiting"], sweep["state"], sweep["states"]) == (8, 8, "running", {"created": 8})
    runs = calls(ada, "read").get(f"/api/v1/runs?sweep={sweep['id']}&seed=1").json()["items"]
    assert len(runs) == 4 and {run["sweep"] for run in runs} == {sweep["id"]}
    assert (sweep["at_once"], sweep["url"]) == (3, f"/sweeps/{sweep['id']}/")
    assert (Sweep.objects.count(), Run.objects.count()) == (1, 8)


def test_a_plan_counts_and_estimates_and_makes_nothing(ada: User) -> None:
    plan = post(calls(ada), "sweeps/plan", body()).json()
    assert (plan["runs"], plan["unknown"], len(plan["first"])) == (8, 8, 5)
    assert plan["first"][0]["cell"] == {"es.sigma": 0.1, "es.population": 4}
    assert not Run.objects.exists() and not Experiment.objects.exists()


def test_invalid_sweep_is_reported_at_its_key_and_not_created(ada: User) -> None:
    for address in ("sweeps", "sweeps/plan"):
        answer = post(calls(ada), address, body(grid={"es.sigma": [0.1, -1], "es.sgima": [1]}))
        assert answer.status_code == 422 and "did you mean es.sigma?" in paths(answer)["es.sgima"]
        answer = post(calls(ada), address, body(grid={"es.sigma": [-1], "compute.cluster": ["moon"]}, at_once=0))
        assert paths(answer)["es.sigma"].startswith("must be above 0")
        assert (
            "must be one of local"
            in paths(post(calls(ada), address, body(grid={"compute.cluster": ["moon"]})))["compute.cluster"]
        )
    assert not Sweep.objects.exists() and not Run.objects.exists()


def test_sweep_is_read_with_cells_and_rewards(ada: User) -> None:
    pk = post(calls(ada), "sweeps", body(grid={"es.sigma": [0.1, 0.2]})).json()["id"]
    for run, reward in zip(Run.objects.filter(cell={"es.sigma": 0.2}).order_by("seed"), (-30.0, -10.0), strict=True):
        record(run, [evaluation(5, reward)])
    sweep = calls(ada, "read").get(f"/api/v1/sweeps/{pk}").json()
    first, second = sweep["table"]
    assert (first["cell"], first["n"], first["mean"]) == ({"es.sigma": 0.1}, 0, None)
    assert (second["mean"], second["low"], second["high"], second["spread"]) == (-20.0, -30.0, -10.0, "range")
    assert [run["reward"] for run in second["runs"]] == [-30.0, -10.0]


def test_sweep_is_paused_resumed_extended_and_cancelled(ada: User) -> None:
    script = calls(ada)
    pk = post(script, "sweeps", body()).json()["id"]
    assert post(script, f"sweeps/{pk}/pause").json()["state"] == "paused"
    assert post(script, f"sweeps/{pk}/pause").json()["paused_at"] is not None
    assert post(script, f"sweeps/{pk}/resume").json()["state"] == "running"
    more = post(script, f"sweeps/{pk}/extend", {"grid": {"es.sigma": [0.3]}, "seeds": [1, 2], "at_once": 5}).json()
    assert (more["runs"], more["at_once"], more["seeds"]) == (18, 5, [0, 1, 2])
    answer = post(script, f"sweeps/{pk}/extend", {"grid": {"es.alpha": [0.3]}})
    assert "its keys are" in paths(answer)["es.alpha"]
    assert post(script, f"sweeps/{pk}/cancel").json()["state"] == "cancelled"
    assert post(script, f"sweeps/{pk}/cancel").status_code == 409
    assert post(script, f"sweeps/{pk}/uncancel").json()["waiting"] == 18
    assert post(script, f"sweeps/{pk}/uncancel").status_code == 409
    assert Attempt.objects.count() == 36


def test_others_may_look_and_strangers_not_even_that(ada: User, bo: User, private_experiment: Experiment) -> None:
    pk = post(calls(ada), "sweeps", body()).json()["id"]
    hidden = body(experiment=private_experiment.pk) | {"grid": {"es.sigma": [0.1]}}
    del hidden["experiment_name"]
    secret = post(calls(ada), "sweeps", hidden).json()["id"]
    other_api = calls(bo)
    assert [s["id"] for s in other_api.get("/api/v1/sweeps").json()["items"]] == [pk]
    for verb in ("pause", "resume", "extend", "cancel", "uncancel"):
        assert post(other_api, f"sweeps/{pk}/{verb}").status_code == 403
        assert post(other_api, f"sweeps/{secret}/{verb}").status_code == 404
    assert other_api.get(f"/api/v1/sweeps/{secret}").status_code == 404
    assert post(calls(ada, "read"), f"sweeps/{pk}/pause").status_code == 403
    assert Attempt.objects.on_hold().count() == 10


def test_a_cluster_may_be_swept_over(ada: User) -> None:
    Cluster.objects.create(name="far", kind="slurm")
    assert post(calls(ada), "sweeps", body(grid={"compute.cluster": ["far", "local"]})).status_code == 201
    assert set(Attempt.objects.values_list("cluster__name", flat=True)) == {"far", "local"}
