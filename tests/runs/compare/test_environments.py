"""Differences between the environments that two attempts report."""

from __future__ import annotations

import pytest

from runs.charts import marks
from runs.compare import (
    Difference,
    describe_differences,
    environment_differences,
    load_environments,
    newest_environments,
)
from runs.compare.environments import environments_context
from runs.models import Attempt, Experiment
from tests.cases import each_case
from tests.runs.attempt_records import make_attempt
from tests.runs.environments import H100, report_environment
from tests.runs.full_runs import end, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(experiment: Experiment) -> tuple[Attempt, Attempt]:
    run = make_run(experiment)
    end(run)
    return run.newest_attempt(), make_attempt(run, 2)  # type: ignore[return-value]


def between(first: Attempt, second: Attempt) -> list[Difference]:
    there, here = load_environments([first, second])
    return environment_differences(here, there)


def test_the_same_on_another_node_is_no_difference(pair: tuple[Attempt, Attempt]) -> None:
    first, second = pair
    other_gpu = {**H100, "uuid": "GPU-b"}
    assert (
        between(report_environment(first), report_environment(second, node="node8", memory_mb=1, gpus=[other_gpu]))
        == []
    )


def test_each_thing_is_named_with_here_and_there(pair: tuple[Attempt, Attempt]) -> None:
    first, second = pair
    now = report_environment(
        second, {"torch": "2.10.0", "vllm": "0.12"}, gpus=[], code="cd" * 32, python="CPython 3.12.1", driver=""
    )
    assert between(report_environment(first), now) == [
        Difference("code", "cdcdcdcdcdcd", "abababababab"),
        Difference("GPUs", "none", "1 × NVIDIA H100"),
        Difference("torch", "2.10.0", "2.9.1"),
        Difference("numpy", "not installed", "2.3.0"),
        Difference("vllm", "0.12", "not installed"),
        Difference("Python", "CPython 3.12.1", "CPython 3.11.7"),
    ]


def test_attempt_without_environment_has_no_differences(pair: tuple[Attempt, Attempt]) -> None:
    first, second = pair
    assert between(report_environment(first), second) == []
    assert between(second, Attempt.objects.get(pk=first.pk)) == []


def test_gpus_are_counted_by_name(pair: tuple[Attempt, Attempt]) -> None:
    two = report_environment(
        pair[0], gpus=[H100, {**H100, "uuid": "GPU-b"}, {"name": "A100", "memory_mb": 1, "uuid": ""}]
    )
    assert load_environments([two])[0].gpus == "2 × NVIDIA H100, 1 × A100"


@each_case(
    ("pinned", "words"),
    [
        ({"commit": "12" * 20, "is_dirty": False, "version": "0.1.0"}, "121212121212 (abababababab)"),
        ({"commit": "12" * 20, "is_dirty": True, "version": "0.1.0"}, "121212121212 (with changes, abababababab)"),
        ({"commit": "", "is_dirty": False, "version": "0.1.0"}, "0.1.0 (abababababab)"),
        ({"commit": "", "is_dirty": False, "version": ""}, "abababababab"),
    ],
)
def test_code_is_its_commit_or_version_and_its_fingerprint(
    pair: tuple[Attempt, Attempt], pinned: dict[str, object], words: str
) -> None:
    Attempt.objects.filter(pk=pair[0].pk).update(code={"sha256": "ab" * 32, "diff_sha256": "", **pinned})
    (environment,) = load_environments([report_environment(pair[0])])
    assert environment.code_in_words == words and not environment.is_other_code
    (other,) = load_environments([report_environment(pair[0], code="cd" * 32)])
    assert other.code_in_words == "cdcdcdcdcdcd" and other.is_other_code


def test_many_differences_are_named_in_part_and_counted() -> None:
    differences = [Difference(f"p{n}", "2", "1") for n in range(11)]
    assert describe_differences(differences[:2]) == "p0 2 instead of 1; p1 2 instead of 1"
    assert describe_differences(differences).endswith("p7 2 instead of 1; 3 more")


def test_newest_reported_environment_of_each_run_is_used(
    pair: tuple[Attempt, Attempt], experiment: Experiment, django_assert_num_queries: object
) -> None:
    report_environment(pair[0], node="old")
    silent = make_run(experiment, seed=1)
    other = make_run(experiment, seed=2)
    report_environment(other.newest_attempt())  # type: ignore[arg-type]
    runs = [pair[0].run, silent, other]
    with django_assert_num_queries(2):  # type: ignore[operator]
        environments = newest_environments(runs)
    assert {pk: environment.facts["node"] for pk, environment in environments.items()} == {
        runs[0].pk: "old",
        other.pk: "node7",
    }  # type: ignore[index]
    report_environment(pair[1], node="new")
    assert newest_environments(runs)[runs[0].pk].facts["node"] == "new"  # type: ignore[index]


def test_runs_of_equal_environments_are_listed_once(experiment: Experiment, django_assert_num_queries: object) -> None:
    runs = [make_run(experiment, seed=seed) for seed in range(13)]
    for run in runs[:10]:
        report_environment(run.newest_attempt(), node=f"node{run.seed % 3}")  # type: ignore[arg-type]
    for run in runs[10:12]:
        report_environment(run.newest_attempt(), {"torch": "2.10.0", "numpy": "2.3.0"})  # type: ignore[arg-type]
    run_marks = marks(runs)
    with django_assert_num_queries(2):  # type: ignore[operator]
        context = environments_context(run_marks, runs[11].uid)
    rows = [(len(row.marks), row.nodes, row.has_baseline, row.differences) for row in context["ran_on"]]
    assert rows == [
        (10, ("node0", "node1", "node2"), False, "torch 2.9.1 instead of 2.10.0"),
        (2, ("node7",), True, ""),
    ]
    assert (context["ran_alike"], context["ran_unreported"]) == (False, 1)
    assert context["ran_on"][1].names == "K · es-tiny seed 10, L · es-tiny seed 11"
