"""The KL of a run is compared with runs of the same settings and other seeds, whatever the order of checks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.contrib.auth.models import User

from runs import flags
from runs.models import Experiment, Flag, Run
from tests.runs.flags.flag_cases import EMPTY, HONEST, detectors, evaluation
from tests.runs.full_runs import make_run, record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]


def make_runs(experiment: Experiment, kls: Sequence[float], preset: str = "es-tiny") -> list[Run]:
    """Return runs of one setting with these KLs at step 10, of a model without a reference, with the seeds 0, 1, …"""
    runs = [make_run(experiment, preset, seed=seed) for seed in range(len(kls))]
    for run, kl in zip(runs, kls, strict=True):
        Run.objects.filter(pk=run.pk).update(config=run.config | {"model": run.config["model"] | {"path": "qwen"}})
        record(run, [*evaluation(0, reward=-40.0), *evaluation(10, reward=-5.0, kl=kl)])
    return runs


def test_runs_of_another_method_are_no_peers(experiment: Experiment) -> None:
    make_runs(experiment, [0.02, 0.022, 0.024, 0.026, 0.028])
    (run,) = make_runs(experiment, [0.6], "grpo-tiny")
    flags.check_all_due(60)
    assert detectors(run) == []


def test_runs_of_other_settings_and_of_the_same_seed_are_no_peers(experiment: Experiment) -> None:
    *others, run = make_runs(experiment, [0.20, 0.21, 0.22, 0.23, 0.24, 9.0])
    flags.check_all_due(60)
    flag = Flag.objects.get(run=run)
    assert (flag.detector, flag.n) == ("kl_band", 5)
    assert "of 5 runs with other seeds" in flags.reason_of(flag)
    assert flags.test_of(flag).startswith("Prediction interval: p =")
    faster = others[0].config | {"es": others[0].config["es"] | {"alpha": 0.5}, "model": {"path": "qwen"}}
    Run.objects.filter(pk=others[0].pk).update(config=faster)
    Run.objects.filter(pk=others[1].pk).update(seed=others[2].seed)
    flags.mark_ended(run)
    flags.check_all_due(60)
    assert detectors(run) == []


def test_evaluation_of_a_training_has_no_peers(experiment: Experiment) -> None:
    *_, run = make_runs(experiment, [0.20, 0.21, 0.22, 0.23, 9.0])
    Run.objects.filter(pk=run.pk).update(method="evaluate")
    flags.check_all_due(60)
    assert detectors(run) == []


def test_peer_that_is_flagged_later_or_dismissed_has_the_others_checked_again(
    experiment: Experiment, ada: User
) -> None:
    runs = make_runs(experiment, [8.0, 0.11, 0.12, 0.13, 0.14, 20.0])
    record(runs[5], evaluation(20, EMPTY, reward=-5.0, kl=20.0))
    flags.check_all_due(60)
    assert detectors(runs[0]) == ["kl_band"]
    for flag in Flag.objects.filter(run=runs[5]):
        flags.dismiss(flag, ada, "Silence is wanted.")
    flags.check_all_due(60)
    assert HONEST and detectors(runs[0]) == []
