"""Probes on pages of runs: results of a probe run, and the probe runs that examined a training."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, Run
from tests.runs.evaluation_runs import make_training
from tests.runs.full_runs import record
from tests.runs.probe_runs import make_probe_run, record_norms, reward_line, shared_noise
from workers.records import Probe, ProbeValue

pytestmark = pytest.mark.django_db


@pytest.fixture
def trainings(experiment: Experiment, runs_dir: object) -> tuple[Run, Run]:
    return make_training(experiment, "es"), make_training(experiment, "grpo", seed=1)


def get(client: Client, run: Run) -> str:
    reply = client.get(run.get_absolute_url())
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_page_of_a_probe_run_lists_its_results(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    run = make_probe_run(experiment, trainings)
    assert "No results yet" in get(ada_client, run)
    record_norms(run, trainings[1], value=4.0)
    barrier = ProbeValue(0.375, 8, x=0.5, null=0.0, null_low=-0.5, null_high=0.5)
    subjects = [f"{training.uid}@10" for training in trainings]
    line = Probe(10, "interpolation", "barrier", subjects[0], (barrier,), subjects[1])
    record(run, [shared_noise(trainings[0]), reward_line(*trainings), line])
    panel = get(ada_client, run).partition('id="probes"')[2].partition("</section>")[0]
    address = reverse("probes", args=[experiment.pk])
    assert f'{address}?run={run.uid}"' in panel
    assert f"{address}?run={run.uid}&amp;measure=magnitude%2Fnorm" in panel
    # The whole model of the norms has twice the value of its tensors, and the band 0.9 to 1.1.
    assert "◆ </span>8</td>" in panel and "0.900 … 1.10" in panel and "shared</td>" in panel
    # A line has no value of the whole model; its barrier does.
    assert '<td class="number">0.375</td>' in panel and panel.count('<td class="number">–</td>') == 6
    assert trainings[1].get_absolute_url() in panel
    assert reverse("run-checkpoints", args=[run.uid]) not in get(ada_client, run)


def test_page_of_an_examined_run_lists_its_probe_runs(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    assert "probe-runs" not in get(ada_client, trainings[0])
    of_parent = make_probe_run(experiment, trainings[:1], "of a parent")
    named = record_norms(make_probe_run(experiment, trainings[:1], "of both"), trainings[1], step=20)
    first, second = (
        get(ada_client, training).partition('id="probe-runs"')[2].partition("</section>")[0] for training in trainings
    )
    assert of_parent.get_absolute_url() in first and named.get_absolute_url() in first
    assert named.get_absolute_url() in second and of_parent.get_absolute_url() not in second
    assert "<td>20</td>" in second and "Size of the change" in second
    assert f"?run={named.uid}" in second


def test_probe_runs_of_private_experiments_are_not_listed(
    ada_client: Client, bo: User, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    secret = Experiment.objects.create(name="Secret", owner=bo, is_private=True)
    record_norms(make_probe_run(secret, trainings[:1], "hidden probe"), trainings[0])
    assert "hidden probe" not in get(ada_client, trainings[0])
