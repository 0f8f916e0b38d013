"""Report a training of transformers' Trainer, or of one of TRL's trainers, to esweb."""

from __future__ import annotations

import functools
import inspect
import logging
import math
import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from transformers import TrainerCallback

import esweb_client
from esweb_client.huggingface.completions import (
    Completion,
    CompletionReader,
    count_tokens,
    find_trainer,
    population_members,
    response_columns,
)
from esweb_client.huggingface.metrics import rename_metrics
from esweb_client.huggingface.settings import config_of, method_of

NAME = "esweb"
logger = logging.getLogger("esweb_client")
_opened: weakref.WeakSet[Any] = weakref.WeakSet()
"""Runs that callbacks have opened: a training that failed leaves its run open, which the next one must not use."""


def never_raise(event: Callable[..., None]) -> Callable[..., None]:
    """Return the event's method, which logs its first error as a warning, so that no error reaches the training."""

    @functools.wraps(event)
    def guarded(self: EswebCallback, *args: Any, **arguments: Any) -> None:
        try:
            event(self, *args, **arguments)
        except Exception as error:
            self.warn_once(event.__name__, error)

    return guarded


class EswebCallback(TrainerCallback):  # type: ignore[misc]
    """Report a training as one run: metrics, completions by group, checkpoints, and how it ends.

    With several processes the first one reports. A run that the script has opened with `esweb_client.init` is used,
    and not finished; else the callback opens one when training begins, and finishes it when training ends.
    """

    def __init__(
        self,
        project: str | None = None,
        name: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        completions_every: int = 1,
        **options: Any,
    ) -> None:
        """Take the options of `esweb_client.init`; `config` is added to the trainer's arguments.

        Completions are recorded at the steps `completions_every`, 2·`completions_every`, …; never if it is 0.
        """
        inspect.signature(esweb_client.init).bind_partial(**options)
        self._options: dict[str, Any] = {"project": project, "name": name, **options}
        self._config = dict(config or {})
        self._every = completions_every
        self._run: Any | None = None
        self._is_owner = False
        self._reader: CompletionReader | None = None
        self._pending: list[Completion] = []
        self._has_warned = False
        self._has_alerted = False

    @never_raise
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Open the run in the first process."""
        if not state.is_world_process_zero:
            return
        trainer = find_trainer(self)
        if trainer is not None and self._is_replaced(trainer):
            return
        self._reader = CompletionReader(trainer) if "advantages" in getattr(trainer, "_logs", ()) else None
        self._pending, self._has_alerted = [], False
        config = {**config_of(args, model), **self._config}
        if trainer is not None:
            config["trainer"] = type(trainer).__name__
        self._open_run(args, config)
        self._log_status(state)

    @never_raise
    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note completions that a step with several forward and backward passes has generated so far."""
        self._collect()

    @never_raise
    def on_step_end(self, args: Any, state: Any, control: Any, processing_class: Any = None, **_: Any) -> None:
        """Record the completions that the step has generated."""
        self._collect()
        if self._every > 0 and state.global_step % self._every == 0:
            self._record_completions(args, state, processing_class, training=True)
        self._pending = []

    @never_raise
    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note the completions of a batch of an evaluation."""
        self._collect()

    @never_raise
    def on_evaluate(self, args: Any, state: Any, control: Any, processing_class: Any = None, **_: Any) -> None:
        """Record the completions of an evaluation."""
        if self._every > 0:
            self._record_completions(args, state, processing_class, training=False)
        self._pending = []

    @never_raise
    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Record the trainer's metrics under esweb's names; those of the whole training in the run's summary."""
        if self._run is None or not logs:
            return
        if "train_runtime" in logs:
            self._run.summary.update({key: value for key, value in logs.items() if value is not None})
            return
        self._run.log(rename_metrics(logs), step=state.global_step, axes=_axes(args, state, logs))
        self._log_status(state)
        self._alert_if_not_finite(state.global_step, logs)

    @never_raise
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Record the checkpoint that was saved."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if self._run is not None and folder.is_dir():
            self._run.log_checkpoint(str(folder), step=state.global_step)

    @never_raise
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Finish the run, if the callback has opened it."""
        run, self._run, self._reader = self._run, None, None
        if run is not None and self._is_owner:
            run.finish()

    def warn_once(self, event: str, error: Exception) -> None:
        """Log the first error of this callback. The training goes on without what the event would have recorded."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "esweb could not record %s (%s: %s). Training continues.", event, type(error).__name__, error
            )

    def _is_replaced(self, trainer: Any) -> bool:
        """Return whether a later callback reports this training: the script's own one, next to `report_to="esweb"`."""
        return [c for c in trainer.callback_handler.callbacks if isinstance(c, EswebCallback)][-1] is not self

    def _open_run(self, args: Any, config: dict[str, Any]) -> None:
        current = esweb_client.run
        if current is not None and not getattr(current, "_is_finished", False):
            if current not in _opened:
                self._run, self._is_owner = current, False
                current.config.update(config)
                return
            current.finish(state="interrupted", reason="Another training began before this one ended.")
        options = {"method": method_of(args), "seed": getattr(args, "seed", None), **self._options}
        options["project"] = options["project"] or os.environ.get("ESWEB_PROJECT") or getattr(args, "project", None)
        if not options["name"] and args.run_name and args.run_name != args.output_dir:
            options["name"] = args.run_name
        self._run, self._is_owner = esweb_client.init(config=config, **options), True
        _opened.add(self._run)

    def _collect(self) -> None:
        if self._reader is not None and self._run is not None:
            self._pending += self._reader.take()

    def _record_completions(self, args: Any, state: Any, tokenizer: Any, *, training: bool) -> None:
        if not self._pending or self._reader is None or self._run is None:
            return
        rows, size = self._pending, self._reader.group_size(training=training)
        only_policy = training and self._reader.has_policy_term_only()
        # In an evaluation number 0 is the greedy response, and TRL samples all of them.
        columns = response_columns(rows, size, first_sample=0 if training else 1, has_policy_term_only=only_policy)
        tokens = count_tokens(tokenizer, columns["responses"], getattr(args, "max_completion_length", None))
        split = "train" if training else "eval"
        self._run.log_responses(step=state.global_step, split=split, tokens=tokens, **columns)
        if training:
            self._run.log_population(population_members(rows, size), step=state.global_step)

    def _log_status(self, state: Any) -> None:
        if self._run is not None:
            progress = state.global_step / state.max_steps if state.max_steps > 0 else None
            self._run.log_status("training", progress=progress)

    def _alert_if_not_finite(self, step: int, logs: Mapping[str, Any]) -> None:
        values = {name: logs[name] for name in ("loss", "grad_norm") if isinstance(logs.get(name), (int, float))}
        bad = [f"{name} is {value}" for name, value in values.items() if not math.isfinite(value)]
        if bad and not self._has_alerted and self._run is not None:
            self._has_alerted = True
            self._run.alert("The training diverged", f"At step {step} {' and '.join(bad)}.", level="error", step=step)


def _axes(args: Any, state: Any, logs: Mapping[str, Any]) -> dict[str, float]:
    """Return the tokens and samples of the training so far, as far as they are known."""
    tokens = logs.get("num_tokens") or logs.get("num_input_tokens_seen") or state.num_input_tokens_seen
    axes = {"tokens": float(tokens)} if tokens else {}
    samples = samples_so_far(args, state.global_step)
    return {**axes, "samples": float(samples)} if samples else axes


def samples_so_far(args: Any, step: int) -> int:
    """Return the number of examples that `step` steps have used, or of completions that they have sampled."""
    passes = step * args.gradient_accumulation_steps
    size = getattr(args, "generation_batch_size", None)
    if size:
        passes_per_generation = args.steps_per_generation * getattr(args, "num_iterations", 1)
        return int(math.ceil(passes / passes_per_generation) * size)
    return int(passes * args.train_batch_size * args.world_size)


def register() -> None:
    """Make `report_to="esweb"` work: transformers resolves names by a table, and rejects those that it lacks."""
    from transformers.integrations import integration_utils

    integration_utils.INTEGRATION_TO_CALLBACK.setdefault(NAME, EswebCallback)
