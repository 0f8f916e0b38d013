"""Each evaluation is judged once with a number of its own, in whatever order its records arrive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runs import flags
from runs.flags import judged_run
from runs.models import Experiment, Flag, FlagCheck, Run
from tests.runs.evaluation_records import resume
from tests.runs.flags.flag_cases import EMPTY, HONEST, detectors, evaluation
from tests.runs.full_runs import end, make_run, record
from workers.records import Response

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]


@pytest.fixture
def run(experiment: Experiment) -> Run:
    run = make_run(experiment)
    record(run, evaluation(0, reward=-40.0))
    return run


def numbers(run: Run) -> dict[str, int]:
    return {step: number for step, (number, *_) in FlagCheck.objects.get(run=run).judged.items()}


def test_earlier_step_that_arrives_later_is_judged_and_changes_no_number(run: Run) -> None:
    record(run, evaluation(30, ["Lima."] * 10, reward=-5.0))
    flags.check_all_due(60)
    level = Flag.objects.get(run=run, detector="accuracy").level
    record(run, evaluation(10, EMPTY, reward=-6.0))
    flags.check_all_due(60)
    assert numbers(run) == {"30": 1, "10": 2}
    later, earlier = (Flag.objects.get(run=run, detector=name) for name in ("accuracy", "empty"))
    assert (later.step, later.first_step, later.level, later.is_current) == (30, 10, level, True)
    assert (earlier.step, earlier.number, earlier.is_current) == (10, 2, False)


def test_all_evaluations_of_an_import_are_judged(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged_run, "MAX_EVALUATIONS", 2)
    texts = {10: EMPTY, 20: HONEST, 30: HONEST, 40: HONEST, 50: HONEST}
    record(run, [entry for step, each in texts.items() for entry in evaluation(step, each, reward=-5.0)])
    flags.check_now([run])
    assert list(numbers(run).values()) == [1, 2, 3, 4, 5]
    flag = Flag.objects.get(run=run, detector="empty")
    assert (flag.step, flag.is_current, FlagCheck.objects.get(run=run).step) == (10, False, 50)


def test_resume_has_its_evaluations_judged_and_discards_those_beyond(run: Run) -> None:
    record(run, [*evaluation(10, HONEST, reward=-6.0), *evaluation(20, EMPTY, reward=-5.0)])
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy", "empty"]
    end(run)
    resume(run)
    record(run, evaluation(10, EMPTY, reward=-6.1))
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run, detector="empty")
    assert (flag.step, flag.number, flag.is_current) == (10, 3, True)
    record(run, evaluation(20, HONEST, reward=-5.5))
    flags.check_all_due(60)
    assert detectors(run) == [] and numbers(run) == {"10": 3, "20": 4}


def test_step_0_stays_the_base_if_a_resume_draws_more_samples(run: Run) -> None:
    wrong = evaluation(20, [f"{text} No." for text in EMPTY], reward=-5.0)
    end(run)
    resume(run)
    record(run, [*wrong, *(replace(entry, sample=1) for entry in wrong if isinstance(entry, Response))])
    flags.check_all_due(60)
    assert Flag.objects.get(run=run, detector="accuracy").compared_with == "step 0"
