"""Protocols of evaluations: recorded numbers before planned ones, and the options that differ from defaults."""

from __future__ import annotations

import pytest

from runs.evaluations.estimates import read_curves
from runs.evaluations.protocols import Protocol, list_protocols, protocol_differences
from runs.evaluations.selection import evaluations_of
from runs.models import Experiment, Run
from tests.runs.evaluation_runs import make_evaluation, make_training, record_steps
from workers.config import RunConfig

pytestmark = pytest.mark.django_db


def protocols_of(*runs: Run) -> list[Protocol]:
    evaluations = evaluations_of(runs)
    tasks = ["countdown", "conciseness"]
    return list_protocols(evaluations, tasks, read_curves(evaluations, [], tasks))


def test_recorded_numbers_are_shown_instead_of_planned_ones(experiment: Experiment) -> None:
    run = make_evaluation(experiment, prompts=100, samples=8)
    assert protocols_of(run)[0].settings["prompts"].text == "100" and protocols_of(run)[0].steps == 0
    record_steps(run, {0: [1, 2, 3], 5: [1, 2, 3]}, {0: [1, 1], 5: [1, 1]})
    own, prior = protocols_of(run)
    assert (own.settings["prompts"].text, own.settings["samples"].text, own.steps) == ("3", "4", 2)
    assert prior.settings["prompts"].text == "2"


def test_options_that_differ_from_defaults_are_named(experiment: Experiment) -> None:
    plain, numbers = make_evaluation(experiment), make_evaluation(experiment)
    task = {"name": "countdown", "options": {"train_problems": 3}, "prefill": "<think>"}
    numbers.config = RunConfig.from_json(numbers.config | {"task": task}).to_json()
    numbers.save()
    first, second, *prior = protocols_of(plain, numbers)
    assert first.settings["options"].text == "" and second.settings["options"].text == "train_problems 3"
    assert {name for name, setting in second.settings.items() if setting.differs} == {"options", "prefill"}
    assert not any(setting.differs for protocol in prior for setting in protocol.settings.values())
    sentences = protocol_differences([first, second, *prior])
    assert sentences == ["countdown was not measured alike (Prefill, Options of the task): do not compare its numbers "
                         "directly."]  # fmt: skip


def test_config_of_an_unknown_task_has_a_protocol_too(experiment: Experiment) -> None:
    run = make_evaluation(experiment)
    run.config = {"method": "evaluate", "task": {"name": "countdown", "options": {"nosuch": 3}}}
    protocol = protocols_of(run)[0]
    assert protocol.settings["options"].text == "nosuch 3" and protocol.settings["temperature"].text == ""
    run.config = {"method": "evaluate"}
    assert protocols_of(run) == []


def test_another_model_of_the_kl_concerns_the_kl_alone(experiment: Experiment, runs_dir: object) -> None:
    trained, alone = make_evaluation(experiment, make_training(experiment)), make_evaluation(experiment)
    sentences = protocol_differences(protocols_of(trained, alone))
    assert sentences == [
        f"{task}: the KL is not measured against the same model everywhere: do not compare it."
        for task in ("countdown", "conciseness")
    ]
