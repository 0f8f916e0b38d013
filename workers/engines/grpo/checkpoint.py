"""Save and restore what a GRPO run needs besides its weights to resume: TRL's own trainer state, and its progress.

The files are in the checkpoint's Hugging Face folder under the names that Trainer gives them, so that its
`resume_from_checkpoint` reads them. With LoRA the folder holds merged weights; adapter and state are in `adapter/`.

TRL holds in memory alone the completions that several steps share and its count of passes over them. Both are saved
here: a resume amid such steps would otherwise draw new completions, and pair later ones with other prompts.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import trl
from safetensors.torch import load_file, save_file
from torch import Tensor

from workers.engines.constraint import parse_multiplier
from workers.engines.not_resumable import NotResumable
from workers.tasks.safety import Multiplier

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
    """Return the folder that holds a checkpoint's trainer state: `adapter/` with LoRA, else the checkpoint itself."""
    return checkpoint / "adapter" if lora else checkpoint


def write_state(trainer: trl.GRPOTrainer, progress: Progress, checkpoint: Path, *, lora: bool) -> None:
    """Add optimiser, schedule, random streams and step to a checkpoint that already holds the weights."""
    folder = state_folder(checkpoint, lora=lora)
    if lora:
        trainer.model.save_pretrained(folder)
    # Trainer writes these itself only under its own folder names and without the record of what was saved.
    trainer._save_optimizer_and_scheduler(str(folder))
    trainer._save_rng_state(str(folder))
    trainer._save_scaler(str(folder))
    _write_completions(trainer, checkpoint / COMPLETIONS)
    (folder / PROGRESS).write_text(json.dumps(asdict(progress)), encoding="utf-8")
    trainer.state.save_to_json(str(folder / STATE))


def read_progress(checkpoint: Path, gpus: int, *, lora: bool) -> Progress:
    """Return how far the run had come. Raise NotResumable if the folder has no trainer state.

    Checkpoints of 0.1 hold the seconds alone: these are taken times `gpus`, the number that the run has now.
    """
    folder = state_folder(checkpoint, lora=lora)
    if not (folder / STATE).is_file():
        raise NotResumable(
            f"{checkpoint} has no {STATE}, so it was not saved by a GRPO run of this kind; "
            "to start a new run from its weights, give it as model.path"
        )
    data = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    if "seconds" in data:
        data["gpu_seconds"] = data.pop("seconds") * gpus
    return Progress(**data | {"multiplier": parse_multiplier(data.get("multiplier"))})


def restore_generation(trainer: trl.GRPOTrainer, checkpoint: Path, *, lora: bool) -> bool:
    """Restore TRL's count of passes, and the completions in use, before the training continues.

    Return False if completions that were in use could not be saved, so that new ones will be drawn.
    """
    folder = state_folder(checkpoint, lora=lora)
    step = int(json.loads((folder / STATE).read_text(encoding="utf-8"))["global_step"])
    trainer._step = step * trainer.args.gradient_accumulation_steps
    if not _in_use(trainer):
        return True
    if not (checkpoint / COMPLETIONS).is_file():
        return False
    batches: list[dict[str, Tensor]] = [{} for _ in range(trainer.args.steps_per_generation)]
    for name, tensor in load_file(checkpoint / COMPLETIONS).items():
        number, _, key = name.partition("/")
        batches[int(number)][key] = tensor.to(trainer.args.device)
    trainer._buffered_inputs = batches
    return True


def _in_use(trainer: trl.GRPOTrainer) -> bool:
    """Return whether the next step uses completions that an earlier one has drawn."""
    return bool(trainer._step % (trainer.args.steps_per_generation * trainer.num_iterations))


def _write_completions(trainer: trl.GRPOTrainer, file: Path) -> None:
    """Write the completions in use; nothing if they are not plain tensors, as with images, which `restore_generation`
    reports."""
    if not _in_use(trainer):
        return
    tensors = {f"{i}/{key}": value for i, batch in enumerate(trainer._buffered_inputs) for key, value in batch.items()}
    if all(isinstance(value, Tensor) for value in tensors.values()):
        file.parent.mkdir()
        # Copies: the batches are views of one tensor, which safetensors does not store.
        save_file({name: value.detach().clone() for name, value in tensors.items()}, file)
