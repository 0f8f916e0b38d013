"""Saves a checkpoint of all processes: the first writes the weights, and each adds its part of the trainer's state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from workers.checkpoint_folders import ATTEMPT, STEP, TRAINER
from workers.engines.context import Context
from workers.engines.grpo.arguments import section
from workers.engines.grpo.centre import Centre
from workers.engines.grpo.checkpoint import ADAPTER, Progress, delete_states, write_state
from workers.engines.grpo.process_group import ProcessGroup
from workers.engines.grpo.trainer import Trainer
from workers.trainer_processes import PeerLost


@dataclass(frozen=True)
class Saver:
    """Saves the checkpoints of a training. Every process has one, and all save after the same steps.

    A checkpoint holds the weights in the model's precision and the trainer's state; that of the last step the float32
    weights and no state, since nothing is left to resume (grpo.keep last).
    """

    context: Context
    processes: ProcessGroup
    centre: Centre
    trainer: Trainer
    progress: Progress

    def save(self, step: int) -> None:
        """Save a checkpoint, and delete the state in older ones. Raise PeerLost if the first process cannot write, and
        OSError."""
        is_end = self.processes.share(self._is_end(step))
        with self._weights(in_full=is_end) as model:
            if self.processes.is_first:
                self._write(step, model, with_state=not is_end)
            elif (folder := self.processes.share(None)) is None:
                raise PeerLost("the first process could not write the checkpoint")
            else:
                self._write_state(folder, with_state=not is_end)

    @property
    def _has_lora(self) -> bool:
        return section(self.context.config).lora is not None

    def _is_end(self, step: int) -> bool:
        context = self.context
        is_last = step == context.config.steps and not context.owes_evaluation
        return is_last and section(context.config).keep == "last"

    @contextmanager
    def _weights(self, *, in_full: bool) -> Iterator[nn.Module | None]:
        """Provide the model to save: the trained float32 weights `in_full`, or rounded to the model's precision. An
        adapter is merged in any case. None in the other processes."""
        if in_full and not self._has_lora:
            yield self.centre.master(self.trainer.model)
        else:
            with self.centre.evaluated(self.trainer.model) as model:
                yield model

    def _write(self, step: int, model: nn.Module | None, *, with_state: bool) -> None:
        shared = False

        def write(folder: Path) -> None:
            nonlocal shared
            if self._has_lora:
                self.trainer.accelerator.unwrap_model(self.trainer.model).save_pretrained(folder / ADAPTER)
            if with_state:
                (folder / TRAINER).mkdir()
            shared = True
            self._write_state(self.processes.share(folder), with_state=with_state)

        try:
            saved = self.context.checkpoint(step, model, write)
        except BaseException:
            if not shared:
                self.processes.share(None)
            raise
        if section(self.context.config).keep == "last":
            delete_states([folder for folder in _checkpoints(self.context.directory) if folder != saved])

    def _write_state(self, folder: Path, *, with_state: bool) -> None:
        """Write this process's part of the state, and wait for the other processes."""
        if with_state:
            is_exact = self._has_lora or self.centre.dtype == torch.float32
            master = None if is_exact else self.centre.master(self.trainer.model)
            write_state(self.trainer, self.progress, folder, master)
        self.processes.wait()


def _checkpoints(directory: Path) -> list[Path]:
    """Return the checkpoints of an attempt and of the run's other attempts."""
    is_numbered = ATTEMPT.fullmatch(directory.resolve().name)
    attempts = directory.resolve().parent.glob("*-a*") if is_numbered else [directory]
    folders = [folder for attempt in attempts for folder in attempt.glob("checkpoints/step-*")]
    return [folder for folder in folders if STEP.fullmatch(folder.name) and not folder.is_symlink()]
