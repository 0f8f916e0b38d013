"""Write what TRL's trainer logs as records; evaluate, save checkpoints and stop at the ends of steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from workers.engines.context import Context
from workers.engines.grpo.arguments import section
from workers.engines.grpo.checkpoint import Progress
from workers.engines.grpo.process_group import ProcessGroup
from workers.engines.grpo.rewards import Rewards
from workers.engines.grpo.streams import Streams
from workers.engines.stop import Interrupted
from workers.memory_plan.limit import gpu_share
from workers.records import Population


class RecordsCallback(TrainerCallback):  # type: ignore[misc]
    """Write the records of each step. `evaluate` evaluates the weights after a step, `save` writes its checkpoint.

    With several processes, each has a callback, and all call both functions after the same steps. The first one
    records, and decides when to stop.
    """

    def __init__(
        self,
        context: Context,
        rewards: Rewards,
        progress: Progress,
        processes: ProcessGroup,
        evaluate: Callable[[int], None],
        save: Callable[[int], None],
    ) -> None:
        self._context = context
        self._rewards = rewards
        self._progress = progress
        self._processes = processes
        self._evaluate = evaluate
        self._save = save
        self._began = time.perf_counter()
        self._before: tuple[Streams, int] | None = None
        self._has_begun = False
        self.stopped = False

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Do the evaluation of the checkpoint if it was cut short."""
        if self._context.is_evaluation_due():
            self._evaluate(state.global_step)

    def on_step_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Note the start of the step; generation, reward, backward and update happen before its end."""
        self._began = time.perf_counter()
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self._before, self._has_begun = (Streams.now(), state.num_input_tokens_seen), True

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Record the step; then evaluate, save and stop if it is time to."""
        seconds = time.perf_counter() - self._began
        self._before = None
        if self._processes.is_first:
            self._record(state.global_step, seconds)
        is_evaluated = self._evaluate_if_due(state.global_step)
        is_requested = self._context.stop.is_set() and state.global_step < self._context.config.steps
        self.stopped = self._processes.share(not is_evaluated or is_requested)
        if self.stopped or self._is_checkpoint(state.global_step):
            self._save(state.global_step)
        control.should_training_stop |= self.stopped

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Record TRL's keys under train/. The summary after the last step belongs to no step, and is left out."""
        if logs and "train_runtime" not in logs:
            values = {f"train/{key}": float(value) for key, value in logs.items() if isinstance(value, Real)}
            self._context.metric(state.global_step, values, self.axes())

    def give_up(self, state: TrainerState) -> bool:
        """Save the last whole step, if a step was cut short before its update: its completions are drawn again. Return
        False if no step is whole since this start, so that there is nothing new to save."""
        if not self._has_begun or state.global_step == 0:
            return False
        if self._before is not None:
            streams, state.num_input_tokens_seen = self._before
            streams.restore()
        self._save(state.global_step)
        return True

    def axes(self) -> dict[str, float]:
        """Return the cumulative axes of training so far."""
        progress = self._progress
        return {"tokens": progress.tokens, "samples": progress.samples, "gpu_seconds": progress.gpu_seconds}

    def _evaluate_if_due(self, step: int) -> bool:
        """Evaluate if that is due. Return False if the run was asked to stop meanwhile."""
        try:
            if self._context.due(step):
                self._evaluate(step)
        except Interrupted:
            return False
        return True

    def _record(self, step: int, seconds: float) -> None:
        progress, context = self._progress, self._context
        progress.tokens, progress.samples = self._rewards.tokens, self._rewards.samples
        progress.reward = self._rewards.mean
        progress.gpu_seconds += seconds * context.loaded.gpus * gpu_share(context.config.compute)
        groups, constraint_update = self._rewards.take_groups()
        progress.multiplier = constraint_update.multiplier
        if groups:
            context.records.write(Population(step, groups))
        values = {"time/step_seconds": seconds, **_peak_memory(), **constraint_update.values}
        context.metric(step, values, self.axes())
        context.status("training", progress=step / context.config.steps)
        context.log(step, self._rewards.mean, seconds)

    def _is_checkpoint(self, step: int) -> bool:
        every = section(self._context.config).save_steps
        return step == self._context.config.steps or (every > 0 and step % every == 0)


def _peak_memory() -> dict[str, float]:
    """Return the most memory that torch held on this process's GPU during the step, in GB of 10⁹ bytes."""
    if not torch.cuda.is_available():
        return {}
    return {"memory/step_peak_gb": torch.cuda.max_memory_allocated() / 1e9}
