"""What two attempts differ in, by what they said of their nodes."""

from __future__ import annotations

import pytest

from runs.compare import Difference, differences, in_words, newest_of, ran_on
from runs.models import Attempt, Experiment
from tests.runs.attempt_records import make_attempt
from tests.runs.environments import H100, told
from tests.runs.full_runs import end, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(experiment: Experiment) -> tuple[Attempt, Attempt]:
    run = make_run(experiment)
    end(run)
    return run.newest_attempt(), make_attempt(run, 2)  # type: ignore[return-value]


def between(first: Attempt, second: Attempt) -> list[Difference]:
    there, here = ran_on([first, second])
    return differences(here, there)


def test_the_same_on_another_node_is_no_difference(pair: tuple[Attempt, Attempt]) -> None:
    first, second = pair
    other_gpu = {**H100, "uuid": "GPU-b"}
    assert between(told(first), told(second, node="node8", memory_mb=1, gpus=[other_gpu])) == []


def test_each_thing_is_named_with_here_and_there(pair: tuple[Attempt, Attempt]) -> None:
    first, second = pair
    now = told(second, {"torch": "2.10.0", "vllm": "0.12"}, gpus=[], code="cd" * 32, python="CPython 3.12.1", driver="")
    assert between(told(first), now) == [
        Difference("code", "cdcdcdcdcdcd", "abababababab"),
        Difference("GPUs", "none", "1 × NVIDIA H100"),
        Difference("torch", "2.10.0", "2.9.1"),
        Difference("numpy", "not installed", "2.3.0"),
        Difference("vllm", "0.12", "not installed"),
        Difference("Python", "CPython 3.12.1", "CPython 3.11.7"),
    ]


def test_an_attempt_that_has_not_said_differs_in_nothing(pair: tuple[Attempt, Attempt]) -> None:
    first, second = pair
    assert between(told(first), second) == []
    assert between(second, Attempt.objects.get(pk=first.pk)) == []


def test_gpus_are_counted_by_name(pair: tuple[Attempt, Attempt]) -> None:
    two = told(pair[0], gpus=[H100, {**H100, "uuid": "GPU-b"}, {"name": "A100", "memory_mb": 1, "uuid": ""}])
    assert ran_on([two])[0].gpus == "2 × NVIDIA H100, 1 × A100"


@pytest.mark.parametrize(
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
    (one,) = ran_on([told(pair[0])])
    assert one.code_in_words == words and not one.is_other_code
    (other,) = ran_on([told(pair[0], code="cd" * 32)])
    assert other.code_in_words == "cdcdcdcdcdcd" and other.is_other_code


def test_of_many_differences_some_are_named_and_the_others_counted() -> None:
    found = [Difference(f"p{n}", "2", "1") for n in range(11)]
    assert in_words(found[:2]) == "p0 2 instead of 1; p1 2 instead of 1"
    assert in_words(found).endswith("p7 2 instead of 1; 3 more")


def test_of_each_run_the_newest_attempt_speaks_that_has_said(
    pair: tuple[Attempt, Attempt], experiment: Experiment, django_assert_num_queries: object
) -> None:
    told(pair[0], node="old")
    silent = make_run(experiment, seed=1)
    other = make_run(experiment, seed=2)
    told(other.newest_attempt())  # type: ignore[arg-type]
    runs = [pair[0].run, silent, other]
    with django_assert_num_queries(2):  # type: ignore[operator]
        found = newest_of(runs)
    assert {pk: one.told["node"] for pk, one in found.items()} == {runs[0].pk: "old", other.pk: "node7"}  # type: ignore[index]
    told(pair[1], node="new")
    assert newest_of(runs)[runs[0].pk].told["node"] == "new"  # type: ignore[index]
