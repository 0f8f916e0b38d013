"""Saves a checkpoint of all processes: the first writes the weights, and each adds its part of the trainer's state."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from torch import nn

from workers.engines.context import Context
from workers.engines.grpo.centre import Centre
from workers.engines.grpo.checkpoint import Progress, write_state
from workers.engines.grpo.process_group import ProcessGroup
from workers.engines.grpo.trainer import Trainer
from workers.trainer_processes import PeerLost


def save_checkpoint(
    context: Context,
    processes: ProcessGroup,
    centre: Centre,
    trainer: Trainer,
    progress: Progress,
    step: int,
    *,
    lora: bool,
) -> None:
    """Save the float32 master without an adapter, since a resume continues from it; with one, the merged weights.

    All processes call it. Raise PeerLost if the first one cannot write. The first process writes the
    folder, into which all write their state before it gets its name.
    """
    with centre.evaluated(trainer.model) if lora else nullcontext(centre.master(trainer.model)) as model:
        if processes.is_first:
            _write_checkpoint(context, processes, trainer, model, progress, step, lora=lora)
        elif (folder := processes.share(None)) is None:
            raise PeerLost("the first process could not write the checkpoint")
        else:
            write_state(trainer, progress, folder, lora=lora)
            processes.wait()


def _write_checkpoint(
    context: Context,
    processes: ProcessGroup,
    trainer: Trainer,
    model: nn.Module | None,
    progress: Progress,
    step: int,
    *,
    lora: bool,
) -> None:
    shared = False

    def write(folder: Path) -> None:
        nonlocal shared
        shared = True
        write_state(trainer, progress, processes.share(folder), lora=lora)
        processes.wait()

    try:
        context.checkpoint(step, model, write)
    except BaseException:
        if not shared:
            processes.share(None)
        raise
