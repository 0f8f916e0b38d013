"""Read what of a run has to be judged: its new evaluations, each with its number, the base and the other runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.db.models import Max

from runs.flags.base_run import read_base
from runs.flags.evaluations import Numbers, hash_of, read_evaluation, read_numbers
from runs.flags.peers import read_peers
from runs.models import EVALUATION, Response, Run, list_evaluated_steps
from workers.analysis.detectors import Evaluation, Peer
from workers.analysis.detectors.matching import Comparison
from workers.analysis.keys import REWARD

MAX_EVALUATIONS = 50
"""Evaluations that are judged in one check; an imported run brings all of its own at once."""
SHORT = 16
"""Digits of a hash that tell whether a step's data are the same."""
Judged: TypeAlias = Mapping[str, Sequence[Any]]
"""Step -> [number, start of the hash of the data, version of the rows], as `FlagCheck.judged`."""


@dataclass(frozen=True)
class JudgedRun:
    """A run's evaluations that are to be judged now, ascending; the base with its label, and the other runs of its
    settings. steps: all of its evaluations. judged: the steps judged so far, with these. hashes: step -> hash of its
    data, of these evaluations. is_complete: whether none is left for the next check."""

    evaluations: list[Evaluation] = field(default_factory=list)
    base: Evaluation | None = None
    base_label: str = ""
    peers: list[Peer] = field(default_factory=list)
    steps: Collection[int] = ()
    judged: Judged = field(default_factory=dict)
    hashes: Mapping[int, str] = field(default_factory=dict)
    is_complete: bool = True

    def number_of(self, step: int) -> int:
        """Return the number of a judged evaluation, from 1 after the base."""
        return int(self.judged[str(step)][0])

    def hash_of(self, evaluation: Evaluation, detector: str) -> str:
        """Return the hash of the data that a detector judged. Scores concern one detector only."""
        digest = self.hashes[evaluation.step]
        if detector != "score":
            return digest
        return hash_of([digest, {key: list(scores.values()) for key, scores in evaluation.scores.items()}])

    def newest_size(self) -> tuple[int, int]:
        """Return how many responses of the newest evaluation are judged, and with how many before training."""
        if not self.evaluations:
            return 0, 0
        newest = self.evaluations[-1]
        pairs = len(Comparison(newest, self.base).pairs)
        return (pairs, pairs) if pairs else (len(newest.responses), 0)


def read_run(run: Run, judged: Judged) -> JudgedRun:
    """Return the run's whole evaluations after training began that are new or changed, the oldest first, and always
    the newest; none if none is whole. `judged`: those judged before.

    An evaluation has the next number when it is judged first, and the same number as long as its data are the same.
    """
    numbers = read_numbers(run)
    versions = _versions(run, numbers)
    steps = sorted(versions)
    new = [step for step in steps if str(step) not in judged or judged[str(step)][2] != versions[step]]
    looked = set(new[:MAX_EVALUATIONS])
    looked |= {step for step in steps[-1:] if step not in new}
    evaluations, hashes, entries = [], {}, dict(judged)
    for step in sorted(looked):
        evaluation, digest = read_evaluation(run, step, numbers.by_step.get(step, {}))
        evaluations.append(evaluation)
        hashes[step] = digest
        number, before, _ = entries.get(str(step), (0, "", ""))
        if digest[:SHORT] != before:
            number = 1 + max((entry[0] for entry in entries.values()), default=0)
        entries[str(step)] = [number, digest[:SHORT], versions[step]]
    if not evaluations:
        return JudgedRun(steps=steps, judged=entries)
    base, label = read_base(run, evaluations[-1], numbers)
    peers, is_complete = read_peers(run, evaluations), len(new) <= MAX_EVALUATIONS
    return JudgedRun(evaluations, base, label, peers, steps, entries, hashes, is_complete)


def _versions(run: Run, numbers: Numbers) -> dict[int, str]:
    """Return the steps above 0 that are wholly evaluated and that no resume discarded -> the version of their rows.

    Responses decide what is whole. A run without responses has the steps of which the evaluator's reward is known.
    """
    evaluated = list_evaluated_steps([run]).get(run.pk, ())
    if not evaluated:
        rewards = {step: values[REWARD] for step, values in numbers.by_step.items() if REWARD in values}
        return {step: repr(reward) for step, reward in rewards.items() if step > 0}
    whole = {step.step for step in evaluated if step.step > 0 and not step.is_partial} - numbers.discarded
    rows = Response.objects.filter(run=run, split=EVALUATION, is_superseded=False)
    newest = rows.values_list("step").annotate(newest=Max("pk")).order_by("step")
    return {step: str(key) for step, key in newest if step in whole}
