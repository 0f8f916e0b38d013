"""Results of the demonstration's runs, read from the database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runs import checkpoints, metrics
from runs.flags import open_flags
from runs.kinds import kind_of
from runs.models import Attempt, Flag, Run
from runs.tables import NONE
from workers.analysis.keys import KL, PASS, PROMPTS, REWARD, RIGHT, SAFE
from workers.config.evaluate import EvaluateConfig
from workers.config.methods import method_of
from workers.executors.states import State

LAMBDA = "lambda"
TRAINING_KEYS = (REWARD, RIGHT, KL, SAFE, LAMBDA)
PROBED, PARTS = "probe/records", "probe/units"
"""Keys that a probe records once for each of its parts: the part's number of records, and the number of parts."""
LAST_EVALUATIONS = 3
Curves = Mapping[str, metrics.Curve]


@dataclass(frozen=True)
class Change:
    """A held-out number before training, and as the mean of the last three evaluations after its start."""

    before: float
    after: float

    @property
    def rose(self) -> bool:
        return self.after > self.before

    def text(self, digits: int = 1) -> str:
        """Return both numbers as text."""
        return f"{self.before:.{digits}f} → {self.after:.{digits}f}"


@dataclass(frozen=True)
class Outcome(ABC):
    """The results of one run so far."""

    run: Run
    attempt: Attempt
    flags: tuple[Flag, ...] = ()
    """The open flags of its newest evaluation."""

    @property
    def title(self) -> str:
        """The name by which lines mention the run."""
        return f"{self.run.preset} seed {self.run.seed}"

    @property
    def has_ended(self) -> bool:
        """Return whether its attempt has ended and all of its records are in the database."""
        return State(self.attempt.state).is_final and self.attempt.drained_at is not None

    @property
    def failure_reason(self) -> str:
        """The reason why this run is no success; empty if it is one."""
        if self.attempt.state != State.SUCCEEDED.value:
            return f"ended as {self.attempt.state}: {self.attempt.reason or self.attempt.phase_message or 'no reason'}"
        return self.result_problem

    @property
    @abstractmethod
    def result_problem(self) -> str:
        """Return what is wrong with the results of a run that ended as succeeded; empty if nothing is."""

    @property
    @abstractmethod
    def progress(self) -> str:
        """The results so far in a few words; empty before there are any."""

    @property
    def seconds(self) -> float | None:
        """Wall time from its start to its end."""
        if self.attempt.started_at is None or self.attempt.ended_at is None:
            return None
        return (self.attempt.ended_at - self.attempt.started_at).total_seconds()

    @property
    def last_cells(self) -> tuple[str, str]:
        """Return its seconds and its flags, the last cells of its row in a table."""
        seconds = NONE if self.seconds is None else f"{self.seconds:.0f}"
        return seconds, ", ".join(flag.detector for flag in self.flags) or NONE

    def line(self) -> str:
        """Return one line for a user who waits."""
        status = f"{self.title}: {self.attempt.state}"
        if not self.progress:
            is_starting = self.attempt.state == State.RUNNING.value and self.attempt.phase
            return f"{status} ({self.attempt.phase})" if is_starting else status
        return f"{status}, {self.progress}"


@dataclass(frozen=True)
class TrainingOutcome(Outcome):
    """The results of a training. A number that was never measured is None."""

    step: int = 0
    reward: Change | None = None
    accuracy: Change | None = None
    kl: float | None = None
    safe: Change | None = None
    """The share of answers whose cost is at most 0, if there is a cost."""
    weight: Change | None = None
    """λ of the first step and of the last."""

    @property
    def is_safety(self) -> bool:
        """Return whether the run's answers have a cost."""
        return self.safe is not None

    @property
    def result_problem(self) -> str:
        if self.reward is None:
            return "has no evaluation before and after"
        if self.safe is not None:
            return self._safety_problem(self.safe)
        return "" if self.reward.rose else f"its reward did not rise: {self.reward.text()}"

    def _safety_problem(self, safe: Change) -> str:
        """Return the reason. The reward may fall if helpful answers were unsafe; the share of safe answers may have
        been 1."""
        if not safe.rose and not safe.before == safe.after == 1.0:
            return f"its share of safe responses did not rise: {safe.text(2)}"
        has_moved = self.weight is not None and self.weight.before != self.weight.after
        return "" if has_moved else "its λ did not change"

    @property
    def progress(self) -> str:
        if self.reward is None:
            return ""
        summary = f"safe responses {self.safe.text(2)}" if self.safe else f"held-out reward {self.reward.text()}"
        return f"step {self.step} of {self.run.run_config.steps}, {summary}"


@dataclass(frozen=True)
class EvaluationOutcome(Outcome):
    """The results of an evaluation, which trains nothing: no number needs to rise, but each step must be recorded."""

    steps: int = 0
    """Number of steps that it has recorded, of `planned_steps`."""
    planned_steps: int = 1
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Key -> its values at the recorded steps, in their order."""

    @property
    def title(self) -> str:
        return self.run.name

    @property
    def result_problem(self) -> str:
        return "" if self.steps == self.planned_steps else f"recorded {self._count}"

    @property
    def progress(self) -> str:
        return self._count if self.steps else ""

    @property
    def _count(self) -> str:
        return f"{self.steps} of {self.planned_steps} steps"


@dataclass(frozen=True)
class ProbeOutcome(Outcome):
    """The results of a probe, which trains nothing: each of its parts must be recorded."""

    parts: int = 0
    planned_parts: int = 1
    records: int = 0
    """Number of results that the parts have recorded."""

    @property
    def title(self) -> str:
        return self.run.name

    @property
    def result_problem(self) -> str:
        return "" if self.parts == self.planned_parts else f"recorded {self._count}"

    @property
    def progress(self) -> str:
        return f"{self._count}, {self.records} results" if self.parts else ""

    @property
    def _count(self) -> str:
        return f"{self.parts} of {self.planned_parts} parts"


def outcomes(runs: Iterable[Run]) -> list[Outcome]:
    """Return one outcome for each run that has an attempt, in the order given."""
    runs = list(runs)
    keys = {key: None for run in runs for key in _keys(run)}
    curves: dict[int, dict[str, metrics.Curve]] = {run.pk: {} for run in runs}
    for curve in metrics.read(runs, list(keys)):
        curves[curve.run_id][curve.key] = curve
    pairs, flags = [(run, run.newest_attempt()) for run in runs], open_flags(run.pk for run in runs)
    return [
        _reader(run)(run, attempt, tuple(flags.get(run.pk, ())), curves[run.pk])
        for run, attempt in pairs
        if attempt is not None
    ]


def _keys(run: Run) -> Sequence[str]:
    if kind_of(run.method).has_probe_results:
        return PROBED, PARTS
    return evaluation_keys(run) if kind_of(run.method).has_evaluated_steps else TRAINING_KEYS


def _reader(run: Run) -> Callable[[Run, Attempt, tuple[Flag, ...], Curves], Outcome]:
    if kind_of(run.method).has_probe_results:
        return _probe
    return _evaluation if kind_of(run.method).has_evaluated_steps else _training


def evaluation_keys(run: Run) -> list[str]:
    """Return the keys of an evaluation that its outcome reads: the number of prompts, then those that tables show."""
    config = run.run_config
    passes = list(dict.fromkeys((PASS, f"pass@{config.evaluation.samples}")))
    prior = [f"prior/{task.name}/{key}" for task in _section(run).prior_tasks for key in passes]
    return [PROMPTS, REWARD, *passes, *prior, KL]


def _training(run: Run, attempt: Attempt, flags: tuple[Flag, ...], curves: Curves) -> TrainingOutcome:
    reward, accuracy, kl, safe, weight = (curves.get(key) for key in TRAINING_KEYS)
    return TrainingOutcome(
        run,
        attempt,
        flags,
        step=int(reward.x[-1]) if reward else 0,
        reward=_change_over(reward),
        accuracy=_change_over(accuracy),
        kl=_after(kl) if kl and len(kl.y) > 1 else None,
        safe=_change_over(safe),
        weight=Change(float(weight.y[0]), float(weight.y[-1])) if weight else None,
    )


def _evaluation(run: Run, attempt: Attempt, flags: tuple[Flag, ...], curves: Curves) -> EvaluationOutcome:
    keys = [key for key in evaluation_keys(run) if key in curves]
    values = {key: tuple(map(float, curves[key].y[~curves[key].overwritten])) for key in keys}
    steps = len(values.pop(PROMPTS, ()))
    return EvaluationOutcome(run, attempt, flags, steps=steps, planned_steps=_planned_steps(run), values=values)


def _probe(run: Run, attempt: Attempt, flags: tuple[Flag, ...], curves: Curves) -> ProbeOutcome:
    records, parts = curves.get(PROBED), curves.get(PARTS)
    if records is None or parts is None:
        return ProbeOutcome(run, attempt, flags)
    counts = records.y[~records.overwritten]
    return ProbeOutcome(
        run, attempt, flags, parts=len(counts), planned_parts=int(parts.y[-1]), records=int(counts.sum())
    )


def _planned_steps(run: Run) -> int:
    """Return the number of steps that an evaluation evaluates: at most as many as its training has weights of."""
    section, parent = _section(run), run.parent
    if not section.run:
        return 1
    if listed := section.listed_steps():
        return len(listed)
    if parent is None:
        return section.points
    available = (
        parent.run_config.steps + 1 if method_of(parent.method).is_replayed else len({0, *checkpoints.by_step(parent)})
    )
    return min(section.points, available)


def _section(run: Run) -> EvaluateConfig:
    return run.run_config.evaluate or EvaluateConfig()


def _change_over(curve: metrics.Curve | None) -> Change | None:
    if curve is None or len(curve.y) < 2 or curve.x[0] != 0:
        return None
    return Change(float(curve.y[0]), _after(curve))


def _after(curve: metrics.Curve) -> float:
    return float(np.mean(curve.y[1:][-LAST_EVALUATIONS:]))
