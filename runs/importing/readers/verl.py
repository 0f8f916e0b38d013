"""Read verl's console lines: `step:12 - actor/kl_loss:0.001 - critic/score/mean:0.5`.

Source of the format: `concat_dict_to_str` in `verl/utils/logger/aggregate_logger.py` of verl-project/verl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runs.importing.hyperparameters import value_of
from runs.importing.readers.log_programs import Reading, labelled_numbers, usable
from runs.importing.records import ImportReport
from runs.importing.text import Line

KIND = "verl log"
STEP = re.compile(r"(?<![\w/.-])step:(\d{1,15}) - (?=\S)")
TOTAL = re.compile(r"Total training steps: (\d{1,15})\b")
BAR = re.compile(r"Training Progress:\s{0,9}\d{1,3}%\|[^|]*\|\s*\d{1,15}/(\d{1,15}) \[")
OVERRIDE = re.compile(r"(?<![\w.])([a-z_]{2,30}(?:\.[a-z_]{1,40}){1,5})=([^\s'\"\\]{1,200})")
ESTIMATOR = re.compile(r"'adv_estimator': '(\w{1,40})'")
"""The estimator of advantages in verl's config, which it prints at its start."""
SETTINGS = {
    "actor_rollout_ref.model.path": "model", "actor_rollout_ref.actor.optim.lr": "learning_rate",
    "actor_rollout_ref.rollout.n": "num_generations", "actor_rollout_ref.rollout.temperature": "temperature",
    "actor_rollout_ref.actor.kl_loss_coef": "beta", "data.max_response_length": "longest",
    "data.train_batch_size": "train_batch_size", "trainer.total_training_steps": "steps",
}  # fmt: skip
"""Overrides on verl's command line -> names here."""
NAMES = {
    "critic/score/mean": "train/reward/mean", "critic/score/max": "train/reward/max",
    "critic/score/min": "train/reward/min", "timing_s/step": "time/step_seconds",
    "perf/time_per_step": "time/step_seconds",
}  # fmt: skip
"""verl's names -> ours. A score is the reward without the penalty for KL that `critic/rewards` may include."""
HELD_OUT = re.compile(r"val-core/.{1,200}/reward/mean@\d{1,9}")
"""Reward of one data set of held-out prompts, the mean of so many samples a prompt."""
PENDING = "its last line has no line end: its last number was read as it is"


class VerlLines:
    """Reader of verl's lines. `_keys`: those of the step before, for a last line that is cut off. `_config`: settings
    that the next step, or the end, states: the lines that hold them are read for errors as well."""

    kind = KIND

    def __init__(self, report: ImportReport) -> None:
        self._report = report
        self._keys: list[str] = []
        self._config: Reading | None = None

    def read(self, line: Line) -> Iterator[Reading] | None:
        """Return what a line states, or None if it is no line of verl."""
        text = line.text
        if "step:" in text and (match := STEP.search(text)):
            return self._step(line, int(match[1]), text[match.end() :])
        if "Total training steps: " in text and (match := TOTAL.search(text)):
            return iter((Reading(total=int(match[1])),))
        if "Training Progress:" in text and (match := BAR.search(text)):
            return iter((Reading(total=int(match[1])),))
        if "adv_estimator" in text or "actor_rollout_ref." in text:
            self._take_config(text)
        return None

    def end(self) -> Iterator[Reading]:
        """Yield the settings of a log without steps."""
        config, self._config = self._config, None
        yield from () if config is None else (config,)

    def _step(self, line: Line, step: int, text: str) -> Iterator[Reading]:
        pairs = list(labelled_numbers(line, text, " - ", self._report))
        keys, before = [key for key, _ in pairs], self._keys
        if not line.is_whole and pairs:
            if before and len(keys) < len(before):
                pairs.pop()
                self._report.add_line_remark(line.number, f"step {step} is cut off: its last number is omitted")
            else:
                self._report.facts.append(PENDING)
        self._keys = keys
        yield from self.end()
        values = dict(pairs)
        if values:
            ours = {name: values[key] for key, name in NAMES.items() if key in values}
            held_out = [value for key, value in values.items() if HELD_OUT.fullmatch(key)]
            ours |= {"reward/mean": held_out[0]} if len(held_out) == 1 else {}
            yield Reading(step, usable(values | ours), seconds=ours.get("time/step_seconds", 0.0))

    def _take_config(self, text: str) -> None:
        overrides = {match[1]: match[2] for match in OVERRIDE.finditer(text)}
        estimator = overrides.get("algorithm.adv_estimator") or ((m := ESTIMATOR.search(text)) and m[1]) or ""
        before = self._config or Reading()
        method = "grpo" if estimator.startswith("grpo") else before.method
        self._config = Reading(settings=before.settings | _settings(overrides), method=method)


def _settings(overrides: Mapping[str, str]) -> dict[str, Any]:
    return {SETTINGS[name]: value_of(value) for name, value in overrides.items() if name in SETTINGS}
