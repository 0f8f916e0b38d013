"""The run of method evaluate: each step on each task, one metric record a step, responses before it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from workers import tasks
from workers.analysis.keys import PROMPTS
from workers.config import ConfigError, Problem, RunConfig
from workers.config.evaluate import EvaluateConfig
from workers.engines.es.replay_history import CannotReplay
from workers.engines.stop import Stop
from workers.evaluation import Evaluation, Evaluator, frozen_copy
from workers.models import PromptFormat
from workers.models.decoder import Decoder, evaluating_decoder
from workers.probes.evaluate.measures import correctness, measure
from workers.probes.evaluate.subjects import Report, Subject, open_subject
from workers.probes.progress import Wait, completed_steps, waiting
from workers.records import Metric, RecordWriter, Response, Status
from workers.tasks import Task
from workers.tasks.protocols import WaitingTask

IDENTITY_FILE = "evaluate.json"
"""The settings that decide the numbers of an evaluation, in the directory of each attempt."""
IS_COMPLETE = PROMPTS
"""A value of every step's metric record, which is written once the step is complete."""
CORRECT_PART = "correct"
"""Part of every recorded response: 1 if it is correct by the rule of `evaluate.correct`, else 0."""


def evaluate(config: RunConfig, records: RecordWriter, stop: Stop, report: Report) -> None:
    """Evaluate every step that has not been recorded yet. Raise ConfigError, RewardFailed and Interrupted.

    A run that is started again, in the same directory or as its next attempt, continues after its last complete step.
    """
    settings = config.evaluate or EvaluateConfig()
    identity = {k: config.to_json()[k] for k in ("model", "task", "evaluate", "evaluation")}
    done = completed_steps(records.directory, IDENTITY_FILE, identity, IS_COMPLETE)
    with stop.interruptible():
        try:
            subject = open_subject(config, settings, report)
        except CannotReplay as error:
            raise ConfigError([Problem("evaluate.run", str(error))]) from error
        evaluations = _TaskEvaluations(config, settings, subject, waiting(records, stop))
    left = [step for step in subject.steps if step not in done]
    for step, model in _interruptible(subject.weights(), stop):
        if step not in left:
            continue
        share = (len(subject.steps) - len(left)) / len(subject.steps)
        records.write(Status("evaluating", f"step {step}", share))
        with stop.interruptible():
            values, responses = evaluations.run(model, step)
        for response in responses if config.evaluation.responses else ():
            records.write(response)
        records.write(Metric(step, values))
        left.remove(step)
        print(f"step {step}  greedy accuracy {values['accuracy/greedy']:.4g}", flush=True)


class _TaskEvaluations:
    """The evaluators of all tasks, which share the reference's weights of the moment of creation."""

    def __init__(self, config: RunConfig, settings: EvaluateConfig, subject: Subject, wait: Wait) -> None:
        self._settings, self._has_reference = settings, subject.has_reference
        self._decoder: Decoder | None = None
        self._parts: dict[str, tuple[Task, Evaluator]] = {}
        reference = replace(subject.reference, model=frozen_copy(subject.reference.model))
        self._tokenizer = reference.tokenizer
        prefixes = {"": config.task} | {f"prior/{task.name}/": task for task in settings.prior_tasks}
        for prefix, task_config in prefixes.items():
            task = tasks.make(task_config)
            if isinstance(task, WaitingTask):
                task.waits_by(wait)
            prompts = PromptFormat(reference.tokenizer, task_config.prompt_style, task_config.prefill)
            plan, tokens = config.evaluation, subject.max_new_tokens
            self._parts[prefix] = task, Evaluator(reference, task, plan, tokens, prompts, base_is_frozen=True)

    def run(self, model: Any, step: int) -> tuple[dict[str, float], list[Response]]:
        """Return the values and responses of all tasks. Values of prior tasks have a prefix, their responses the task's
        name among their categories."""
        values: dict[str, float] = {}
        responses: list[Response] = []
        began = time.perf_counter()
        if self._decoder is None or self._decoder.model is not model:
            self._decoder = None
            self._decoder = evaluating_decoder(model, self._tokenizer)
        for prefix, (task, evaluator) in self._parts.items():
            evaluation = self._run(task, evaluator, model, step, self._decoder)
            values |= {f"{prefix}{name}": value for name, value in evaluation.values.items()}
            names = (task.name,) if prefix else ()
            responses += [replace(r, categories=(*r.categories, *names)) for r in evaluation.responses]
        return values | {"time/evaluation_seconds": time.perf_counter() - began}, responses

    def _run(self, task: Task, evaluator: Evaluator, model: Any, step: int, decoder: Decoder) -> Evaluation:
        evaluation = evaluator.run(model, step, decoder)
        try:
            is_correct = correctness(evaluation.answers, self._settings)
        except ValueError as error:
            raise ConfigError([Problem("evaluate.correct", str(error))]) from error
        values = evaluation.values | measure(evaluation.answers, task, is_correct)
        responses = [
            replace(response, parts=response.parts | {CORRECT_PART: float(is_correct(answer.score))})
            for response, answer in zip(evaluation.responses, evaluation.answers, strict=True)
        ]
        if not self._has_reference:
            values = {name: value for name, value in values.items() if name.partition("/")[0] != "kl"}
            responses = [replace(response, kl=None) for response in responses]
        return replace(evaluation, values=values, responses=responses)


def _interruptible(weights: Iterator[tuple[int, Any]], stop: Stop) -> Iterator[tuple[int, Any]]:
    """Yield what `weights` yields, and cut the making of weights short if a stop is requested."""
    while True:
        with stop.interruptible():
            pair = next(weights, None)
        if pair is None:
            return
        yield pair
