"""Each launch decodes its config once, at the entry point: what follows gets the RunConfig."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from esweb.demo.experiment import DemoOptions, Plan, launch
from runs import launching
from runs.launching.run_names import changed_settings
from runs.launching.sweeps.commands import cancel_sweep, uncancel_sweep
from runs.models import Experiment, Run, Sweep
from tests.runs.api_client import calls
from tests.runs.launching.test_launch_page import sent
from tests.runs.launching.test_launch_resumes import make_ended_run
from tests.runs.local_cluster import attempt_of, run_of
from workers.config import RunConfig, preset, run

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
BODY = {"experiment_name": "Concise", "preset": "es-micro"}


class Decodes(list[Any]):
    """The configs that were decoded since the last `drain`."""

    def drain(self) -> int:
        """Return the number of decodes, and begin again."""
        n = len(self)
        self.clear()
        return n


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> Decodes:
    """Record each config that is decoded. The preset's own, with which names compare it, is decoded once a process."""
    changed_settings(RunConfig.from_json(preset("es-micro").config), "es-micro")
    decoded, decode = Decodes(), run.decode
    monkeypatch.setattr(run, "decode", lambda cls, data: decoded.append(data) or decode(cls, data))
    return decoded


def post(ada: User, address: str, body: Any) -> Any:
    reply = calls(ada).post(f"/api/v1/{address}", body, content_type="application/json")
    assert reply.status_code in (200, 201, 202), reply.content
    return reply.json()


def test_form_decodes_once_a_seed(ada_client: Client, experiment: Experiment, decodes: Decodes) -> None:
    address = reverse("launch", args=[experiment.pk])
    for typed, n in (({}, 1), ({"seeds": "1-3"}, 3), ({"compute.cluster": "moon"}, 1), ({"es.sigma": "-1"}, 1)):
        ada_client.post(address, sent(**typed))
        # A form that is shown again also decodes its preset, to name the models that it needs.
        is_shown_again = not {"compute.cluster", "es.sigma"}.isdisjoint(typed)
        assert decodes.drain() == n + is_shown_again, typed
    assert Run.objects.count() == 4


def test_check_of_the_form_decodes_once(ada_client: Client, experiment: Experiment, decodes: Decodes) -> None:
    ada_client.post(reverse("launch-check", args=[experiment.pk]), sent())
    assert decodes.drain() == 1


def test_form_of_a_sweep_decodes_the_base_and_each_run_once(
    ada_client: Client, experiment: Experiment, decodes: Decodes
) -> None:
    typed = {"sweep-key_1": "es.sigma", "sweep-values_1": "0.1, 0.2", "seeds": "0, 1"}
    ada_client.post(reverse("launch", args=[experiment.pk]), sent(**typed))
    assert (Run.objects.count(), decodes.drain()) == (4, 2 + 4)


def test_api_decodes_once_a_run(ada: User, decodes: Decodes) -> None:
    uid = post(ada, "runs", BODY)["uid"]
    assert decodes.drain() == 1
    post(ada, "runs", {**BODY, "seeds": [1, 2, 3]})
    assert decodes.drain() == 3
    post(ada, f"runs/{uid}/clone", {"seed": 9})
    assert decodes.drain() == 1
    post(ada, "preflight", {"preset": "es-micro", "config": {}})
    assert decodes.drain() == 1


def test_sweep_decodes_each_cell_once_a_seed(ada: User, decodes: Decodes) -> None:
    body = {**BODY, "grid": {"es.sigma": [0.1, 0.2]}, "seeds": [0, 1, 2]}
    post(ada, "sweeps/plan", body)
    assert decodes.drain() == 6
    sweep = post(ada, "sweeps", body)
    assert (sweep["runs"], decodes.drain()) == (6, 6)


def test_undone_cancel_of_a_sweep_decodes_each_run_once(ada: User, decodes: Decodes) -> None:
    sweep = Sweep.objects.get(pk=post(ada, "sweeps", {**BODY, "grid": {"es.sigma": [0.1, 0.2]}, "seeds": [0]})["id"])
    cancel_sweep(sweep, ada)
    # One that was held and one that was on its cluster.
    sweep.runs.first().attempts.update(submits=1)
    decodes.clear()
    assert (uncancel_sweep(sweep, ada), decodes.drain()) == (2, 2)


def test_resume_decodes_once(experiment: Experiment, ada: User, decodes: Decodes) -> None:
    ended = Run.objects.get(pk=make_ended_run(experiment).pk)
    decodes.clear()
    launching.create_resume_attempt(ended, ada)
    assert decodes.drain() == 1


def test_rebuild_decodes_once(experiment: Experiment, ada: User, decodes: Decodes) -> None:
    ended = Run.objects.get(pk=make_ended_run(experiment).pk)
    decodes.clear()
    launching.rebuild_checkpoint(ended, 0, ada)
    assert decodes.drain() == 1


def test_submit_decodes_once(experiment: Experiment, decodes: Decodes) -> None:
    created = run_of(experiment)
    assert decodes.drain() == 1
    launching.submit_job(attempt_of(created))
    assert decodes.drain() == 1


def test_demo_decodes_once_a_run(ada: User, decodes: Decodes) -> None:
    plan = Plan("micro", (DemoOptions("Demo", "?", (("es-micro", 1), ("es-micro", 2))),))
    launch(plan, ada)
    assert decodes.drain() == 2
