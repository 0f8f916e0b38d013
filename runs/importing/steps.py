"""Steps as files state them: names of columns, `10/438`, and totals. A step that is stated is never counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.importing.numbers import parse_number

TRAINING_STEPS = (
    "train/global_step", "trainer/global_step", "training/global_step", "global_step/max_steps", "global_step", "step",
    "train/step", "training/step", "train_step", "training_step", "current_steps", "current_step", "iteration", "iter",
    "training_iteration", "train/iteration", "update", "train/update", "steps",
)  # fmt: skip
"""Names of a training step, in any case. If as many rows of a file state two of them, the first one of this list is its
step."""
TRACKER_STEP = "_step"
"""W&B's count of calls of `log`, which is a step only where no training step is named."""
STEP_NAMES = (*TRAINING_STEPS, TRACKER_STEP)
TOTAL_NAMES = (
    "max_steps", "total_steps", "train/max_steps", "train/total_steps", "max_iterations", "total_iterations",
    "num_iterations", "n_iterations", "max_updates", "total_updates",
)  # fmt: skip
"""Names of the step at which a run is to end. A column of such a name whose value changes is a series."""
PROGRESS_NAMES = (*STEP_NAMES, *TOTAL_NAMES, "percentage", "elapsed_time", "remaining_time")
"""Names by which trainers state their progress, with texts such as 10/438, 2.50% and 1m 2s."""
OF_TOTAL = re.compile(r"(\d{1,15})\s?/\s?(\d{1,15})")
MAX_STEP = 2**53


@dataclass(frozen=True)
class StatedStep:
    """A step, and the step at which the run is to end; a total of 0 is not stated."""

    step: int
    total: int = 0


def parse_step(value: Any) -> StatedStep | None:
    """Parse a whole number, or one of a total as in `10/438`. Return None if the value is neither."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    text = str(value).strip().strip("'\"")
    if match := OF_TOTAL.fullmatch(text):
        return StatedStep(int(match[1]), int(match[2]))
    step = whole_number(parse_number(text))
    return None if step is None else StatedStep(step)


def stated_step(values: Mapping[str, Any]) -> tuple[str, StatedStep] | None:
    """Return the name and the step that one row or dictionary states, with its total; None if it states no step."""
    by_name = {name.strip().lower(): name for name in values}
    for known_name in STEP_NAMES:
        name = by_name.get(known_name)
        if name is not None and (stated := parse_step(values[name])) is not None:
            return name, stated if stated.total else StatedStep(stated.step, _stated_total(values, by_name))
    return None


def _stated_total(values: Mapping[str, Any], by_name: Mapping[str, str]) -> int:
    totals = (parse_step(values[by_name[name]]) for name in TOTAL_NAMES if name in by_name)
    return next((total.step for total in totals if total is not None and total.step > 0), 0)


def whole_number(number: float | None) -> int | None:
    """Return the number as a step; None if it is not whole or beyond the range in which floats are exact."""
    return int(number) if number is not None and abs(number) < MAX_STEP and number == int(number) else None
