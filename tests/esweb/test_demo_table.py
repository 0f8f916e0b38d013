"""The demonstration's table and verdict, from rows as runs write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from esweb.celery import app
from esweb.demo.experiment import PLANS, find_existing, launch
from esweb.demo.results import TrainingOutcome, outcomes
from esweb.demo.tables import flag_lines, table
from esweb.management.commands import demo, demo_experiment
from runs.flags import check_now
from runs.ingest import ingest
from runs.models import Attempt, Experiment, Run
from tests.runs.attempt_records import lines, make_attempt, make_run
from tests.runs.flags.flag_cases import EMPTY, evaluation
from workers.config import RunConfig
from workers.records import Metric

CONFIG = RunConfig.from_json({"method": "es", "seed": 3, "es": {"iterations": 40}}).to_json()


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    """Return an attempt that has ended well, after a minute."""
    run = make_run(experiment)
    Run.objects.filter(pk=run.pk).update(config=CONFIG, seed=3, preset="es-tiny")
    run.refresh_from_db()
    ended = make_attempt(run, state="succeeded")
    ended.started_at, ended.ended_at = timezone.now(), timezone.now() + timedelta(seconds=61)
    ended.drained_at = timezone.now()
    ended.save()
    return ended


def evaluated(attempt: Attempt, *rewards: float) -> TrainingOutcome:
    """Return the outcome of the attempt after evaluations, ten steps apart, that gave these rewards."""
    values = [{"reward/mean": r, "accuracy/right": 0.5, "kl": 0.1 * n} for n, r in enumerate(rewards)]
    ingest(attempt, 0, lines(Metric(10 * n, v, {}) for n, v in enumerate(values)))
    (outcome,) = outcomes([attempt.run])
    assert isinstance(outcome, TrainingOutcome)
    return outcome


def test_the_reward_after_is_the_mean_of_the_last_three_evaluations(attempt: Attempt) -> None:
    outcome = evaluated(attempt, -40.0, -30.0, -9.0, -6.0, -3.0)
    assert outcome.reward is not None
    assert (outcome.reward.before, outcome.reward.after) == (-40.0, -6.0)
    assert outcome.kl == pytest.approx(0.3)
    assert (outcome.has_ended, outcome.failure_reason, outcome.step) == (True, "", 40)


def test_the_first_evaluation_never_counts_as_after(attempt: Attempt) -> None:
    outcome = evaluated(attempt, -40.0, -10.0, -8.0)
    assert outcome.reward is not None
    assert outcome.reward.after == -9.0


def test_fallen_reward_is_reported(attempt: Attempt) -> None:
    assert evaluated(attempt, -5.0, -6.0).failure_reason == "its reward did not rise: -5.0 → -6.0"


def test_flagged_run_is_named_with_its_reason(attempt: Attempt) -> None:
    assert flag_lines([evaluated(attempt, -40.0)]) == ["No run is flagged."]
    ingest(attempt, 1, lines([*evaluation(0, reward=-40.0), *evaluation(50, EMPTY, reward=-1.0)]))
    check_now([attempt.run])
    (outcome,) = outcomes([attempt.run])
    assert isinstance(outcome, TrainingOutcome)
    assert table([outcome]).splitlines()[2].endswith("  accuracy, empty")
    assert flag_lines([outcome]) == [
        f"Flagged: {attempt.run.name}. Right responses fell from 100 % to 0 % (n = 10) while the reward rose. Compared "
        "with step 0. 10 of 10 responses are empty. Before: 0 %. Compared with step 0."
    ]


def safety(attempt: Attempt, safe: list[float], weights: list[float]) -> TrainingOutcome:
    """Return the outcome of an attempt whose answers have a cost, its reward falling."""
    values = [{"reward/mean": -float(n), "safety/safe_ratio": s, "kl": 0.1} for n, s in enumerate(safe)]
    steps = [Metric(10 * n, v, {}) for n, v in enumerate(values)]
    ingest(attempt, 0, lines([*steps, *(Metric(n + 1, {"lambda": w}, {}) for n, w in enumerate(weights))]))
    (outcome,) = outcomes([attempt.run])
    assert isinstance(outcome, TrainingOutcome)
    return outcome


def test_safety_run_is_described_by_safe_answers_and_lambda(attempt: Attempt) -> None:
    outcome = safety(attempt, [0.5, 0.6, 0.8, 1.0], [0.1, 0.4, 0.3])
    assert outcome.failure_reason == ""
    row = table([outcome]).splitlines()[2]
    assert "0.50 → 0.80" in row and "0.10 → 0.30" in row


def test_answers_that_were_all_safe_before_need_only_stay_so(attempt: Attempt) -> None:
    assert safety(attempt, [1.0, 1.0], [0.1, 0.2]).failure_reason == ""


@pytest.mark.parametrize(
    ("safe", "weights", "message"),
    [
        ([0.9, 0.8], [0.1, 0.2], "its share of safe responses did not rise: 0.90 → 0.80"),
        ([1.0, 0.9], [0.1, 0.2], "its share of safe responses did not rise: 1.00 → 0.90"),
        ([0.1, 0.8], [0.1, 0.1], "its λ did not change"),
    ],
)
def test_failing_safety_run_is_described(
    attempt: Attempt, safe: list[float], weights: list[float], message: str
) -> None:
    assert safety(attempt, safe, weights).failure_reason == message


def test_a_run_without_evaluations_is_no_success(attempt: Attempt) -> None:
    assert evaluated(attempt).failure_reason == "has no evaluation before and after"


def test_failed_run_is_reported_with_its_reason(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state="failed", reason="the disk is full")
    assert evaluated(attempt, -5.0, -1.0).failure_reason == "ended as failed: the disk is full"


def test_a_run_whose_records_are_still_to_come_has_not_ended(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(drained_at=None)
    assert not evaluated(attempt, -5.0, -1.0).has_ended


def test_the_table_shows_before_and_after(attempt: Attempt) -> None:
    heading, _, row, note = table([evaluated(attempt, -40.0, -6.0)]).splitlines()
    assert "mean of a run's last 3 evaluations" in note
    assert heading.split()[:4] == ["method", "preset", "seed", "state"]
    assert row.split("  ")[0] == "ES"
    for cell in ("es-tiny", "3", "succeeded", "-40.0 → -6.0", "0.50 → 0.50", "–", "0.100", "61"):
        assert cell in row


def test_table_shows_unknown_values_as_a_dash(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state="queued", started_at=None, ended_at=None)
    assert table([evaluated(attempt)]).splitlines()[2].split()[-4:] == ["–"] * 4


@pytest.mark.parametrize("name", list(PLANS))
def test_every_planned_run_is_a_valid_one_and_both_methods_run_twice(name: str) -> None:
    plan = PLANS[name]
    configs = [RunConfig.from_json(config) for _, config in plan.configs()]
    assert {config.model.path for config in configs} == {plan.model}
    seeds = {(config.method, config.seed) for config in configs}
    assert seeds >= {("es", 1), ("es", 2), ("grpo", 1), ("grpo", 2)}


def test_existing_demonstration_is_reused(experiment: Experiment, ada) -> None:
    assert find_existing(PLANS["tiny"]) is None
    launched = launch(PLANS["micro"], ada)
    assert find_existing(PLANS["tiny"]) == launched[0]
    assert [e.runs.count() for e in launched] == [len(plan.runs) for plan in PLANS["micro"].experiments]


@pytest.mark.parametrize(("exits_when_done", "options"), [(True, []), (False, ["--once"])])
def test_a_demonstration_that_stays_open_launches_once(exits_when_done: bool, options: list[str]) -> None:
    command = demo.Command()
    command.preset, command.deadline, command.exits_when_done = "micro", 60.0, exits_when_done
    assert [word for word in command.experiment("http://127.0.0.1:8000").argv if word == "--once"] == options


def test_once_option_launches_once(ada, capsys: pytest.CaptureFixture[str]) -> None:
    launch(PLANS["micro"], ada)
    call_command("demo_experiment", "--once")
    assert "already exists" in capsys.readouterr().out
    assert Experiment.objects.count() == len(PLANS["micro"].experiments)


@pytest.mark.django_db
def test_missing_worker_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_experiment, "WORKER_SECONDS", 0.0)
    ping = app.control.ping
    monkeypatch.setattr(app.control, "ping", lambda timeout: ping(timeout=timeout / 100))
    with pytest.raises(CommandError, match=r"No worker responded within .* Is `./manage.py up` running\?"):
        call_command("demo_experiment", "--preset", "micro")
    assert find_existing(PLANS["tiny"]) is None


def test_demo_gives_up_at_its_deadline(attempt: Attempt, capsys: pytest.CaptureFixture[str]) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state="queued", drained_at=None)
    with pytest.raises(CommandError, match="has passed before every run finished"):
        demo_experiment.Command().wait([attempt.run], give_up_at=0.0)
    assert "es-tiny" in capsys.readouterr().out
