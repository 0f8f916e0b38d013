"""One run of a log, as far as it is read, and what follows from its last words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.importing.hyperparameters import seed_of
from runs.importing.readers.log_lines import Row
from runs.importing.records import ImportedRun
from workers.executors.failures import Failures
from workers.executors.states import State


@dataclass
class Story:
    """One run of the log, as far as it is read."""

    found: ImportedRun
    epoch: int = 0
    step: int = 0
    total: int = 0
    points: int = 0
    seconds: float = 0.0
    """Since the run began; `base`: where its present process began."""
    base: float = 0.0
    bar: tuple[int, int] | None = None
    turned: tuple[tuple[int, int], float] | None = None
    """The bar, and `seconds`, before a bar of as many steps began lower: the same one again, or an evaluation's."""
    is_finished: bool = False
    has_header: bool = False
    """It said how it would train, under a heading."""
    last_row: Row | None = None
    counted: int = 0
    failures: Failures = field(default_factory=Failures)

    def end(self) -> bool:
        """The run's last word: how it ended. False where there was no run."""
        found, sign = self.found, self.failures.sign
        found.method = found.method or str(found.settings.get("method") or _algorithm(found.settings))
        found.seed = seed_of(found.settings)
        found.seconds = max(found.seconds, self.seconds)
        if self.points:
            self._end_of_training()
        elif sign is not None or self.has_header:
            found.state = State.FAILED
            found.reason = sign.reason if sign else "Its log ends before the first iteration and does not say why"
        else:
            return False
        return True

    def _end_of_training(self) -> None:
        found, sign = self.found, self.failures.sign
        if self.is_finished or (self.total and self.step >= self.total):
            found.state = State.SUCCEEDED
        elif sign is not None:
            found.state, found.reason = State.FAILED, sign.reason
        else:
            of = f" of {self.total}" if self.total else ""
            found.reason = f"Its log ends at step {self.step}{of} and does not say why"

    def axes(self, step: int) -> dict[str, float]:
        """Answers scored so far, where the log says how many an iteration takes."""
        counts = (self.found.settings.get("population"), self.found.settings.get("train_size"))
        whole = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count > 0]
        return {"samples": float(step) * whole[0] * whole[1]} if len(whole) == 2 else {}

    def see_bar(self, step: int, total: int, seconds: float) -> None:
        """A progress bar: the trainer's own is the one of as many steps as it was told, else the first."""
        told = self.found.settings.get("steps")
        before = self.bar
        # One that was full before anything was trained was another's: of shards, or of prompts.
        is_over = before is not None and not self.points and before[0] >= before[1]
        expected = told if isinstance(told, int) else before[1] if before and not is_over else total
        if total == expected or (step == 0 and self.is_finished):
            if before is not None and before[1] == total and step < before[0]:
                self.turned = (before, self.seconds)
            self.bar, self.total = (step, total), total
            self.seconds = self.base + seconds

    def settle(self, *, is_evaluation: bool) -> None:
        """A dictionary came: what turned back before it was the evaluation's bar where it is an evaluation's."""
        if self.turned is not None and is_evaluation:
            self.bar, self.seconds = self.turned
        self.turned = None


def dead(values: Mapping[str, float]) -> dict[str, float]:
    """1 where all members scored alike, as far as the digits tell: such an iteration moves nothing."""
    spread = values.get("train/reward/std")
    low, high = values.get("train/reward/min"), values.get("train/reward/max")
    if spread is None and (low is None or high is None):
        return {}
    return {"es/dead": float(low == high if spread is None else spread == 0)}


def _algorithm(settings: Mapping[str, Any]) -> str:
    said = str(settings.get("algorithm", "")).lower()
    return "es" if said.startswith(("es", "evolution")) else "grpo" if "grpo" in said else ""
