"""The base of a run is step 0 of another run only if that measures the same, of the same prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from runs import flags
from runs.flags.evaluations import model_of, read_numbers, token_limit
from runs.models import Experiment, Flag, Run
from tests.cases import each_case
from tests.runs.flags.flag_cases import EMPTY, HONEST, PLACES, detectors, evaluation
from tests.runs.full_runs import make_run, record
from workers.config.evaluate import DEFAULT_TOKENS
from workers.records import Record, Response

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]
WRONG = [f"It is {place}, I am sure of it." for place in (*PLACES[3:], *PLACES[:3])]


def ended(experiment: Experiment, records: list[Record], seed: int = 0, **config: Any) -> Run:
    """Return a run that succeeded with these records and sections of its config."""
    run = make_run(experiment, seed=seed)
    Run.objects.filter(pk=run.pk).update(config=run.config | config, state="succeeded")
    record(run, records)
    run.refresh_from_db()
    return run


def of_other_prompts(records: Sequence[Record]) -> list[Record]:
    return [
        replace(r, prompt_id=f"x{r.prompt_id}", prompt=f"{r.prompt}!") if isinstance(r, Response) else r
        for r in records
    ]


OWN = {"name": "own", "options": {"path": "tasks.a:reward", "options": {}}}


@each_case(
    "section, of_base, of_run",
    [
        ("evaluation", {"max_new_tokens": 512}, {"max_new_tokens": 8}),
        ("task", OWN, OWN | {"options": {"path": "tasks.b:reward", "options": {}}}),
        ("task", {"name": "safety", "options": {"lambda_init": 1.0}}, {"name": "safety", "options": {}}),
        ("model", {"path": "tiny"}, {"path": "smollm2"}),
    ],
)
def test_run_that_measures_otherwise_is_no_base(
    experiment: Experiment, section: str, of_base: dict[str, Any], of_run: dict[str, Any]
) -> None:
    ended(experiment, evaluation(0, reward=-40.0), seed=1, **{section: of_base})
    run = ended(experiment, evaluation(10, WRONG, reward=-5.0), **{section: of_run})
    flags.check_all_due(60)
    assert detectors(run) == []


def test_options_that_choose_prompts_and_options_at_their_default_do_not_matter(experiment: Experiment) -> None:
    options = {"train_file": "facts.jsonl", "system_prompt": ""}
    ended(experiment, evaluation(0, reward=-40.0), seed=1, task={"name": "conciseness", "options": options})
    run = ended(experiment, evaluation(10, WRONG, reward=-5.0), task={"name": "conciseness"})
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy"]


def test_base_is_the_run_that_pairs_the_most_responses(experiment: Experiment) -> None:
    ended(experiment, of_other_prompts(evaluation(0, reward=-40.0)), seed=1)
    base = ended(experiment, evaluation(0, reward=-40.0), seed=2)
    run = ended(experiment, evaluation(10, WRONG, reward=-5.0))
    flags.check_all_due(60)
    assert Flag.objects.get(run=run).compared_with == f"step 0 of another run, {base.name}"


def test_run_that_shares_a_single_prompt_is_no_base(experiment: Experiment) -> None:
    first, second, *others = evaluation(0, reward=-40.0)
    ended(experiment, [first, second, *of_other_prompts(others)], seed=1)
    run = ended(experiment, evaluation(10, EMPTY, reward=-5.0))
    flags.check_all_due(60)
    assert list(run.flags.values_list("detector", "before", "n")) == [("empty", None, 10)]


def test_evaluation_of_the_base_model_makes_trainings_without_a_base_due_when_it_ends(experiment: Experiment) -> None:
    run = ended(experiment, evaluation(10, WRONG, reward=-5.0))
    flags.check_all_due(60)
    assert detectors(run) == []
    base = ended(experiment, evaluation(0, reward=-40.0), seed=2, method="evaluate")
    Run.objects.filter(pk=base.pk).update(method="evaluate")
    flags.mark_ended(Run.objects.get(pk=base.pk))
    flags.check_all_due(60)
    assert detectors(run) == ["accuracy"]


def test_evaluation_has_the_limit_and_the_model_of_its_training(experiment: Experiment) -> None:
    training = Run(config={"model": {"path": "tiny"}, "es": None, "grpo": {"max_completion_length": 256}})
    alone = Run(config={"model": {"path": "smollm2"}, "evaluate": {"run": ""}, "evaluation": {"max_new_tokens": 0}})
    assert (token_limit(training), token_limit(alone), model_of(alone)) == (256, DEFAULT_TOKENS, "smollm2")
    alone.parent = training
    assert (token_limit(alone), model_of(alone)) == (256, "tiny")
    unknown = Run(config=alone.config | {"evaluate": {"run": "run:abc"}})
    assert model_of(unknown) == ""


def test_kl_to_another_model_than_the_trainings_is_left_out(experiment: Experiment) -> None:
    run = ended(experiment, evaluation(10, HONEST, kl=40.0), evaluate={"base": "models/other"})
    assert dict(read_numbers(run).by_step[10]) == {"reward/mean": 0.0}
