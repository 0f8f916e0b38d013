"""The page that compares evaluations: its charts, files and tables, and who sees which evaluation."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Experiment, Run
from tests.runs.evaluation_runs import make_evaluation, make_training, record_steps

pytestmark = pytest.mark.django_db
MAX_QUERIES = 22


@pytest.fixture
def pair(experiment: Experiment, runs_dir: object) -> tuple[Run, Run]:
    """Return evaluations of an ES and a GRPO training: both gain on countdown, and lose conciseness."""
    runs = []
    for method, gain in (("es", 1), ("grpo", 2)):
        run = make_evaluation(experiment, make_training(experiment, method), f"evaluate {method}")
        runs.append(record_steps(run, {0: [0, 1, 0, 2], 10: [gain, 3, 1, 4]}, {0: [2, 2], 10: [1, 0]}))
    return runs[0], runs[1]


def get(client: Client, experiment: Experiment, route: str = "evaluations", **query: object) -> str:
    reply = client.get(reverse(route, args=[experiment.pk]), query)
    assert reply.status_code == 200, reply.content.decode()[:500]
    return " ".join(reply.content.decode().split())


def rows(client: Client, experiment: Experiment, route: str, **query: object) -> Iterator[dict[str, str]]:
    text = client.get(reverse(route, args=[experiment.pk]), {"as": "csv", **query}).content.decode()
    return csv.DictReader(io.StringIO(text))


def test_page_shows_charts_of_both_tasks_and_both_methods(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    text = get(ada_client, experiment)
    assert "2 of 2 evaluations shown" in text and "pass@k against k" in text and "pass^k against k" in text
    assert "countdown, trained task" in text and "conciseness, not trained" in text
    for run in pair:
        assert run.get_absolute_url() in text and run.parent and run.parent.get_absolute_url() in text
    assert "A at step 10: 56" in text and "B at step 10: 62" in text


def test_page_of_an_experiment_without_evaluations_says_how_to_get_one(
    ada_client: Client, experiment: Experiment
) -> None:
    text = get(ada_client, experiment)
    assert "No evaluations yet" in text and "press Evaluate" in text and 'class="chart"' not in text


def test_csv_of_pass_at_k_equals_what_was_recorded(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    table = list(rows(ada_client, experiment, "evaluations-chart", name="pass@k", steps="all", run=pair[0].uid))
    by_hand = {("0", "pass@1"): 3 / 16, ("0", "pass@4"): 2 / 4, ("10", "pass@1"): 9 / 16, ("10", "pass@4"): 1.0}
    values = {(row["step"], row["measure"]): float(row["value"]) for row in table}
    assert {key: values[key] for key in by_hand} == pytest.approx(by_hand)
    assert {row["step"] for row in table} == {"0", "10"} and {row["method"] for row in table} == {"es"}
    assert all(float(r["low"]) <= float(r["value"]) <= float(r["high"]) for r in table)
    assert {(row["prompts"], row["samples"], row["trainings"]) for row in table} == {("4", "4", "1")}


def test_task_and_steps_select_what_charts_show(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    query = {"name": "pass^k", "task": "conciseness", "steps": "last"}
    table = list(rows(ada_client, experiment, "evaluations-chart", **query))
    assert {row["step"] for row in table} == {"10"} and {row["task"] for row in table} == {"conciseness"}
    first = next(row for row in table if row["measure"] == "pass^1")
    assert float(first["value"]) == pytest.approx(1 / 8) and first["prompts"] == "2"


def test_measures_have_curves_along_steps_with_their_intervals(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    query = {"name": "steps:countdown", "measure": "kl", "run": pair[0].uid}
    table = list(rows(ada_client, experiment, "evaluations-chart", **query))
    ends = [(float(row["low"]), float(row["value"]), float(row["high"])) for row in table]
    half = 3.182446305 * 0.01  # Student's t of four prompts
    assert ends == [pytest.approx((kl - half, kl, kl + half)) for kl in (0.0, 0.1)]
    reward = list(rows(ada_client, experiment, "evaluations-chart", **(query | {"measure": "reward/mean"})))
    assert [(row["value"], row["low"]) for row in reward] == [("0.0", ""), ("1.0", "")]
    forgotten = list(rows(ada_client, experiment, "evaluations-chart", name="steps:conciseness", measure="pass@1"))
    assert [float(row["value"]) for row in forgotten if row["letter"] == "A"] == pytest.approx([4 / 8, 1 / 8])


def test_means_are_over_the_trainings_of_a_setting(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    assert "means of trainings" not in get(ada_client, experiment)
    second = make_evaluation(experiment, make_training(experiment, seed=1), "evaluate seed 1")
    record_steps(second, {0: [0, 1, 0, 2], 10: [4, 4, 4, 4]}, {0: [2, 2], 10: [2, 2]})
    text = get(ada_client, experiment, lines="means")
    assert "means of trainings" in text and "(n = 2)" in text
    table = list(rows(ada_client, experiment, "evaluations-chart", name="pass@k", lines="means", steps="last"))
    mean = next(row for row in table if row["letter"] == "A C" and row["measure"] == "pass@1")
    values = [float(mean[name]) for name in ("low", "value", "high")]
    assert values == pytest.approx([9 / 16, (9 / 16 + 1) / 2, 1.0]), "the range of two trainings"
    assert (mean["trainings"], mean["prompts"], mean["samples"]) == ("2", "8", "4")
    single = next(row for row in table if row["letter"] == "B" and row["measure"] == "pass@1")
    assert single["trainings"] == "1" and 0.2 < float(single["low"]) < float(single["value"])


def test_means_count_only_the_trainings_that_have_samples_of_the_task(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    second = make_evaluation(experiment, make_training(experiment, seed=1), "evaluate seed 1")
    record_steps(second, {0: [0, 1, 0, 2], 10: [4, 4, 4, 4]})
    query = {"name": "pass@k", "task": "conciseness", "lines": "means", "steps": "last"}
    table = list(rows(ada_client, experiment, "evaluations-chart", **query))
    values = {row["letter"]: row for row in table if row["measure"] == "pass@1"}
    assert sorted(values) == ["A", "B"]
    assert (values["A"]["trainings"], values["A"]["prompts"]) == ("1", "2")
    assert float(values["A"]["value"]) == pytest.approx(1 / 8)


def test_last_steps_of_two_methods_are_compared_by_default(
    ada_client: Client, experiment: Experiment, runs_dir: object
) -> None:
    for method, seed in (("es", 0), ("es", 1), ("grpo", 0)):
        run = make_evaluation(experiment, make_training(experiment, method, seed), f"{method} {seed}")
        record_steps(run, {0: [0, 1], 10: [1, 3]}, {0: [2, 2], 10: [1, 0]})
    response = ada_client.get(reverse("evaluations", args=[experiment.pk]))
    comparison = response.context["comparison"]
    assert [comparison.first.text, comparison.second.text] == ["A, step 10", "C, step 10"]
    single = ada_client.get(reverse("evaluations", args=[experiment.pk]), {"run": run.uid}).context["comparison"]
    assert [single.first.text, single.second.text] == ["A, step 0", "A, step 10"]


def test_protocols_are_listed_and_differences_are_reported(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    assert "was not measured alike" not in get(ada_client, experiment)
    other = make_evaluation(experiment, pair[0].parent, "warmer", temperature=0.6)
    record_steps(other, {0: [1, 1, 1, 1]}, {0: [1, 1]})
    text = get(ada_client, experiment)
    assert "countdown was not measured alike (Temperature)" in text
    table = list(rows(ada_client, experiment, "evaluations-table", table="protocols"))
    assert len(table) == 6 and [row["temperature"] for row in table[:3]] == ["1", "1", "0.6"]
    assert {(row["task"], row["prompts"]) for row in table} == {("countdown", "4"), ("conciseness", "2")}


def test_named_evaluations_are_shown_and_missing_ones_are_reported(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    address = reverse("evaluations", args=[experiment.pk])
    text = get(ada_client, experiment, run=[pair[1].uid, "nosuchrun2"])
    assert "1 of 2 evaluations shown" in text and "nosuchrun2" in text
    assert "nosuchrun2" not in text[text.index("protocols-title") :]
    for query in ({"run": "nosuchrun2"}, {"task": "math"}, {"steps": "some"}, {"measure": "pass@3"}, {"lines": "x"}):
        reply = ada_client.get(address, query)
        assert reply.status_code == 404 and "must be one of" in reply.content.decode(), query
    assert ada_client.get(address, {"run": pair[0].parent.uid}).status_code == 404, "trainings are not evaluations"


def test_evaluations_of_others_private_trainings_show_nothing_of_them(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    hidden = Experiment.objects.create(name="hidden", owner=ada, is_private=True)
    training = make_training(hidden)
    Run.objects.filter(pk=training.pk).update(name="the secret training")
    training.refresh_from_db()
    record_steps(make_evaluation(experiment, training, "open"), {0: [1]}, {0: [1]})
    record_steps(make_evaluation(hidden, pair[0].parent, "closed"), {0: [1]}, {0: [1]})
    mine, theirs = get(ada_client, experiment), get(bo_client, experiment)
    assert "the secret training" in mine and "closed" in mine
    assert "the secret training" not in theirs and ">closed<" not in theirs and ">open<" in theirs
    files = [
        bo_client.get(reverse("evaluations-table", args=[experiment.pk]), {"as": form}) for form in ("csv", "latex")
    ]
    assert all("secret" not in file.content.decode() for file in files)


def test_number_of_queries_does_not_depend_on_the_number_of_evaluations(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    get(ada_client, experiment)
    with CaptureQueriesContext(
        connection,
    ) as few:
        get(ada_client, experiment)
    for seed in range(1, 6):
        run = make_evaluation(experiment, make_training(experiment, seed=seed), f"seed {seed}")
        record_steps(run, {0: [0, 1, 0, 2], 10: [1, 3, 1, 4]}, {0: [2, 2], 10: [1, 0]})
    with CaptureQueriesContext(connection) as many:
        get(ada_client, experiment)
    assert len(many) <= len(few) <= MAX_QUERIES


def test_experiment_training_and_evaluation_link_to_the_page(
    ada_client: Client, experiment: Experiment, pair: tuple[Run, Run]
) -> None:
    address = reverse("evaluations", args=[experiment.pk])
    assert f'href="{address}"' in ada_client.get(experiment.get_absolute_url()).content.decode()
    for run in (pair[0], pair[0].parent):
        assert f'href="{address}?run={pair[0].uid}"' in ada_client.get(run.get_absolute_url()).content.decode()
