"""The demonstration's evaluations and probes: planned for its trainings, launched once, reported by their records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from esweb.demo import tournament
from esweb.demo.experiment import PLANS, examine_trainings, lacks_follow_ups, launch
from esweb.demo.results import EvaluationOutcome, outcomes
from esweb.demo.tables import evaluation_table, tables
from runs.ingest import ingest
from runs.kinds import EVALUATION, PROBE
from runs.models import Attempt, Experiment, Run
from tests.judging.tournament_factory import answered_run
from tests.runs.attempt_records import lines, make_attempt
from workers.config import RunConfig
from workers.records import Metric, Probe, ProbeValue

TOUR = PLANS["tour"]
EVALUATED = ("es-tiny", "grpo-tiny", "es-tiny-reckless", "grpo-tiny-reckless")


@pytest.fixture
def demonstration(ada: User) -> Experiment:
    """Return the first experiment of a tour whose trainings have all succeeded."""
    first, _safe = launch(TOUR, ada)
    end_all(first)
    return first


def end_all(experiment: Experiment, state: str = "succeeded") -> None:
    now = timezone.now()
    runs = experiment.runs.all()
    Attempt.objects.filter(run__in=runs).update(state=state, started_at=now, ended_at=now, drained_at=now)
    runs.update(state=state)


def without_save_steps(config: dict[str, Any]) -> dict[str, Any]:
    grpo = {key: value for key, value in config.get("grpo", {}).items() if key != "save_steps"}
    return {**config, "grpo": grpo}


def evaluated(experiment: Experiment) -> list[Run]:
    """Launch what follows the trainings of a tour and return the evaluations."""
    return [run for run in examine_trainings(TOUR, [experiment]) if run.method in EVALUATION.methods]


def probed(experiment: Experiment) -> Run:
    """Launch what follows the trainings of a tour and return the probe."""
    (run,) = (run for run in examine_trainings(TOUR, [experiment]) if run.method in PROBE.methods)
    return run


def recorded(run: Run, steps: list[int]) -> EvaluationOutcome:
    """Return the outcome of an evaluation that has recorded these steps."""
    values = [{"evaluate/prompts": 64.0, "pass@1": 0.9 - 0.1 * n, "kl": 0.2 * n} for n in range(len(steps))]
    attempt = run.newest_attempt() or make_attempt(run)
    ingest(attempt, 0, lines(Metric(step, v, {}) for step, v in zip(steps, values, strict=True)))
    (outcome,) = outcomes([run])
    assert isinstance(outcome, EvaluationOutcome)
    return outcome


def test_trainings_of_the_tour_differ_in_checkpoints_alone() -> None:
    assert [n for n, plan in PLANS.items() for o in plan.experiments if o.follow_ups] == ["tour", "geometry"]
    assert [(preset, without_save_steps(config)) for preset, config in PLANS["tiny"].configs()] == [
        (preset, without_save_steps(config)) for preset, config in TOUR.configs()
    ]


def test_evaluations_are_of_the_model_and_of_both_methods_trainings(demonstration: Experiment) -> None:
    alone, *of_trainings = evaluated(demonstration)
    assert (alone.parent, alone.name) == (None, "evaluate tiny")
    assert [run.parent.preset for run in of_trainings if run.parent] == list(EVALUATED)
    for run in (alone, *of_trainings):
        config = RunConfig.from_json(run.config)
        assert run.experiment == demonstration and config.evaluate is not None
        assert [task.name for task in config.evaluate.prior_tasks] == ["countdown"]


def test_evaluations_are_launched_once_even_if_they_are_deleted(demonstration: Experiment) -> None:
    assert lacks_follow_ups(TOUR, demonstration)
    launched = examine_trainings(TOUR, [demonstration])
    Run.objects.filter(pk__in=[run.pk for run in launched]).update(deleted_at=timezone.now())
    assert not lacks_follow_ups(TOUR, demonstration)
    assert examine_trainings(TOUR, [demonstration]) == []
    assert not lacks_follow_ups(PLANS["tiny"], demonstration)


def test_failed_and_deleted_trainings_are_not_evaluated(demonstration: Experiment) -> None:
    demonstration.runs.filter(preset="es-tiny").update(state="failed")
    demonstration.runs.filter(preset="grpo-tiny").update(deleted_at=timezone.now())
    launched = examine_trainings(TOUR, [demonstration])
    parents = [run.parent.preset for run in launched if run.method in EVALUATION.methods and run.parent]
    assert parents == ["es-tiny-reckless", "grpo-tiny-reckless"]
    assert not any(run.method in PROBE.methods for run in launched), "no training of the probe is left"


def test_evaluation_succeeds_if_it_records_each_step(demonstration: Experiment) -> None:
    alone, of_es, *_ = evaluated(demonstration)
    end_all(demonstration)
    steps = [0, 10, 20, 30, 40, 50, 60]
    partial, whole, single = recorded(of_es, steps[:6]), recorded(of_es, steps), recorded(alone, [0])
    assert (partial.failure_reason, partial.line()) == (
        "recorded 6 of 7 steps",
        "evaluate es-tiny seed 1: succeeded, 6 of 7 steps",
    )
    assert (whole.failure_reason, single.failure_reason) == ("", "")
    end_all(demonstration, "failed")
    assert recorded(of_es, steps).failure_reason == "ended as failed: no reason"


def test_evaluation_of_grpo_has_as_many_steps_as_checkpoints(
    demonstration: Experiment, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = tmp_path
    run = next(r for r in evaluated(demonstration) if r.parent and r.parent.preset == "grpo-tiny")
    assert run.parent is not None
    attempt = run.parent.attempts.get()
    for step in (20, 40, 60):
        (run.parent.root / attempt.key / "checkpoints" / f"step-{step:06d}").mkdir(parents=True)
    assert recorded(run, [0, 20, 40]).planned_steps == 4


def test_table_shows_the_first_and_the_last_value_of_each_evaluation(demonstration: Experiment) -> None:
    alone, of_es, *_ = evaluated(demonstration)
    heading, _, first, second, note = evaluation_table([recorded(alone, [0]), recorded(of_es, [0, 10, 20])]).split("\n")
    assert heading.split() == ["evaluation", "state", "steps", "pass@1", "kl", "seconds", "flags"]
    assert first.split() == ["evaluate", "tiny", "created", "1/1", "0.90", "0.000", "–", "–"]
    assert "evaluate es-tiny seed 1  created  3/7    0.90 → 0.70  0.000 → 0.400" in second
    assert "first → last" in note


def test_trainings_evaluations_and_probes_have_tables_of_their_own(demonstration: Experiment) -> None:
    assert len(tables(outcomes(demonstration.runs.all()))) == 1
    examine_trainings(TOUR, [demonstration])
    of_trainings, of_evaluations, of_probes = tables(outcomes(demonstration.runs.all()))
    assert "EVALUATE" not in of_trainings and len(of_evaluations.splitlines()) == 2 + 5 + 1
    assert len(of_probes.splitlines()) == 2 + 1


def test_a_single_probe_examines_all_trainings_and_succeeds_with_all_parts(demonstration: Experiment) -> None:
    run = probed(demonstration)
    trained = demonstration.runs.filter(preset__in=("es-tiny", "grpo-tiny")).order_by("preset", "seed")
    config = run.run_config
    assert config.probe is not None
    assert config.probe.runs == tuple(f"run:{training.uid}" for training in trained)
    assert run.parent == trained[0]

    end_all(demonstration)
    attempt = run.newest_attempt()
    assert attempt is not None
    results = []
    for part in (1, 2):
        values = {"probe/records": 3.0, "probe/units": 2.0}
        ingest(attempt, part, lines([Metric(part, values, {})]))
        (outcome,) = outcomes([run])
        results.append((outcome.failure_reason, outcome.line().partition("succeeded, ")[2]))
    assert results == [("recorded 1 of 2 parts", "1 of 2 parts, 3 results"), ("", "2 of 2 parts, 6 results")]


def test_evaluations_are_no_contestants(experiment: Experiment) -> None:
    trained = [answered_run(experiment, name, ["yes", "no"]) for name in ("es", "grpo")]
    evaluation = answered_run(experiment, "evaluate es", ["yes", "no"])
    Run.objects.filter(pk=evaluation.pk).update(method=EVALUATION.method, parent=trained[0])
    demo_tournament = tournament.get_or_create_tournament(experiment)
    assert demo_tournament is not None
    assert list(demo_tournament.contestants.order_by("pk").values_list("run", flat=True)) == [r.pk for r in trained]


def test_restart_after_the_evaluations_launches_nothing(
    demonstration: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated(demonstration)
    count = Run.objects.count()
    call_command("demo_experiment", "--once", "--preset", "tour")
    assert "already exists" in capsys.readouterr().out
    assert Run.objects.count() == count


def test_tables_of_a_probe_name_the_weights_their_verdict_and_what_chance_gives(demonstration: Experiment) -> None:
    run = probed(demonstration)
    first, second = (f"{name.removeprefix('run:')}@60" for name in run.run_config.probe.runs[:2])  # type: ignore[union-attr]
    records = [
        Probe(60, "magnitude", "norm", first, (ProbeValue(8.7, 9, null=8.69, null_low=8.675, null_high=8.714),)),
        Probe(60, "magnitude", "growth_exponent", first, (ProbeValue(0.5, 9, low=0.49, high=0.52, null=0.5),)),
        Probe(60, "audit", "shared_noise", first, (ProbeValue(0.1, 9, "a", "b"),), verdict="independent"),
        Probe(
            60, "cosine", "cosine", first, (ProbeValue(0.0027, 9, null=0, null_low=-0.003, null_high=0.003),), second
        ),
    ]
    attempt = run.newest_attempt()
    assert attempt is not None
    ingest(attempt, 0, lines(records))

    _probes, weights, cosines = tables(outcomes([run]))
    assert "es-tiny seed 1  independent  8.700   8.68 … 8.71  0.50 (0.49 … 0.52)  –" in weights
    assert "es-tiny seed 1  es-tiny seed 2  +0.0027  -0.003 … 0.003" in cosines
