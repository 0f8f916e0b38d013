"""Pages of runs of method evaluate, and of the runs that they evaluate."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Experiment, Run
from runs.run_page import plans
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import make_run, record
from workers.config import RunConfig
from workers.records import Metric

pytestmark = pytest.mark.django_db
MAX_QUERIES = 22
KEYS = (
    "reward/mean", "evaluate/prompts", "pass@1", "pass@1/low", "pass@1/high", "pass@4", "pass@4/low", "pass^4", "kl",
    "kl/k1", "kl/k1_se", "entropy", "entropy/se", "prior/countdown/accuracy/contains", "prior/countdown/pass@4",
)  # fmt: skip


@pytest.fixture
def training(experiment: Experiment, runs_dir: object) -> Run:
    return make_run(experiment, "es-micro")


@pytest.fixture
def evaluation(training: Run) -> Run:
    """Return a run that evaluated two steps of the training."""
    return make_evaluation(training, training.experiment)


def make_evaluation(training: Run, experiment: Experiment) -> Run:
    config = RunConfig.from_json({
        "method": "evaluate", "model": {"path": "micro"}, "task": {"name": "conciseness"},
        "evaluate": {"run": f"run:{training.uid}", "prior_tasks": [{"name": "countdown"}]},
    }).to_json()  # fmt: skip
    run = Run.objects.create(
        experiment=experiment, name="evaluate it", method="evaluate", seed=0, config=config, state="succeeded",
        created_by=experiment.owner, parent=training,
    )  # fmt: skip
    make_attempt(run, state="succeeded")
    record(run, [Metric(step, dict.fromkeys(KEYS, 0.5 + step / 100)) for step in (0, 10)])
    return run


def page(client: Client, run: Run, route: str = "run") -> str:
    reply = client.get(reverse(route, args=[run.uid]))
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_training_lists_its_evaluations(ada_client: Client, training: Run, evaluation: Run) -> None:
    text = page(ada_client, training)
    part = text[text.index('id="evaluations"') :].partition("</section>")[0]
    assert f'href="{evaluation.get_absolute_url()}">evaluate it</a>' in part
    assert (
        "conciseness, countdown" in part
        and "2, to step 10" in part
        and "pass@1</th>" in part
        and '<td class="number">60' in part
    )


def test_button_opens_the_filled_launch_form(ada_client: Client, bo_client: Client, training: Run) -> None:
    address = f"{reverse('launch', args=[training.experiment_id])}?evaluate={training.uid}"
    assert f'href="{address}"' in page(ada_client, training) and 'id="evaluations"' not in page(ada_client, training)
    assert "?evaluate=" not in page(bo_client, training)


def test_evaluation_links_to_its_parent_and_has_no_tabs_of_trainings(
    ada_client: Client, training: Run, evaluation: Run
) -> None:
    text = page(ada_client, evaluation)
    assert f'Evaluation of <a href="{training.get_absolute_url()}">{training.name}</a></p>' in text
    for route in ("run-weights", "run-checkpoints"):
        assert f'href="{reverse(route, args=[evaluation.uid])}"' not in text
        assert f'href="{reverse(route, args=[training.uid])}"' in page(ada_client, training)
    assert re.search(r"pass@1 60.{0,2}%, from 50", text) and "nothing to resume" not in text
    assert "?evaluate=" not in text, "an evaluation cannot be evaluated"


@pytest.mark.parametrize("route", ["run", "run-config"])
def test_prior_tasks_are_shown_by_name_and_whole_on_hover(ada_client: Client, evaluation: Run, route: str) -> None:
    evaluation.refresh_from_db()
    ((title, text),) = re.findall(r'<(?:td|dd) title="([^"]*)">([^<]*)<', page(ada_client, evaluation, route))
    assert (json.loads(unescape(title)), text) == (evaluation.config["evaluate"]["prior_tasks"], "countdown")


def test_step_of_the_parent_is_named(ada_client: Client, training: Run, evaluation: Run) -> None:
    Run.objects.filter(pk=evaluation.pk).update(parent_step=5)
    assert f"{training.name}</a>, step 5</p>" in page(ada_client, evaluation)


def test_names_are_shown_only_to_users_who_see_the_run(
    ada: User, ada_client: Client, bo_client: Client, training: Run
) -> None:
    hidden = Experiment.objects.create(name="hidden", owner=ada, is_private=True)
    secret = make_evaluation(training, hidden)
    assert secret.uid in page(ada_client, training) and secret.uid not in page(bo_client, training)
    table = reverse("run-evaluations-table", args=[training.uid])
    assert secret.uid not in bo_client.get(table, {"as": "csv"}).content.decode()
    private = make_run(hidden, "es-micro", seed=7)
    public = make_evaluation(private, training.experiment)
    assert private.get_absolute_url() in page(ada_client, public)
    text = page(bo_client, public)
    assert private.name not in text and private.get_absolute_url() not in text and "Evaluation of" not in text


def test_every_key_has_a_chart_an_anchor_of_its_own_and_csv(ada_client: Client, evaluation: Run) -> None:
    reply = ada_client.get(reverse("run-curves", args=[evaluation.uid]))
    charts = [placed.chart for _section, shown, zeros in reply.context["sections"] for placed in (*shown, *zeros)]
    slugs = [chart.slug for chart in charts]
    assert len(slugs) == len(set(slugs)) and {key for chart in charts for key in chart.keys} == set(KEYS)
    for chart in charts:
        file = ada_client.get(reverse("run-chart", args=[evaluation.uid]), {"name": chart.name, "as": "csv"})
        assert file.status_code == 200 and "0.6" in file.content.decode(), chart.name
    text = " ".join(reply.content.decode().split())
    assert "name=pass%404" in text and "name=pass%5E4" in text


def test_number_of_queries_is_limited(ada_client: Client, training: Run, evaluation: Run) -> None:
    for run in (training, evaluation):
        page(ada_client, run)
        with CaptureQueriesContext(connection) as queries:
            page(ada_client, run)
        assert len(queries) <= MAX_QUERIES, [query["sql"][:150] for query in queries]


def test_an_estimate_and_the_ends_of_its_interval_share_a_chart() -> None:
    keys = ["pass@4", "pass@4/low", "pass@4/high", "prior/countdown/pass^2", "prior/countdown/pass^2/low",
            "prior/countdown/pass^2/high", "queue/low"]  # fmt: skip
    charts = {spec.name: [key for key, _ in spec.lines] for plan in plans(keys) for spec in plan.specs}

    assert charts == {
        "pass@4": ["pass@4", "pass@4/low", "pass@4/high"],
        "prior/countdown/pass^2": [key for key in keys if key.startswith("prior/")],
        "queue/low": ["queue/low"],
    }


def test_prior_tasks_are_folded_sections_with_pass_at_k_in_the_order_of_k() -> None:
    keys = ["prior/math/pass@16", "prior/math/pass@2", "prior/math/kl", "prior/alone", "pass@16", "pass@2", "pass^2"]
    sections = {plan.slug: plan.section(()) for plan in plans([*keys, "pass@1", "evaluate/prompts"])}
    names = {plan.slug: [spec.name for spec in plan.specs] for plan in plans([*keys, "pass@1", "evaluate/prompts"])}
    assert names["passes"] == ["pass-1", "pass@2", "pass@16", "pass^2"]
    assert names["prior-math-details"] == ["prior/math/pass@2", "prior/math/pass@16", "prior/math/kl"]
    assert names["of-prior"] == ["prior/alone"] and names["details"] == ["evaluate/prompts"]
    assert sections["prior-math-details"].is_folded and not sections["passes"].is_folded
