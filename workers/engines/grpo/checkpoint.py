"""Save and restore what a GRPO run needs besides its weights to resume: TRL's own trainer state, and its progress.

The checkpoint's Hugging Face folder holds the weights in the model's precision, merged with LoRA, whose adapter is in
`adapter/`. The files are in `trainer/` under the names that Trainer gives them, so that its `resume_from_checkpoint`
reads them, with the float32 weights, if those of the model have another precision. That folder alone is deleted once a
newer checkpoint is in place (grpo.keep last). Earlier versions wrote the files into the checkpoint's folder, or into
`adapter/`, and float32 weights as those of the model.

TRL holds in memory alone the completions that several steps share and its count of passes over them. Both are saved
here: a resume amid such steps would otherwise draw new completions, and pair later ones with other prompts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import trl
from accelerate.utils import gather_object
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from workers.attempt import RUN_CONFIG, read_json
from workers.checkpoint_folders import TRAINER, delete_unread
from workers.engines.constraint import parse_multiplier
from workers.engines.grpo.distribution import DistributedTrainer
from workers.engines.not_resumable import NotResumable
from workers.tasks.safety import Multiplier

ADAPTER = "adapter"
COMPLETIONS = "generation/completions.safetensors"
STATE = "trainer_state.json"
PROGRESS = "progress.json"


@dataclass
class Progress:
    """Hold how far training has come: completion tokens generated, completions scored, their mean reward last time,
    GPU-seconds spent in steps; the λ of a task with a cost, None without one."""

    tokens: int = 0
    samples: int = 0
    reward: float = 0.0
    gpu_seconds: float = 0.0
    multiplier: Multiplier | None = None


def state_folder(checkpoint: Path, *, lora: bool) -> Path:
    """Return the folder that holds a checkpoint's trainer state, as this or an earlier version wrote it."""
    if (folder := checkpoint / TRAINER).is_dir():
        return folder
    return checkpoint / ADAPTER if lora else checkpoint


def delete_states(checkpoints: Sequence[Path]) -> None:
    """Delete the trainer state of checkpoints that none resumes from now; weights, and an adapter, stay. Raise
    OSError."""
    for checkpoint in checkpoints:
        delete_unread(checkpoint, TRAINER)


def write_state(
    trainer: DistributedTrainer, progress: Progress, checkpoint: Path, master: nn.Module | None = None
) -> None:
    """Add optimiser, schedule, random streams, step and, if there is one, the master to a checkpoint that already holds
    the model's weights, and an empty folder `trainer`. All processes call it with the same folder."""
    folder = checkpoint / TRAINER
    is_first = trainer.accelerator.is_main_process
    if master is not None:
        master.save_pretrained(folder)  # type: ignore[operator]
    trainer.save_state(folder)
    batches = _completions_in_use(trainer)
    by_process = [batches] if trainer.args.world_size == 1 else gather_object([batches])
    if not is_first:
        return
    _write_completions(by_process, folder / COMPLETIONS)
    (folder / PROGRESS).write_text(json.dumps(asdict(progress)), encoding="utf-8")
    trainer.state.save_to_json(str(folder / STATE))


def read_progress(checkpoint: Path, gpus: int, *, lora: bool) -> Progress:
    """Return how far the run had come. Raise NotResumable if the folder has no trainer state.

    Checkpoints of 0.1 hold the seconds alone: these are taken times `gpus`, the number that the run has now.
    """
    folder = state_folder(checkpoint, lora=lora)
    if not (folder / STATE).is_file():
        raise NotResumable(f"{_missing_state(checkpoint)}; to start a new run from its weights, give it as model.path")
    data = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    if "seconds" in data:
        data["gpu_seconds"] = data.pop("seconds") * gpus
    return Progress(**data | {"multiplier": parse_multiplier(data.get("multiplier"))})


def restore_generation(trainer: trl.GRPOTrainer, checkpoint: Path, *, lora: bool) -> bool:
    """Restore TRL's count of passes, and the completions in use, before the training continues.

    The completions may come from another number of processes, each with a larger or smaller part of each batch.
    Return False if completions that were in use could not be saved, so that new ones will be drawn.
    """
    folder = state_folder(checkpoint, lora=lora)
    step = int(json.loads((folder / STATE).read_text(encoding="utf-8"))["global_step"])
    trainer._step = step * trainer.args.gradient_accumulation_steps
    if not _in_use(trainer):
        return True
    file = (folder if folder.name == TRAINER else checkpoint) / COMPLETIONS
    if not file.is_file():
        return False
    saved: list[dict[str, list[Tensor]]] = [{} for _ in range(trainer.args.steps_per_generation)]
    for name, tensor in sorted(load_file(file).items(), key=lambda item: _address(item[0])):
        _, number, key = _address(name)
        saved[number].setdefault(key, []).append(tensor)
    part = (trainer.args.process_index, trainer.args.world_size)
    padding = trainer.processing_class.pad_token_id
    trainer._buffered_inputs = [
        {key: _own_rows(key, parts, *part, padding).to(trainer.args.device) for key, parts in batch.items()}
        for batch in saved
    ]
    return True


def _missing_state(checkpoint: Path) -> str:
    """Return the sentence without its end about a checkpoint from which no GRPO run resumes."""
    config = read_json(checkpoint.parent.parent / RUN_CONFIG) or {}
    if config.get("method") != "grpo":
        return f"{checkpoint} has no {STATE}, so it was not saved by a GRPO run of this kind"
    return (
        f"{checkpoint} holds weights only: it lacks the optimiser's state, the schedule and the random streams, which "
        "stay with the newest checkpoint of a run that has not made its last step (grpo.keep last)"
    )


def _in_use(trainer: trl.GRPOTrainer) -> bool:
    """Return whether the next step uses completions that an earlier one has drawn."""
    return bool(trainer._step % (trainer.args.steps_per_generation * trainer.num_iterations))


def _completions_in_use(trainer: trl.GRPOTrainer) -> list[dict[str, Tensor]]:
    """Return this process's batches of completions that later steps use; none if they are not plain tensors, as with
    images, which `restore_generation` reports."""
    batches = trainer._buffered_inputs if _in_use(trainer) else []
    if not all(isinstance(value, Tensor) for batch in batches for value in batch.values()):
        return []
    # Copies: the batches are views of one tensor, which safetensors does not store.
    return [{key: value.detach().cpu().clone() for key, value in batch.items()} for batch in batches]


def _write_completions(by_process: Sequence[Sequence[Mapping[str, Tensor]]], file: Path) -> None:
    tensors = {
        f"{i}/{key}" if rank == 0 else f"{rank}/{i}/{key}": value
        for rank, batches in enumerate(by_process)
        for i, batch in enumerate(batches)
        for key, value in batch.items()
    }
    if tensors:
        file.parent.mkdir()
        save_file(tensors, file)


def _address(name: str) -> tuple[int, int, str]:
    """Return process, batch and key of a tensor: `1/0/advantages`. Those of the first process have no number of it."""
    *numbers, key = name.split("/")
    rank, batch = ["0", *numbers][-2:]
    return int(rank), int(batch), key


def _own_rows(key: str, parts: Sequence[Tensor], rank: int, world: int, padding: int) -> Tensor:
    """Return the rows of process `rank`, of `world` processes, from the rows of the processes that saved them."""
    if len(parts) == world:
        return parts[rank]
    if parts[0].ndim == 0:
        return parts[0]
    rows = torch.cat([_padded(key, part, max(part.shape[-1] for part in parts), padding) for part in parts])
    return rows.chunk(world)[rank].contiguous()


def _padded(key: str, rows: Tensor, columns: int, padding: int) -> Tensor:
    """Return rows as wide as the widest process has them: prompts are padded on the left, what follows on the right."""
    missing = columns - rows.shape[-1]
    if rows.ndim < 2 or not missing:
        return rows
    sides = (missing, 0) if key.startswith("prompt") else (0, missing)
    return nn.functional.pad(rows, sides, value=padding if key.endswith("_ids") else 0)
