"""What a GRPO run needs beside its weights to go on where it stopped: TRL's own trainer state, and how far it had come.

The files lie in the checkpoint's Hugging Face folder under the names that Trainer gives them, so that its
`resume_from_checkpoint` reads them. With LoRA the folder holds merged weights; adapter and state lie in `adapter/`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import trl

STATE = "trainer_state.json"
PROGRESS = "progress.json"


class NotResumable(ValueError):
    """A folder that holds weights, but not the state of a GRPO run."""


@dataclass
class Progress:
    """How far training has come: completion tokens generated, completions scored, seconds spent in steps."""

    tokens: int = 0
    samples: int = 0
    seconds: float = 0.0


def state_folder(checkpoint: Path, *, lora: bool) -> Path:
    """Where in a checkpoint the trainer's state lies."""
    return checkpoint / "adapter" if lora else checkpoint


def write_state(trainer: trl.GRPOTrainer, progress: Progress, checkpoint: Path, *, lora: bool) -> None:
    """Adds optimiser, schedule, random streams and step to a checkpoint that already holds the weights."""
    folder = state_folder(checkpoint, lora=lora)
    if lora:
        trainer.model.save_pretrained(folder)
    # Trainer writes these itself only under its own folder names and without the record of what was saved.
    trainer._save_optimizer_and_scheduler(str(folder))
    trainer._save_rng_state(str(folder))
    (folder / PROGRESS).write_text(json.dumps(asdict(progress)), encoding="utf-8")
    trainer.state.save_to_json(str(folder / STATE))


def read_progress(checkpoint: Path, *, lora: bool) -> Progress:
    """How far the run had come. Raises NotResumable where the folder has no trainer state."""
    folder = state_folder(checkpoint, lora=lora)
    if not (folder / STATE).is_file():
        raise NotResumable(
            f"{checkpoint} has no {STATE}, so it was not saved by a GRPO run of this kind; "
            "to start a new run from its weights, give it as model.path"
        )
    return Progress(**json.loads((folder / PROGRESS).read_text(encoding="utf-8")))
