"""Evaluations of a run as files: CSV with every digit, and LaTeX with the columns of the page."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, Import, Run
from tests.runs.compare.test_conditions import summary
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def training(experiment: Experiment) -> Run:
    """Return a run with two evaluations that were imported; only the first measured the KL."""
    training = make_run(experiment, state="succeeded")
    for seed, values in enumerate(({"reward/mean": -1 / 3, "kl": 0.25, "eval/n": 40.0}, {"reward/mean": -0.5})):
        run = make_run(experiment, seed=seed + 1, state="succeeded")
        run.parent, run.name = training, f"evaluation_{seed}"
        run.config = {**run.config, "evaluation": {"temperature": 0.7, "samples": 20}}
        run.save()
        Import.objects.create(run=run, kind="evaluation", name="a.json", sha256="ab" * 32, bytes=1, part=seed)
        for key, value in values.items():
            summary(run, key, value)
    return training


def test_csv_of_evaluations_has_every_digit_and_how_each_value_was_measured(ada_client: Client, training: Run) -> None:
    reply = ada_client.get(reverse("run-evaluations-table", args=[training.uid]), {"as": "csv"})
    rows = list(csv.reader(io.StringIO(reply.content.decode())))
    uids = list(training.evaluations.order_by("pk").values_list("uid", flat=True))
    way = "origin=import; estimator={}; decoding=sampled; temperature=0.7; samples=20"
    assert rows == [
        ["uid", "name", "state", "reward/mean", "reward/mean measured", "kl", "kl measured", "eval/n",
         "eval/n measured"],
        [uids[0], "evaluation_0", "succeeded", str(-1 / 3), way.format("mean"), "0.25", way.format("k3"), "40.0",
         way.format("unknown")],
        [uids[1], "evaluation_1", "succeeded", "-0.5", way.format("mean"), "", "", "", ""],
    ]  # fmt: skip


def test_latex_of_evaluations_shows_the_columns_of_the_page(ada_client: Client, training: Run) -> None:
    reply = ada_client.get(reverse("run-evaluations-table", args=[training.uid]), {"as": "latex"})
    text = reply.content.decode()
    uids = ", ".join(training.evaluations.order_by("pk").values_list("uid", flat=True))
    assert "Run & Reward & KL, nats per token & Responses & Measured on \\\\" in text
    measured = "20 samples a prompt at T = 0.7, imported"
    assert f"evaluation\\_0 & $-0.333$ & $0.250$ & $40$ & {measured} \\\\" in text
    assert f"evaluation\\_1 & $-0.500$ & -- & -- & {measured} \\\\" in text
    assert f"% Evaluations (n = 2): {uids}\n" in text and "% kl: origin=import; estimator=k3;" in text


def test_run_page_links_to_files_of_its_evaluations(ada_client: Client, training: Run) -> None:
    address = reverse("run-evaluations-table", args=[training.uid])
    page = ada_client.get(training.get_absolute_url()).content.decode()
    assert all(f'{address}?as={form}" download' in page for form in ("csv", "latex"))


def test_deleted_evaluation_is_in_no_file(ada_client: Client, training: Run) -> None:
    training.evaluations.update(deleted_at=training.created_at)
    text = ada_client.get(reverse("run-evaluations-table", args=[training.uid])).content.decode()
    assert text == "uid,name,state\r\n"


def test_evaluations_of_an_invisible_run_are_not_found(bo_client: Client, private_experiment: Experiment) -> None:
    run = make_run(private_experiment)
    for form in ("csv", "latex"):
        assert bo_client.get(reverse("run-evaluations-table", args=[run.uid]), {"as": form}).status_code == 404
