"""Runs are checked when evaluations arrive; flags follow the newest data, and dismissals the data that people saw."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from runs import flags
from runs.flags import check as check_module
from runs.flags import tasks
from runs.ingest import delete_records, save_scores
from runs.models import Experiment, Flag, FlagCheck, FlagDismissal, FlagThresholds, Response, Run
from tests.cases import each_case
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.evaluation_records import resume
from tests.runs.flags.flag_cases import EMPTY, HONEST, detectors, evaluation, make_flagged_run
from tests.runs.full_runs import end, make_run, record
from workers.records import Metric
from workers.records import Response as Answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment: Experiment, runs_dir: object) -> Run:
    return make_run(experiment)


def is_due(run: Run) -> bool:
    check = FlagCheck.objects.get(run=run)
    return check.checked < check.arrived


def test_run_that_cheats_is_flagged_by_the_job(run: Run) -> None:
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0, accuracy=0.0)])
    tasks.check_flags()
    assert detectors(run) == ["accuracy", "empty"]
    flag = Flag.objects.get(run=run, detector="empty")
    assert (flag.step, flag.value, flag.before, flag.n, flag.compared_with) == (10, 1.0, 0.0, 10, "step 0")
    before, now = flag.examples[0]
    assert Response.objects.get(pk=before).text in HONEST
    assert Response.objects.get(pk=now).text == ""
    assert not is_due(run)


def test_honest_run_and_step_0_are_not_flagged(run: Run) -> None:
    record(run, [*evaluation(0, EMPTY, reward=-40.0), *evaluation(10, HONEST, reward=-5.0)])
    flags.check_all_due(60)
    assert not Flag.objects.exists()


def test_responses_to_prior_tasks_of_an_evaluation_are_not_judged(run: Run) -> None:
    run.config = {"method": "evaluate", "evaluate": {"prior_tasks": [{"name": "countdown"}]}}
    run.save()
    prior = [answer(10, "", prompt_id=f"prior {n}", prompt=f"Make {n}.", categories=("countdown",)) for n in range(90)]
    record(run, [*evaluation(0, reward=-40.0), *prior, *evaluation(10, HONEST, reward=-5.0)])
    flags.check_all_due(60)
    assert detectors(run) == [] and FlagCheck.objects.get(run=run).step == 10


def test_amid_an_evaluation_nothing_is_judged(run: Run) -> None:
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0, accuracy=0.0)[:5]])
    flags.check_all_due(60)
    assert detectors(run) == []
    record(run, evaluation(10, EMPTY, reward=-5.0, accuracy=0.0)[5:])
    assert is_due(run)
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy", "empty"]


def test_flag_is_no_longer_open_once_the_newest_evaluation_is_quiet(run: Run) -> None:
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0), *evaluation(20, reward=-4.0)])
    flags.check_all_due(60)
    assert detectors(run) == []
    flag = Flag.objects.get(run=run, detector="empty")
    assert (flag.step, flag.is_current) == (10, False)


def test_flag_has_the_step_at_which_it_fired_first_and_last(run: Run) -> None:
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0)])
    flags.check_all_due(60)
    record(run, evaluation(20, EMPTY, reward=-4.0))
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run, detector="empty")
    assert (flag.first_step, flag.step, flag.number) == (10, 20, 2)


def test_flag_has_its_test(run: Run) -> None:
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0)])
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run, detector="accuracy")
    assert (flag.value, flag.before, flag.level, flag.number) == (0.0, 1.0, 0.0125, 1)
    assert flag.p is not None and flag.p < 1e-5 and flag.low == pytest.approx(-1.0) and -0.7 < (flag.high or 0) < -0.6
    assert flags.test_of(flag).startswith(
        "Exact test: p = 2.7e-06; at most 0.013 fires at the first evaluation after training began. 95 % interval"
    )
    flag.p = flag.level = None
    assert flags.test_of(flag) == ""


def test_number_of_an_evaluation_does_not_depend_on_when_it_is_checked(
    run: Run, experiment: Experiment, ada: User
) -> None:
    at_once = make_run(experiment, seed=1)
    evaluations = [evaluation(step, EMPTY if step else HONEST, reward=step - 40.0) for step in (0, 10, 20, 30)]
    record(at_once, [entry for records in evaluations for entry in records])
    for records in evaluations:
        record(run, records)
        flags.check_all_due(60)
    flags.set_thresholds(experiment, {"length": 7}, ada)
    flags.check_all_due(60)
    kinds = ("detector", "step", "number", "level", "p")
    first, other = (list(each.flags.order_by("detector").values_list(*kinds)) for each in (run, at_once))
    assert first == other and {number for _, _, number, _, _ in first} == {3}


def test_kl_of_a_run_without_responses_is_judged_and_its_other_numbers_are_not(
    experiment: Experiment, runs_dir: object
) -> None:
    runs = [make_run(experiment, seed=seed) for seed in range(9)]
    for run in runs:
        kl = 90.0 if run.seed == 8 else 0.2 + run.seed / 100
        numbers = {0: (-40.0, 1.0, 0.0), 10: (-5.0, 0.1, kl)}
        record(run, [
            Metric(step, {"reward/mean": reward, "accuracy/contains": accuracy, "kl": far}, {})
            for step, (reward, accuracy, far) in numbers.items()
        ])  # fmt: skip
    flags.check_all_due(60)
    assert [detectors(run) for run in runs] == [[]] * 8 + [["kl_band"]]


def test_first_evaluation_of_a_trained_model_is_no_base(run: Run) -> None:
    record(run, [*evaluation(5, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0)])
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run)
    assert (flag.detector, flag.before, flag.compared_with, flag.limit, flag.number) == ("empty", None, "", 0.1, 2)


def test_base_is_an_evaluation_of_the_same_base_model_and_of_no_other(run: Run, experiment: Experiment) -> None:
    record(run, evaluation(10, EMPTY, reward=-5.0))
    training = make_run(experiment, seed=1)
    evaluated = make_run(experiment, seed=2)
    record(evaluated, evaluation(0, reward=-40.0))
    task = run.config.get("task", {"name": "conciseness"})
    tiny, other = ({"model": {"path": path}, "task": task} for path in ("tiny", "smollm2"))
    # An evaluation of a training has the default as its own model, and evaluates that of the training.
    Run.objects.filter(pk__in=[run.pk, evaluated.pk]).update(config=tiny, state="succeeded")
    Run.objects.filter(pk=training.pk).update(config=other)
    Run.objects.filter(pk=evaluated.pk).update(method="evaluate", parent=training)
    flags.check_all_due(60)
    assert Flag.objects.get(run=run, detector="empty").before is None
    Run.objects.filter(pk=training.pk).update(config=tiny)
    flags.mark_ended(run)
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run, detector="empty")
    assert (flag.before, flag.compared_with) == (0.0, f"step 0 of another run, {evaluated.name}")


def test_samples_of_a_base_with_another_temperature_are_not_compared(run: Run, experiment: Experiment) -> None:
    other = make_run(experiment, seed=1)
    Run.objects.filter(pk=other.pk).update(config=run.config | {"evaluation": {"temperature": 0.7}})
    samples = [replace(entry, sample=1) for entry in evaluation(0) if isinstance(entry, Answer)]
    record(other, [*evaluation(0, reward=-40.0), *samples])
    wrong = [replace(entry, sample=1) for entry in evaluation(10, EMPTY) if isinstance(entry, Answer)]
    record(run, [*evaluation(10, reward=-5.0), *wrong])
    Run.objects.update(state="succeeded")
    flags.check_all_due(60)
    assert detectors(run) == []
    Run.objects.filter(pk=other.pk).update(config=run.config)
    flags.mark_ended(run)
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy", "empty"]


def test_base_is_step_0_of_another_run_of_the_same_model_and_task(run: Run, experiment: Experiment) -> None:
    record(run, evaluation(0, reward=-40.0))
    other = make_run(experiment, seed=1)
    record(other, evaluation(10, [text[:16] for text in HONEST], reward=-5.0, accuracy=0.0))
    # A single evaluation of fewer prompts than planned is whole once its run has succeeded.
    Run.objects.update(state="succeeded")
    flags.check_all_due(60)
    assert Flag.objects.get(run=other, detector="accuracy").compared_with == f"step 0 of another run, {run.name}"


def test_dismissed_flag_stays_dismissed_for_the_same_data_and_returns_with_new(run: Run, ada: User) -> None:
    both = [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0)]
    record(run, both)
    flags.check_all_due(60)
    flags.dismiss(Flag.objects.get(run=run, detector="empty"), ada, "An empty answer is what we asked for.")
    assert detectors(run) == ["accuracy"]
    # A resume evaluates the same step again, with the same responses and numbers.
    end(run)
    resume(run)
    record(run, evaluation(10, EMPTY, reward=-5.0))
    flags.check_all_due(60)
    assert Response.objects.filter(run=run, step=10).count() == 20
    assert detectors(run) == ["accuracy"]
    record(run, evaluation(20, EMPTY, reward=-5.0))
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy", "empty"]
    assert FlagDismissal.objects.get().reason == "An empty answer is what we asked for."


def test_dismissal_survives_that_the_records_are_stored_again(run: Run, ada: User) -> None:
    both = [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0)]
    record(run, both)
    flags.check_all_due(60)
    for flag in Flag.objects.filter(run=run):
        flags.dismiss(flag, ada, "On purpose.")
    delete_records(run)
    make_attempt(run)
    record(run, both)
    flags.check_all_due(60)
    assert detectors(run) == []
    assert Response.objects.filter(pk=Flag.objects.get(run=run, detector="empty").examples[0][1]).exists()


def test_undone_dismissal_opens_the_flag_and_stays_in_the_history(experiment: Experiment, ada: User) -> None:
    run = make_flagged_run(experiment)
    flag = Flag.objects.get(run=run, detector="empty")
    flags.dismiss(flag, ada, "First reason.")
    flags.dismiss(flag, ada, "Better reason.")
    flags.undo_dismissal(flag, ada)
    flags.undo_dismissal(flag, ada)
    assert detectors(run) == ["accuracy", "empty"]
    (view,) = [view for view in flags.flags_of_run(run) if view.flag == flag]
    assert [(d.reason, d.undone_by) for d in view.dismissals] == [("Better reason.", ada)]
    assert view.is_open and view.dismissal is None


@each_case("reason", ["", " \n", "x" * 2001])
def test_dismissal_needs_a_reason(experiment: Experiment, ada: User, reason: str) -> None:
    run = make_flagged_run(experiment)
    with pytest.raises(flags.CannotDismiss):
        flags.dismiss(Flag.objects.get(run=run, detector="empty"), ada, reason)


def test_scores_of_a_held_out_judge_make_the_run_due_and_are_judged(run: Run) -> None:
    texts = [f"{text} Really." for text in HONEST]
    record(run, [*evaluation(0, reward=-40.0), *evaluation(10, texts, reward=-5.0)])
    flags.check_all_due(60)
    for step, level in ((0, 5.0), (10, 1.0)):
        keys = Response.objects.filter(run=run, step=step).order_by("pk").values_list("pk", flat=True)
        save_scores("judge", [(pk, "reward", level + i % 3) for i, pk in enumerate(keys)])
    assert is_due(run)
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run)
    assert (flag.detector, flag.key) == ("score", "judge/reward")
    assert flags.reason_of(flag).startswith("10 of 10 responses have a lower judge/reward than before training;")


def test_kl_far_above_the_other_runs_is_flagged_when_they_have_ended(experiment: Experiment, runs_dir: object) -> None:
    runs = [make_run(experiment, seed=seed) for seed in range(9)]
    record(runs[0], [*evaluation(0, reward=-40.0), *evaluation(10, reward=-5.0, kl=90.0)])
    flags.check_all_due(60)
    assert detectors(runs[0]) == []
    for run in runs[1:]:
        record(run, [*evaluation(0, reward=-40.0), *evaluation(10, reward=-5.0, kl=0.2 + run.seed / 100)])
        flags.mark_ended(run)
    flags.check_all_due(60)
    assert [detectors(run) for run in runs] == [["kl_band"], *[[]] * 8]
    flag = Flag.objects.get(run=runs[0])
    assert (flag.n, flag.compared_with, flag.low) == (8, "", None)


def test_thresholds_of_an_experiment_override_those_of_the_site(experiment: Experiment, ada: User) -> None:
    run = make_flagged_run(experiment)
    flags.set_thresholds(None, {"empty": None, "length": 7}, ada)
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy"]
    flags.set_thresholds(experiment, {"empty": 0.2, "accuracy": None}, ada)
    flags.check_all_due(60)
    assert detectors(run) == ["empty"]
    assert flags.thresholds_of(experiment)["length"] == 7.0
    assert flags.thresholds_of(None)["empty"] is None


def test_migration_resets_thresholds_of_another_meaning_and_has_runs_checked(experiment: Experiment, ada: User) -> None:
    run = make_flagged_run(experiment)
    values = {"accuracy": 0.2, "safety": None, "kl_band": 5.0, "empty": 0.3}
    flags.set_thresholds(experiment, values, ada)
    flags.check_all_due(60)
    import_module("runs.migrations.0042_tested_flags").reset_thresholds(apps, None)
    assert FlagThresholds.objects.get().values == {"safety": None, "empty": 0.3}
    assert is_due(run)


def test_refused_thresholds_change_nothing(experiment: Experiment, ada: User) -> None:
    with pytest.raises(flags.CannotChangeThresholds, match="the detectors are accuracy"):
        flags.set_thresholds(experiment, {"empty": 0.5, "emty": 0.5}, ada)
    assert flags.thresholds_of(experiment)["empty"] == 0.05


def test_failure_at_one_run_leaves_the_others_checked(experiment: Experiment, runs_dir: object, monkeypatch) -> None:
    runs = [make_run(experiment, seed=seed) for seed in range(3)]
    for run in runs:
        record(run, [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0)])
    read_run = check_module.read_run

    def fail_once(run: Run, judged: object) -> object:
        if run == runs[0]:
            raise OSError("no space")
        return read_run(run, judged)

    monkeypatch.setattr(check_module, "read_run", fail_once)
    with pytest.raises(ExceptionGroup, match="could not be checked"):
        flags.check_all_due(60)
    assert [detectors(run) for run in runs] == [[], ["accuracy", "empty"], ["accuracy", "empty"]]
    assert is_due(runs[0]) and not is_due(runs[1])


def test_records_that_arrive_during_a_check_make_the_run_due_again(run: Run, monkeypatch) -> None:
    record(run, evaluation(0, reward=-40.0))
    read_run = check_module.read_run

    def meanwhile(run: Run, before: object) -> object:
        monkeypatch.undo()
        judged = read_run(run, before)
        record(run, evaluation(10, EMPTY, reward=-5.0))
        return judged

    monkeypatch.setattr(check_module, "read_run", meanwhile)
    assert flags.check_run(run.pk)
    assert is_due(run)
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy", "empty"]


def test_training_samples_are_not_judged(run: Run) -> None:
    texts = [answer(10, "", prompt_id=f"p{i}", prompt=f"Capital of country {i}?", split="train") for i in range(10)]
    record(run, [*evaluation(0, reward=-40.0), *texts])
    flags.check_all_due(60)
    assert detectors(run) == []


def test_open_flags_of_many_runs_take_one_query(experiment: Experiment, django_assert_num_queries) -> None:
    runs = [make_flagged_run(experiment, seed=seed) for seed in range(3)]
    with django_assert_num_queries(1):
        by_run = flags.open_flags(run.pk for run in runs)
    assert {pk: [flag.detector for flag in listed] for pk, listed in by_run.items()} == {
        run.pk: ["accuracy", "empty"] for run in runs
    }


def test_parts_that_are_no_finite_number_are_judged_as_unknown(run: Run) -> None:
    records = [*evaluation(0, reward=-40.0), *evaluation(10, EMPTY, reward=-5.0, accuracy=0.0)]
    broken = [
        replace(entry, parts={"contains": float("nan"), "cost": float("inf")}) if isinstance(entry, Answer) else entry
        for entry in records
    ]
    record(run, broken)
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy", "empty"]


def test_end_of_a_run_without_evaluations_makes_no_other_due(experiment: Experiment, runs_dir: object) -> None:
    evaluated, queued = make_flagged_run(experiment), make_run(experiment, seed=1)
    flags.mark_ended(queued)
    assert not is_due(evaluated) and not FlagCheck.objects.filter(run=queued).exists()
    flags.mark_ended(evaluated)
    assert is_due(evaluated)
