"""A scorer is no training, and yet a run: its pages open, and its form makes the same config again."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs import launching
from runs.launching.config_form import LaunchForm
from runs.models import Cluster, Experiment, Run
from runs.run_page.tabs import TABS
from tests.cases import each_case
from workers.config import RunConfig

pytestmark = pytest.mark.django_db
CONFIG = {"method": "scorer", "scorer": {"name": "beaver", "max_length": 512}}


@pytest.fixture
def scorer(experiment: Experiment, local: Cluster) -> Run:
    return launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(CONFIG))


@each_case("name", [*(route for route, _ in TABS.values()), "run-collapse", "run-scores"])
def test_pages_of_a_scorer_run_open(ada_client: Client, scorer: Run, name: str) -> None:
    assert ada_client.get(reverse(name, args=[scorer.uid])).status_code == 200


def test_scorer_run_is_listed(ada_client: Client, scorer: Run) -> None:
    page = ada_client.get(scorer.experiment.get_absolute_url()).content.decode()
    assert scorer.name in page and ">scorer<" in page


def test_sent_as_it_is_its_form_makes_the_same_config(scorer: Run) -> None:
    form = LaunchForm.from_run(scorer)
    again = LaunchForm({field.html_name: field.value() for field in form if field.value() not in (None, False)})
    assert again.is_valid(), again.errors
    assert again.configs == [scorer.run_config]
