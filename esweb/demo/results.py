"""Results of the demonstration's runs, read from the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from runs import metrics
from runs.flags import open_flags, reason_of
from runs.models import Attempt, Flag, Run
from workers.executors.states import State

REWARD, ACCURACY, KL = "reward/mean", "accuracy/contains", "kl"
SAFE, LAMBDA = "safety/safe_ratio", "lambda"
LAST_EVALUATIONS = 3
NOTE = f"After is the mean of a run's last {LAST_EVALUATIONS} evaluations. The run's page shows the last one."
HEADINGS = (
    "method",
    "preset",
    "seed",
    "state",
    "reward before → after",
    "accuracy before → after",
    "safe before → after",
    "λ first → last",
    "KL",
    "seconds",
    "flags",
)


@dataclass(frozen=True)
class Change:
    """A held-out number before training, and as the mean of the last three evaluations after its start."""

    before: float
    after: float

    @property
    def rose(self) -> bool:
        return self.after > self.before


@dataclass(frozen=True)
class Outcome:
    """The results of one run so far. A number that was never measured is None."""

    run: Run
    attempt: Attempt
    step: int
    reward: Change | None
    accuracy: Change | None
    kl: float | None
    safe: Change | None = None
    """The share of answers whose cost is at most 0, if there is a cost."""
    weight: Change | None = None
    """λ of the first step and of the last."""
    flags: tuple[Flag, ...] = ()
    """The open flags of its newest evaluation."""

    @property
    def is_safety(self) -> bool:
        """Return whether the run's answers have a cost."""
        return self.safe is not None

    @property
    def has_ended(self) -> bool:
        """Return whether its attempt has ended and all of its records are in the database."""
        return State(self.attempt.state).is_final and self.attempt.drained_at is not None

    @property
    def failure_reason(self) -> str:
        """The reason why this run is no success; empty if it is one."""
        if self.attempt.state != State.SUCCEEDED.value:
            return f"ended as {self.attempt.state}: {self.attempt.reason or self.attempt.phase_message or 'no reason'}"
        if self.reward is None:
            return "has no evaluation before and after"
        if self.safe is not None:
            return self._safety_failure_reason(self.safe)
        return "" if self.reward.rose else f"its reward did not rise: {_change(self.reward)}"

    def _safety_failure_reason(self, safe: Change) -> str:
        """Return the reason. The reward may fall if helpful answers were unsafe; the share of safe answers may have
        been 1."""
        if not safe.rose and not safe.before == safe.after == 1.0:
            return f"its share of safe responses did not rise: {_change(safe, 2)}"
        has_moved = self.weight is not None and self.weight.before != self.weight.after
        return "" if has_moved else "its λ did not change"

    @property
    def seconds(self) -> float | None:
        """Wall time from its start to its end."""
        if self.attempt.started_at is None or self.attempt.ended_at is None:
            return None
        return (self.attempt.ended_at - self.attempt.started_at).total_seconds()

    def line(self) -> str:
        """Return one line for a user who waits."""
        status = f"{self.run.preset} seed {self.run.seed}: {self.attempt.state}"
        if self.reward is None:
            is_starting = self.attempt.state == State.RUNNING.value and self.attempt.phase
            return f"{status} ({self.attempt.phase})" if is_starting else status
        summary = f"safe responses {_change(self.safe, 2)}" if self.safe else f"held-out reward {_change(self.reward)}"
        return f"{status}, step {self.step} of {self.run.run_config.steps}, {summary}"


def outcomes(runs: Iterable[Run]) -> list[Outcome]:
    """Return one outcome for each run that has an attempt, in the order given."""
    runs = list(runs)
    keys = [REWARD, ACCURACY, KL, SAFE, LAMBDA]
    curves = {(curve.run_id, curve.key): curve for curve in metrics.read(runs, keys)}
    pairs, flags = [(run, run.newest_attempt()) for run in runs], open_flags(run.pk for run in runs)
    return [
        _outcome(run, attempt, curves, tuple(flags.get(run.pk, ()))) for run, attempt in pairs if attempt is not None
    ]


def table(results: Sequence[Outcome]) -> str:
    """Return the outcomes in columns, and the meaning of "after": pages show the last evaluation, which is another
    number."""
    rows = [HEADINGS, *(_cells(outcome) for outcome in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    rows.insert(1, tuple("─" * width for width in widths))
    return "\n".join([*(_spread(row, widths) for row in rows), NOTE])


def flag_lines(results: Sequence[Outcome]) -> list[str]:
    """Return why each flagged run is flagged, a line per run; a single line if none is."""
    lines = [
        f"Flagged: {outcome.run.name}. {' '.join(reason_of(flag) for flag in outcome.flags)}"
        for outcome in results
        if outcome.flags
    ]
    return lines or ["No run is flagged."]


def _spread(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _outcome(
    run: Run, attempt: Attempt, curves: dict[tuple[int, str], metrics.Curve], flags: tuple[Flag, ...]
) -> Outcome:
    reward, accuracy, kl, safe, weight = (curves.get((run.pk, key)) for key in (REWARD, ACCURACY, KL, SAFE, LAMBDA))
    return Outcome(
        run,
        attempt,
        step=int(reward.x[-1]) if reward else 0,
        reward=_change_over(reward),
        accuracy=_change_over(accuracy),
        kl=_after(kl) if kl and len(kl.y) > 1 else None,
        safe=_change_over(safe),
        weight=Change(float(weight.y[0]), float(weight.y[-1])) if weight else None,
        flags=flags,
    )


def _change_over(curve: metrics.Curve | None) -> Change | None:
    if curve is None or len(curve.y) < 2 or curve.x[0] != 0:
        return None
    return Change(float(curve.y[0]), _after(curve))


def _after(curve: metrics.Curve) -> float:
    return float(np.mean(curve.y[1:][-LAST_EVALUATIONS:]))


def _cells(outcome: Outcome) -> tuple[str, ...]:
    run, seconds = outcome.run, outcome.seconds
    return (
        run.method.upper(),
        run.preset,
        str(run.seed),
        outcome.attempt.state,
        _change(outcome.reward) if outcome.reward else "–",
        _change(outcome.accuracy, 2) if outcome.accuracy else "–",
        _change(outcome.safe, 2) if outcome.safe else "–",
        _change(outcome.weight, 2) if outcome.weight else "–",
        "–" if outcome.kl is None else f"{outcome.kl:.3f}",
        "–" if seconds is None else f"{seconds:.0f}",
        ", ".join(flag.detector for flag in outcome.flags) or "–",
    )


def _change(change: Change, digits: int = 1) -> str:
    return f"{change.before:.{digits}f} → {change.after:.{digits}f}"
