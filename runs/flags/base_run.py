"""Choose the evaluation of the model before training that a run's evaluations are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from django.utils.translation import gettext_noop as _

from runs.flags.evaluations import Numbers, model_of, read_evaluation, read_numbers, token_limit
from runs.models import EVALUATION, Response, Run
from runs.models.experiment import config_section
from workers.analysis.detectors import MIN_SHARED, Evaluation, shared_prompts
from workers.analysis.detectors.matching import Comparison
from workers.config.tasks import TASKS

MAX_CANDIDATES = 20
STEP_0, OTHER_RUN = _("step 0"), _("step 0 of another run")
NOT_OF_REWARD = (
    "train_file", "eval_file", "train_problems", "train_prompts", "eval_prompts", "selection_seed",
)  # fmt: skip
"""Options of tasks that choose prompts. Prompts are compared by their texts."""


def read_base(run: Run, evaluation: Evaluation, numbers: Numbers) -> tuple[Evaluation | None, str]:
    """Return the evaluation before training with its label: the run's own at step 0, else that of another run of the
    experiment which measures the same alike and pairs the most responses.

    Nearly all prompts have to pair. A later evaluation of the run is of a trained model, and is never the base.
    """
    own = read_evaluation(run, 0, numbers.by_step.get(0, {}))[0]
    if shared_prompts(evaluation, own) >= MIN_SHARED:
        return own, STEP_0
    best, label, most = None, "", 0
    for other in _candidates(run):
        base = read_evaluation(other, 0, read_numbers(other).by_step.get(0, {}))[0]
        if _temperature(run) != _temperature(other):
            base = replace(base, responses=[response for response in base.responses if response.is_greedy])
        pairs = len(Comparison(evaluation, base).pairs)
        if pairs > most:
            best, label, most = base, f"{OTHER_RUN}, {other.name}", pairs
        if pairs == len(evaluation.responses):
            break
    return best, label


def _candidates(run: Run) -> Iterator[Run]:
    """Yield the first 20 other runs of the experiment, trainings or evaluations, with a step 0 of the same model, task
    and limit of tokens."""
    task, model = config_section(run.config, "task"), model_of(run)
    if "name" not in task and not model:
        return
    at_0 = Response.objects.filter(run__experiment=run.experiment_id, split=EVALUATION, step=0, is_superseded=False)
    others = Run.objects.filter(pk__in=at_0.exclude(run=run).values("run"), deleted_at__isnull=True)
    left = MAX_CANDIDATES
    for other in others.select_related("parent").order_by("pk").iterator():
        if not left:
            return
        if model_of(other) == model and token_limit(other) == token_limit(run) and _measured(other) == _measured(run):
            left -= 1
            yield other


def _temperature(run: Run) -> Any:
    """Return the temperature of the samples; if it differs, they differ without any training."""
    return config_section(run.config, "evaluation").get("temperature", 1.0)


def _measured(run: Run) -> dict[str, Any]:
    """Return what of the task changes the text that the model sees, or the reward of its response. An option at its
    default is left out, so that configs of older versions are equal to those of now."""
    task = config_section(run.config, "task")
    options, name = config_section(task, "options"), str(task.get("name", ""))
    defaults = {option.name: option.default for option in fields(TASKS[name])} if name in TASKS else {}
    changed = {
        key: value for key, value in options.items() if key not in NOT_OF_REWARD and value != defaults.get(key, "")
    }
    own = {"name": name, "prefill": task.get("prefill") or "", "prompt_style": task.get("prompt_style") or "auto"}
    return own | {"options": changed}
