"""Read an evaluation of a run as the detectors need it: responses, numbers and scores."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Left

from runs import metrics
from runs.models import EVALUATION, Response, Run, Score
from runs.models.experiment import config_section
from workers.analysis.detectors import EvaluatedResponse, Evaluation
from workers.analysis.keys import KL, REWARD
from workers.config.evaluate import DEFAULT_TOKENS

MAX_CHARACTERS = 8000
MAX_RESPONSES = 5000


@dataclass(frozen=True)
class Numbers:
    """The evaluator's numbers of a run: step -> key -> value. discarded: steps of which a resume discarded the reward
    and did not measure it again."""

    by_step: Mapping[int, Mapping[str, float]]
    discarded: frozenset[int]


def read_numbers(run: Run) -> Numbers:
    """Return the reward and the KL of the run's evaluations. The KL to another model than the run's own is left out."""
    has_other_reference = bool(config_section(run.config, "evaluate").get("base"))
    by_step: dict[int, dict[str, float]] = defaultdict(dict)
    overwritten: set[int] = set()
    for curve in metrics.read([run], [REWARD] if has_other_reference else [REWARD, KL]):
        for x, y, is_overwritten in zip(curve.x, curve.y, curve.overwritten, strict=True):
            if not is_overwritten:
                by_step[int(x)][curve.key] = float(y)
            elif curve.key == REWARD:
                overwritten.add(int(x))
    discarded = frozenset(step for step in overwritten if REWARD not in by_step.get(step, {}))
    return Numbers(dict(by_step), discarded)


def read_evaluation(run: Run, step: int, values: Mapping[str, float]) -> tuple[Evaluation, str]:
    """Return the evaluation and the hash of its responses and numbers, without those to prior tasks: the numbers are
    of the run's own task."""
    own = Response.objects.exclude(prompt__categories__overlap=run.prior_tasks) if run.prior_tasks else Response.objects
    rows: Any = (
        own.filter(run=run, split=EVALUATION, step=step, is_superseded=False, words__isnull=False)
        .order_by("sample", "prompt__digest")
        .values_list(
            "pk", "prompt__text", Left("text", MAX_CHARACTERS), "reward", "prompt__target", "sample", "tokens", "parts",
            "kl", "is_right", "prompt__name", "prompt__digest",
        )[:MAX_RESPONSES]
    )  # fmt: skip
    responses, content = [], []
    for pk, prompt, text, reward, target, sample, tokens, parts, kl, is_right, name, digest in rows:
        responses.append(
            EvaluatedResponse(pk, prompt or f"#{name}", text, reward, target, sample, tokens, parts or {}, kl, is_right)
        )
        content.append([digest, sample, text, reward, tokens, parts])
    evaluation = Evaluation(step, responses, values, _scores(run, step), token_limit(run), _measured_model(run))
    return evaluation, hash_of([step, dict(values), content])


def model_of(run: Run) -> str:
    """Return the path of the base model of the weights that a run trains or evaluates; "" if it is unknown."""
    is_of_a_training = bool(config_section(run.config, "evaluate").get("run"))
    if run.parent is None and is_of_a_training:
        return ""
    return str(config_section((run.parent or run).config, "model").get("path") or "")


def _measured_model(run: Run) -> str:
    """Return the path of the model; "" for a run from elsewhere, whose KL may be of another estimator."""
    is_own = not hasattr(run, "source") and not hasattr(run, "external")
    return model_of(run) if is_own else ""


def _scores(run: Run, step: int) -> dict[str, dict[int, float]]:
    """Return scorer/key -> primary key of a response of the step -> its score."""
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    rows = Score.objects.filter(
        response__run=run, response__split=EVALUATION, response__step=step, response__is_superseded=False
    ).order_by("response_id")
    listed = rows.values_list("scorer", "key", "response_id", "value")
    for scorer, key, response, value in listed[: 4 * MAX_RESPONSES]:
        scores[f"{scorer}/{key}"][response] = value
    return dict(scores)


def token_limit(run: Run) -> int | None:
    """Return the largest number of tokens of a response of the run's evaluations: its own setting, else that of the
    training; None if unknown."""
    training = (run.parent or run).config
    limits = [
        config_section(run.config, "evaluation").get("max_new_tokens"),
        config_section(training, "es").get("max_new_tokens"),
        config_section(training, "grpo").get("max_completion_length"),
    ]
    for limit in limits:
        if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
            return limit
    return DEFAULT_TOKENS if run.parent is None and config_section(run.config, "evaluate") else None


def hash_of(content: Any) -> str:
    """Return the hash of a JSON value."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=True).encode()).hexdigest()
