"""State of a run while its log is read, and its final state from the last lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.importing.hyperparameters import seed_of
from runs.importing.readers.log_lines import Row
from runs.importing.records import ImportedRun
from workers.executors.failures import Failures
from workers.executors.states import State

MAX_STEP_SECONDS = 1e8
"""Three years. Above it, a number is no duration of a step."""


@dataclass
class LogRun:
    """A run of the log, up to the line that was read last."""

    run: ImportedRun
    epoch: int = 0
    step: int = 0
    total: int = 0
    points: int = 0
    seconds: float = 0.0
    """Seconds since the run began; `base`: those at which its current process began."""
    base: float = 0.0
    bar: tuple[int, int] | None = None
    turned: tuple[tuple[int, int], float] | None = None
    """The bar and `seconds` before a bar with the same total went back: it restarted, or is an evaluation's."""
    is_finished: bool = False
    has_header: bool = False
    """True if the log printed settings under a heading."""
    last_row: Row | None = None
    steps_done: int | None = None
    """Number of steps whose update is complete, if the program states that or counts steps from 0; else None."""
    counted: int = 0
    failures: Failures = field(default_factory=Failures)

    def finish(self) -> bool:
        """Set the run's final state, reason, method, seed and seconds. Return False if there was no run."""
        run, sign = self.run, self.failures.sign
        run.method = run.method or str(run.settings.get("method") or _algorithm(run.settings))
        run.seed = seed_of(run.settings)
        run.seconds = max(run.seconds, self.seconds)
        if self.points:
            self._end_of_training()
        elif sign is not None or self.has_header:
            run.state = State.FAILED
            run.reason = sign.reason if sign else "Its log ends before the first iteration and states no reason"
        else:
            return False
        return True

    def _end_of_training(self) -> None:
        run, sign = self.run, self.failures.sign
        done = self.step if self.steps_done is None else self.steps_done
        if self.is_finished or (self.total and done >= self.total):
            run.state = State.SUCCEEDED
        elif sign is not None:
            run.state, run.reason = State.FAILED, sign.reason
        else:
            total = f" of {self.total}" if self.total else ""
            run.reason = f"Its log ends at step {self.step}{total} and states no reason"

    @property
    def stated_steps(self) -> int:
        """Return the number of steps that the settings state; 0 if they state none."""
        steps = self.run.settings.get("steps")
        return steps if isinstance(steps, int) and not isinstance(steps, bool) and steps > 0 else 0

    def end_step(self, done: int | None, total: int, seconds: float, *, is_end: bool) -> None:
        """Take what a program stated of its progress: see `log_programs.Reading`."""
        self.steps_done = self.steps_done if done is None else done
        self.total = total or self.total
        self.seconds += seconds if 0 <= seconds < MAX_STEP_SECONDS else 0.0
        self.is_finished |= is_end

    def axes(self, step: int) -> dict[str, float]:
        """Return the axis `samples`, the answers scored so far, if the log states their number per iteration."""
        counts = (self.run.settings.get("population"), self.run.settings.get("train_size"))
        whole = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count > 0]
        return {"samples": float(step) * whole[0] * whole[1]} if len(whole) == 2 else {}

    def see_bar(self, step: int, total: int, seconds: float) -> None:
        """Read a progress bar. The trainer's own is the one with the stated number of steps, else the first."""
        stated_steps = self.run.settings.get("steps")
        before = self.bar
        # A bar that was full before any training step is not the trainer's: it counts shards or prompts.
        is_over = before is not None and not self.points and before[0] >= before[1]
        expected = stated_steps if isinstance(stated_steps, int) else before[1] if before and not is_over else total
        if total == expected or (step == 0 and self.is_finished):
            if before is not None and before[1] == total and step < before[0]:
                self.turned = (before, self.seconds)
            self.bar, self.total = (step, total), total
            self.seconds = self.base + seconds

    def settle(self, *, is_evaluation: bool) -> None:
        """Restore the bar from before it went back if the dictionary just read is an evaluation's."""
        if self.turned is not None and is_evaluation:
            self.bar, self.seconds = self.turned
        self.turned = None


def dead_iteration(values: Mapping[str, float]) -> dict[str, float]:
    """Return es/dead: 1 if all members scored alike in the printed digits, so that the iteration has no update.

    Empty if the values hold no spread.
    """
    spread = values.get("train/reward/std")
    low, high = values.get("train/reward/min"), values.get("train/reward/max")
    if spread is None and (low is None or high is None):
        return {}
    return {"es/dead": float(low == high if spread is None else spread == 0)}


def _algorithm(settings: Mapping[str, Any]) -> str:
    algorithm = str(settings.get("algorithm", "")).lower()
    return "es" if algorithm.startswith(("es", "evolution")) else "grpo" if "grpo" in algorithm else ""
