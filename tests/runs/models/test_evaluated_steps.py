"""A step of which answers are missing is partial, with n of N; the last evaluation is the last whole one."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import TestCase

from runs.ingest import ingest
from runs.models import Experiment, Response, Run, choose_last_step, list_evaluated_steps
from tests.cases import each_case
from tests.runs.attempt_records import lines
from tests.runs.evaluation_records import WHOLE, answers, make_planned_run, resume, write
from tests.runs.importing.test_documents import whole_evaluation
from tests.runs.responses.test_partial_runs import bring

pytestmark = pytest.mark.django_db


def steps_of(run: Run, split: str = "eval") -> list[tuple[int, int, int]]:
    return [(step.step, step.answers, step.whole) for step in list_evaluated_steps([run], split).get(run.pk, ())]


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    return make_planned_run(experiment)


def test_evaluation_that_was_killed_is_partial_and_not_the_last(run: Run) -> None:
    write(run, answers(0), answers(10), answers(20, 3), state="lost")
    assert steps_of(run) == [(0, 8, 8), (10, 8, 8), (20, 3, 8)]
    evaluated = list_evaluated_steps([run])[run.pk]
    assert [step.is_partial for step in evaluated] == [False, False, True]
    assert evaluated[2].words == "3 of 8 responses"
    last = choose_last_step(evaluated)
    assert last is not None and last.step == 10


def test_last_step_is_the_partial_one_if_no_other_is_there(run: Run) -> None:
    write(run, answers(0, 3), state="lost")
    evaluated = list_evaluated_steps([run])[run.pk]
    assert choose_last_step(evaluated) == evaluated[0]
    assert choose_last_step([]) is None


@each_case(
    ("prompts", "samples", "written", "task_prompts", "whole"),
    [
        (4, 1, 8, 4, 8),
        (4, 1, 3, 4, 8),
        (4, 1, 4, 4, 8),
        (4, 1, 5, 4, 8),
        (32, 3, 16, 4, 16),
        (32, 3, 15, 4, 16),
        (32, 3, 3, 4, 128),
        (4, 0, 3, 4, 4),
        (4, 0, 4, 4, 4),
    ],
    ids=[
        "whole", "cut amid the greedy answers", "cut after the greedy answers", "cut amid the samples",
        "whole, of a task with fewer prompts", "cut amid the samples, fewer prompts",
        "cut amid the greedy answers, fewer prompts", "cut, greedy alone", "whole, greedy alone",
    ],
)  # fmt: skip
def test_single_evaluation_is_held_against_the_plan(
    experiment: Experiment, runs_dir: Path, prompts: int, samples: int, written: int, task_prompts: int, whole: int
) -> None:
    run = write(make_planned_run(experiment, prompts, samples), answers(0, written, task_prompts), state="failed")
    assert steps_of(run) == [(0, written, whole)]


def test_run_that_succeeded_lacks_no_answers_of_a_task_with_fewer_prompts(
    experiment: Experiment, runs_dir: Path
) -> None:
    run = write(make_planned_run(experiment, 32, 0), answers(0, 4), state="succeeded")
    assert steps_of(run) == [(0, 4, 4)]


def test_resume_that_evaluates_the_step_again_makes_it_whole(run: Run) -> None:
    write(run, answers(0), answers(20, 3), state="lost")
    resume(run)
    write(run, answers(20, text="again {i}.{sample}"))
    assert steps_of(run) == [(0, 8, 8), (20, 8, 8)]
    current = Response.objects.filter(run=run, step=20, is_superseded=False)
    assert all(text.startswith("again") for text in current.values_list("text", flat=True))


def test_killed_resume_does_not_mix_answers_of_two_trainings(run: Run) -> None:
    write(run, answers(0), answers(20), state="lost")
    resume(run)
    write(run, answers(20, 3, text="again {i}.{sample}"), state="lost")
    assert steps_of(run) == [(0, 8, 8), (20, 3, 8)]
    assert Response.objects.filter(run=run, step=20, is_superseded=True).count() == WHOLE


def test_answers_of_the_killed_attempt_that_arrive_late_change_nothing(run: Run) -> None:
    write(run, answers(0), answers(20, 3), state="lost")
    killed = run.newest_attempt()
    assert killed is not None
    resume(run)
    write(run, answers(20))
    ingest(killed, 1, lines(answers(20, 5)[3:], WHOLE + 3))
    assert steps_of(run) == [(0, 8, 8), (20, 8, 8)]
    assert Response.objects.filter(run=run, step=20, is_superseded=False, attempt=killed).count() == 0


def test_other_splits_have_no_plan(run: Run) -> None:
    write(run, answers(0, 3))
    Response.objects.update(split="train")
    assert steps_of(run, "train") == [(0, 3, 3)]


def test_imported_run_has_no_partial_steps(experiment: Experiment, runs_dir: Path, tmp_path: Path) -> None:
    bring(experiment, tmp_path, whole_evaluation())
    runs = list(Run.objects.all())
    assert runs and all(not step.is_partial for steps in list_evaluated_steps(runs).values() for step in steps)


def test_steps_of_many_runs_take_one_query(experiment: Experiment, runs_dir: Path) -> None:
    runs = [write(make_planned_run(experiment, seed=n), answers(0), answers(5, n + 1)) for n in range(4)]
    with TestCase().assertNumQueries(1):
        steps_by_run = list_evaluated_steps(runs)
    assert [steps_by_run[run.pk][1].answers for run in runs] == [1, 2, 3, 4]
