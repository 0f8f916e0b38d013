import re
from datetime import timedelta

import pytest
from django.utils import timezone

from runs.compare import Setting, finals, standings
from runs.compare.final_results import compared_outcomes
from tests.runs.attempt_records import make_attempt
from tests.runs.compare.test_pages import page_of, section_of, text_of
from tests.runs.full_runs import end, evaluation, make_run, record
from workers.analysis.keys import ACCURACY, COST, REWARD, RIGHT, SAFE
from workers.records import Metric

pytestmark = pytest.mark.django_db


def test_last_values_count_with_their_step(experiment):
    run = make_run(experiment)
    record(run, [evaluation(0, -40.0), evaluation(5, -10.0)])
    final = finals([run])[run.pk]
    assert final.values == {"reward/mean": -10.0, "kl": 0.05, "accuracy/right": 0.9}
    assert final.steps == {"reward/mean": 5, "kl": 5, "accuracy/right": 5}


def test_seconds_are_those_of_all_attempts_without_the_waiting(experiment):
    run = make_run(experiment, state="failed")
    now = timezone.now()
    run.attempts.update(started_at=now - timedelta(seconds=100), ended_at=now - timedelta(seconds=70))
    second = make_attempt(run, 2, "succeeded")
    run.attempts.filter(pk=second.pk).update(started_at=now - timedelta(seconds=20), ended_at=now)
    assert finals([run])[run.pk].values["seconds"] == pytest.approx(50)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_value_that_is_not_finite_is_unusable(experiment, value):
    run = make_run(experiment)
    record(run, [Metric(0, {"reward/mean": value, "kl": 0.1})])
    final = finals([run])[run.pk]
    assert "reward/mean" not in final.values
    assert final.unusable == ("reward/mean",)


def test_run_without_records_has_no_final_values(experiment):
    run = make_run(experiment)
    end(run)
    assert finals([run])[run.pk].values == {}


def test_the_number_of_queries_does_not_grow(experiment, django_assert_num_queries):
    runs = [make_run(experiment, seed=seed) for seed in range(5)]
    with django_assert_num_queries(2):
        finals(runs)


def outcome_keys(*runs):
    return [outcome.key for outcome in compared_outcomes(runs, finals(runs))]


def test_outcomes_are_the_headline_metrics_of_the_tasks(experiment):
    concise, safe = make_run(experiment), make_run(experiment, "es-safety-tiny", seed=1)
    assert outcome_keys(concise) == [REWARD, RIGHT, "kl", "seconds"]
    assert outcome_keys(safe) == [REWARD, "kl", SAFE, COST, "seconds"]
    assert outcome_keys(safe, concise) == [REWARD, RIGHT, "kl", SAFE, COST, "seconds"]


def test_run_without_a_task_is_compared_by_what_it_recorded(experiment):
    external = make_run(experiment)
    external.config = {}
    assert outcome_keys(external) == [REWARD, "kl", "seconds"]
    record(external, [Metric(0, {"safety/safe_ratio": float("nan"), "loss": 1.0})])
    assert outcome_keys(external) == [REWARD, "kl", SAFE, "seconds"]


def test_outcome_of_another_task_has_its_reason(experiment):
    concise, safe = make_run(experiment), make_run(experiment, "es-safety-tiny", seed=1)
    record(safe, [Metric(0, {"safety/safe_ratio": 0.75, "cost/mean": -1.5})])
    settings = [
        Setting("concise", "a", (concise,)),
        Setting("safe", "b", (safe,)),
        Setting("both", "c", (concise, safe)),
    ]
    rows = standings(settings, finals([concise, safe]), settings[0])
    absences = [{cell.outcome.key: cell.absence for cell in row.cells if cell.absence} for row in rows]
    message, other = "Not a metric of the task conciseness.", "Not a metric of the task safety."
    assert absences == [
        {SAFE: message, COST: message}, {RIGHT: other, ACCURACY: other}, {},
    ]  # fmt: skip


def test_final_results_of_several_tasks_show_the_metrics_of_each(ada_client, experiment):
    concise, safe = make_run(experiment), make_run(experiment, "es-safety-tiny", seed=1)
    record(concise, [evaluation(5, -2.5)])
    record(safe, [Metric(5, {"reward/mean": 1.0, "safety/safe_ratio": 0.75, "cost/mean": -1.5})])
    section = section_of(page_of(ada_client, [concise, safe]), "standings")
    heads = re.findall(r'<th scope="col">([^<]*)', section)
    assert heads == ["Group", "Held-out reward", "Accuracy", "KL, nats per token", "Safe ratio", "Cost", "Seconds"]
    text = text_of(section)
    assert "Cost higher: more harmful" in text and " 75 % " in text and " −1.50 " in text
    dash = '<span class="quiet" title="Not a metric of the task {0}.">–<span class="only-read-aloud">'
    assert (section.count(dash.format("conciseness")), section.count(dash.format("safety"))) == (2, 1)
