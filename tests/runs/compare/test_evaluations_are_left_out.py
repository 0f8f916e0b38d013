"""Evaluations and probes are in no list, statistic or comparison that the reader has not narrowed to them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.compare.run_table import filter_by_terms, parse, vocabulary
from runs.experiments.home.best_runs import find_candidates
from runs.flags.judged_run import read_run
from runs.kinds import EVALUATION, PROBE
from runs.models import Attempt, Experiment, Run
from runs.run_page.evaluations import list_evaluations
from tests.cases import each_case
from tests.runs.compare.test_conditions import summary
from tests.runs.full_runs import make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


@pytest.fixture
def training(experiment: Experiment) -> Run:
    """Return a training that ended, with an evaluation that has a higher reward."""
    training = make_run(experiment, state="succeeded")
    summary(training, "reward/mean", -1.0)
    evaluation = make_run(experiment, state="succeeded")
    evaluation.parent, evaluation.name, evaluation.method = training, "evaluate it", "evaluate"
    evaluation.config = {
        "method": "evaluate", "evaluate": {"run": f"run:{training.uid}"}, "model": training.config["model"],
        "task": training.config["task"],
    }  # fmt: skip
    evaluation.save()
    summary(evaluation, "reward/mean", 5.0)
    return training


@pytest.fixture
def evaluation(training: Run) -> Run:
    return training.evaluations.get()


@pytest.fixture
def probe(training: Run, evaluation: Run) -> Run:
    """Return a probe of the training that ended after the evaluation, with a higher reward."""
    probe = make_run(training.experiment, state="succeeded")
    probe.parent, probe.name, probe.method = training, "probe it", "probe"
    probe.config = {
        "method": "probe", "probe": {"runs": [f"run:{training.uid}@3"]}, "model": training.config["model"],
        "task": training.config["task"],
    }  # fmt: skip
    probe.save()
    summary(probe, "reward/mean", 7.0)
    return probe


@each_case(
    ("query", "methods"),
    [
        ("", ["es"]),
        ("state:succeeded", ["es"]),
        ("method:evaluate", ["evaluate"]),
        ("-method:evaluate", ["es"]),
        ("method:es,evaluate", ["es", "evaluate"]),
        ("evaluate.run:any", ["evaluate"]),
    ],
)
def test_query_selects_evaluations_only_if_it_names_them(training: Run, query: str, methods: list[str]) -> None:
    runs = filter_by_terms(Run.objects.all(), parse(query), vocabulary(training.experiment))
    assert sorted(runs.values_list("method", flat=True)) == methods


def test_page_of_the_experiment_leaves_them_out_and_says_where_they_are(ada_client: Client, evaluation: Run) -> None:
    address = reverse("experiment", args=[evaluation.experiment_id])
    reply = ada_client.get(address)
    table = reply.context["table"]
    assert ([run.method for run in table.runs], table.total, table.states) == (["es"], 1, [("succeeded", 1)])
    text = " ".join(reply.content.decode().split())
    assert f'href="{address}?q=method:evaluate"' in text and "1 evaluation is not listed" in text
    shown = ada_client.get(address, {"q": "method:evaluate"})
    assert shown.context["table"].runs == [evaluation] and "not listed" not in shown.content.decode()
    assert "reward" in str(shown.context["table"].headings)


@each_case(
    ("query", "methods"),
    [
        ("", ["es"]),
        ("model.path:any", ["es"]),
        ("method:probe", ["probe"]),
        ("-method:probe", ["es", "evaluate"]),
        ("method:es,evaluate,probe", ["es", "evaluate", "probe"]),
        ("probe.draws:none", ["es", "evaluate", "probe"]),
        ("evaluate.run:any", ["evaluate"]),
    ],
)
def test_query_selects_probes_only_if_it_names_them(probe: Run, query: str, methods: list[str]) -> None:
    runs = filter_by_terms(Run.objects.all(), parse(query), vocabulary(probe.experiment))
    assert sorted(runs.values_list("method", flat=True)) == methods


def test_page_of_the_experiment_counts_probes_apart_from_evaluations(ada_client: Client, probe: Run) -> None:
    second = Run.objects.get(pk=probe.pk)
    second.pk, second.uid, second.archived_at = None, "2222222222", None
    second.save()
    address = reverse("experiment", args=[probe.experiment_id])
    table = ada_client.get(address).context["table"]
    assert (table.states, table.total, table.archived) == ([("succeeded", 1)], 1, 0)
    assert [(unlisted.kind, unlisted.n) for unlisted in table.unlisted] == [(EVALUATION, 1), (PROBE, 2)]
    text = " ".join(ada_client.get(address).content.decode().split())
    assert f'href="{address}?q=method:probe"' in text and "2 probes are not listed" in text
    assert "1 evaluation is not listed" in text
    shown = ada_client.get(address, {"q": "method:probe"})
    assert shown.context["table"].runs == [second, probe] and "not listed" not in shown.content.decode()
    Run.objects.filter(pk=second.pk).update(archived_at=second.created_at)
    table = ada_client.get(address).context["table"]
    assert [unlisted.n for unlisted in table.unlisted] == [1, 1]
    assert (table.archived, table.states) == (1, [("succeeded", 1)])


def test_probes_are_in_no_best_result_comparison_or_list_of_evaluations(
    ada_client: Client, training: Run, evaluation: Run, probe: Run
) -> None:
    home = ada_client.get(reverse("home")).context["results"]
    assert [best.row.run for best in home.best] == [training] and [r.row.run for r in home.last] == [training]
    (entry,) = ada_client.get(reverse("experiments")).context["entries"]
    assert [best.row.run for best in entry.best] == [training]
    compare = reverse("compare")
    by_experiment = ada_client.get(compare, {"experiment": training.experiment_id}).context
    assert [run.uid for run in by_experiment["choice"].runs] == [training.uid]
    assert probe not in by_experiment["offered"]
    assert probe in ada_client.get(compare, {"run": probe.uid}).context["offered"]
    assert [row.run for row in list_evaluations(training, probe.created_by)] == [evaluation]
    assert [run.kind.is_listed for run in (training, evaluation, probe)] == [True, False, False]


def test_running_and_ended_probes_are_on_home_with_a_table_that_shows_them(ada_client: Client, probe: Run) -> None:
    Run.objects.filter(pk=probe.pk).update(state="running")
    Attempt.objects.filter(run=probe).update(state="running")
    running = ada_client.get(reverse("home")).context["running"]
    assert running.runs == [probe]
    (share,) = running.shares
    assert ada_client.get(share.address).context["table"].runs == [probe]


def test_comparison_offers_a_probe_of_its_trainings(
    ada_client: Client, bo_client: Client, training: Run, evaluation: Run
) -> None:
    runs = [make_run(training.experiment, seed=seed) for seed in range(1, 10)]
    uids = [evaluation.uid, training.uid, *(run.uid for run in runs)]
    context = ada_client.get(reverse("compare"), {"run": uids, "show": "all"}).context
    launch = reverse("launch", args=[training.experiment_id])
    ((_probe, address),) = context["examinations"]
    assert address == f"{launch}?" + "&".join(f"probe={uid}" for uid in uids[1:9])
    page = ada_client.get(address)
    assert page.context["form"].initial["method"] == "probe"
    assert bo_client.get(reverse("compare"), {"run": uids}).context["examinations"] == []
    alone = ada_client.get(reverse("compare"), {"run": evaluation.uid})
    assert alone.context["examinations"] == [] and "Probe these" not in alone.content.decode()


def test_experiment_with_probes_alone_links_to_them(ada_client: Client, probe: Run, ada: User) -> None:
    other = Experiment.objects.create(name="measured", owner=ada)
    Run.objects.filter(pk=probe.pk).update(experiment=other)
    text = " ".join(ada_client.get(other.get_absolute_url()).content.decode().split())
    assert "No trainings yet" in text and "Show 1 probe" in text and "No runs yet" not in text


def test_experiment_with_evaluations_alone_links_to_them(ada_client: Client, evaluation: Run, ada: User) -> None:
    other = Experiment.objects.create(name="measured", owner=ada)
    Run.objects.filter(pk=evaluation.pk).update(experiment=other)
    text = " ".join(ada_client.get(other.get_absolute_url()).content.decode().split())
    assert "No trainings yet" in text and "Show 1 evaluation" in text and "No runs yet" not in text


def test_groups_count_trainings(ada_client: Client, evaluation: Run) -> None:
    table = ada_client.get(reverse("experiment", args=[evaluation.experiment_id]), {"group": "model.path"}).context[
        "table"
    ]
    assert [group.row.n for group in table.groups] == [1]


def test_compare_shows_and_offers_trainings_until_an_evaluation_is_selected(
    ada_client: Client, training: Run, evaluation: Run
) -> None:
    compare = reverse("compare")
    by_experiment = ada_client.get(compare, {"experiment": training.experiment_id}).context
    assert [run.uid for run in by_experiment["choice"].runs] == [training.uid]
    assert evaluation not in by_experiment["offered"]
    assert evaluation in ada_client.get(compare, {"run": evaluation.uid}).context["offered"]


def test_best_runs_of_home_and_of_experiments_are_trainings(ada_client: Client, training: Run, evaluation: Run) -> None:
    (candidates,) = find_candidates(Run.objects.current().trainings())
    assert (candidates.n, candidates.runs) == (1, (training.pk,))
    home = ada_client.get(reverse("home")).context["results"]
    assert [best.row.run for best in home.best] == [training] and [r.row.run for r in home.last] == [training]
    (entry,) = ada_client.get(reverse("experiments")).context["entries"]
    assert [best.row.run for best in entry.best] == [training]


def test_running_evaluation_is_on_home_with_a_table_that_shows_it(ada_client: Client, evaluation: Run) -> None:
    Run.objects.filter(pk=evaluation.pk).update(state="running")
    Attempt.objects.filter(run=evaluation).update(state="running")
    running = ada_client.get(reverse("home")).context["running"]
    assert running.runs == [evaluation]
    (share,) = running.shares
    assert ada_client.get(share.address).context["table"].runs == [evaluation]


def test_detectors_compare_a_training_with_trainings(training: Run, evaluation: Run) -> None:
    other = make_run(training.experiment, seed=1, state="succeeded")
    summary(other, "reward/mean", -2.0)
    numbers = {"reward/mean": -1.0, "kl": 0.1}
    record(training, [Metric(5, numbers)])
    assert [peer.name for peer in read_run(training, {}).peers] == [other.name]
