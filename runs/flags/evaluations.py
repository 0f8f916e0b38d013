"""Read a run's evaluations as the detectors need them: responses, numbers, scores, the base and the other runs."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Left
from django.utils.translation import gettext_noop as _

from runs import metrics
from runs.models import EVALUATION, Response, Run, Score, Series, list_evaluated_steps
from workers.analysis.detectors import EvaluatedResponse, Evaluation, Peer
from workers.analysis.keys import ACCURACY, EXACT, KL, REWARD, SAFE

NUMBERS = (REWARD, ACCURACY, EXACT, SAFE, KL)
MAX_CHARACTERS = 8000
MAX_RESPONSES = 5000
MAX_EVALUATIONS = 50
"""Evaluations of a run that are looked at in one check, the newest: an imported run brings all of its own at once."""
MAX_PEERS = 200
BASE_BATCH_SIZE = 20
STEP_0, FIRST_STEP, OTHER_RUN = _("step 0"), _("its first evaluation"), _("step 0 of another run")


@dataclass(frozen=True)
class JudgedRun:
    """A run's evaluations that are to be judged, ascending; the base, with its label, and its step if it is the run's
    own; the other runs of the experiment; and a hash of the responses and of the scores by step."""

    evaluations: list[Evaluation] = field(default_factory=list)
    base: Evaluation | None = None
    base_label: str = ""
    base_step_of_run: int | None = None
    peers: list[Peer] = field(default_factory=list)
    hashes: Mapping[int, str] = field(default_factory=dict)
    score_hashes: Mapping[int, str] = field(default_factory=dict)

    def hash_of(self, step: int, detector: str) -> str:
        """Return the hash of the data that a detector judged at a step. Scores concern one detector only."""
        return self.score_hashes[step] if detector == "score" else self.hashes[step]


def read_run(run: Run, after: int | None) -> JudgedRun:
    """Return the run's whole evaluations after a step that was checked, and always the newest; none if none is whole.

    Responses decide which evaluations are whole; a run without responses has those of which the evaluator's reward is
    known.
    """
    numbers = _numbers_by_step(run)
    evaluated = list_evaluated_steps([run]).get(run.pk, ())
    whole = [step.step for step in evaluated if not step.is_partial]
    steps = whole if evaluated else sorted(step for step, values in numbers.items() if REWARD in values)
    if not steps:
        return JudgedRun()
    judged_steps = [step for step in steps if after is None or step > after][-MAX_EVALUATIONS:] or steps[-1:]
    evaluations, digests = [], {}
    for step in judged_steps:
        evaluation, digest = _read_evaluation(run, step, numbers.get(step, {}))
        evaluations.append(evaluation)
        digests[step] = digest
    base, label, own_step = _base(run, steps, evaluations, numbers)
    score_hashes = {e.step: _hash([digests[e.step], {k: list(v) for k, v in e.scores.items()}]) for e in evaluations}
    return JudgedRun(evaluations, base, label, own_step, _peers(run), digests, score_hashes)


def _numbers_by_step(run: Run) -> dict[int, dict[str, float]]:
    """Return step -> key -> value of the evaluator's numbers, without overwritten points."""
    by_step: dict[int, dict[str, float]] = defaultdict(dict)
    for curve in metrics.read([run], NUMBERS):
        for x, y, is_overwritten in zip(curve.x, curve.y, curve.overwritten, strict=True):
            if not is_overwritten:
                by_step[int(x)][curve.key] = float(y)
    return dict(by_step)


def _read_evaluation(run: Run, step: int, values: Mapping[str, float]) -> tuple[Evaluation, str]:
    """Return the evaluation and the hash of its responses and numbers, without those to prior tasks: the numbers are
    of the run's own task."""
    own = Response.objects.exclude(prompt__categories__overlap=run.prior_tasks) if run.prior_tasks else Response.objects
    rows: Any = (
        own.filter(run=run, split=EVALUATION, step=step, is_superseded=False, words__isnull=False)
        .order_by("sample", "prompt__digest")
        .values_list(
            "pk", "prompt__text", Left("text", MAX_CHARACTERS), "reward", "prompt__target", "sample", "tokens", "parts",
            "kl", "prompt__name", "prompt__digest",
        )[:MAX_RESPONSES]
    )  # fmt: skip
    responses, content = [], []
    for pk, prompt, text, reward, target, sample, tokens, parts, kl, name, digest in rows:
        responses.append(
            EvaluatedResponse(pk, prompt or f"#{name}", text, reward, target, sample, tokens, parts or {}, kl)
        )
        content.append([digest, sample, text, reward, tokens, parts])
    evaluation = Evaluation(step, responses, values, _scores(run, step), _token_limit(run))
    return evaluation, _hash([step, dict(values), content])


def _scores(run: Run, step: int) -> dict[str, list[float]]:
    """Return scorer/key -> the scores of the step's responses, by response."""
    scores: dict[str, list[float]] = defaultdict(list)
    rows = Score.objects.filter(
        response__run=run, response__split=EVALUATION, response__step=step, response__is_superseded=False
    )
    for scorer, key, value in rows.order_by("response_id").values_list("scorer", "key", "value")[: 4 * MAX_RESPONSES]:
        scores[f"{scorer}/{key}"].append(value)
    return dict(scores)


TOKEN_LIMITS = (("evaluation", "max_new_tokens"), ("es", "max_new_tokens"), ("grpo", "max_completion_length"))
"""Config paths of the limit of an evaluation's responses; the first that is set applies."""


def _token_limit(run: Run) -> int | None:
    for section, name in TOKEN_LIMITS:
        settings = run.config.get(section) if isinstance(run.config, dict) else None
        limit = settings.get(name) if isinstance(settings, dict) else None
        if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
            return limit
    return None


def _base(
    run: Run, steps: Sequence[int], evaluations: Sequence[Evaluation], numbers: Mapping[int, Mapping[str, float]]
) -> tuple[Evaluation | None, str, int | None]:
    """Return the evaluation before training with its label, and its step if it is the run's own.

    It is the run's at step 0, else that of another run with the same model and task, else the run's first.
    """
    first = steps[0]
    if first != 0 and (other := _other_base_run(run)) is not None:
        values = _numbers_by_step(other).get(0, {})
        return _read_evaluation(other, 0, values)[0], f"{OTHER_RUN}, {other.name}", None
    if first == steps[-1]:
        return None, "", first if first == 0 else None
    own = next((e for e in evaluations if e.step == first), None)
    base = own or _read_evaluation(run, first, numbers.get(first, {}))[0]
    return base, STEP_0 if first == 0 else f"{FIRST_STEP}, step {first}", first


def _other_base_run(run: Run) -> Run | None:
    same = run.same_question()
    if not same:
        return None
    evaluated = Response.objects.filter(run__experiment=run.experiment_id, split=EVALUATION, step=0)
    others = Run.objects.filter(
        pk__in=evaluated.exclude(run=run).values("run"), deleted_at__isnull=True, **same
    ).order_by("pk")
    for other in others[:BASE_BATCH_SIZE]:
        at_0 = [step for step in list_evaluated_steps([other]).get(other.pk, ()) if step.step == 0]
        if at_0 and not at_0[0].is_partial:
            return other
    return None


def _peers(run: Run) -> list[Peer]:
    """Return the newest numbers of the experiment's other runs with the same model and task, the newest 200."""
    trainings = Run.objects.trainings().filter(experiment=run.experiment_id, deleted_at__isnull=True)
    others = trainings.filter(**run.same_question())
    names = dict(others.exclude(pk=run.pk).order_by("-pk").values_list("pk", "name")[:MAX_PEERS])
    values: dict[int, dict[str, float]] = defaultdict(dict)
    rows = Series.objects.filter(run__in=list(names), key__in=NUMBERS).values_list("run_id", "key", "last_value")
    for pk, key, value in rows:
        values[pk][key] = value
    return [Peer(name, values[pk]) for pk, name in names.items() if pk in values]


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=True).encode()).hexdigest()
