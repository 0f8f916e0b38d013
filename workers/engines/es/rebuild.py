"""θ after step N again: from the base model or a saved checkpoint, every update of the replay log once more.

Every number comes of single float32 products and sums in a fixed order, so that neither the number of cores nor the
device nor the version of torch matters. If the run itself saved that step, the result is compared with its record.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, cast

import torch

from workers import models
from workers.checkpoint_folders import hold, is_address, lacks_master, rebuilt_address, root_of
from workers.config import LoraConfig, ModelConfig
from workers.engines.context import step_of, write_checkpoint
from workers.engines.es.anchor import pull_to_anchor
from workers.engines.es.noise import VERSION as NOISE_VERSION
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.replay_checkpoints import nearest, recorded_weights
from workers.engines.es.replay_history import CannotReplay, LoggedUpdate, Trail, attempts_of, history_of
from workers.engines.es.state import State
from workers.engines.es.trainable import TrainableWeights, make_trainable
from workers.models import Loaded
from workers.models.save import weights_sha256

Device = Literal["auto", "cpu", "cuda"]
Progress = Callable[[int, int], None]
"""Called with (parts done, parts in all): an update is a part, and so is saving."""


@torch.no_grad()
def rebuild(
    root: Path,
    step: int,
    out: Path,
    *,
    from_base: bool = False,
    base: Path | None = None,
    device: Device = "auto",
    progress: Progress = lambda done, total: None,
) -> str:
    """Write the folder `out` and return the sha256 of its weights. Raise CannotReplay, NotResumable and OSError."""
    if out.exists():
        raise CannotReplay(f"{out} already exists: choose another name for --out")
    attempts = attempts_of(root)
    history = history_of(attempts)
    trail = history.trail(step)
    saved = None if from_base else nearest(attempts, trail)
    folder, applied = saved or (None, 0)
    refuse_gap(trail, has_checkpoint=folder is not None)
    loaded = load_base(trail, base, device)
    weights = load_trainable(loaded, trail)
    if folder is not None:
        weights.load(folder)
    apply_updates(trail.written[applied:], weights, trail.origin.scales, progress)
    # Only if nothing else was ever made with that number is it certain which weights the record refers to.
    recorded = _recorded(attempts, step) if len(history.steps.get(step, [0])) == 1 else set()
    return _save(out, loaded, weights, _state(trail), recorded)


def refuse_gap(trail: Trail, *, has_checkpoint: bool) -> None:
    """Raise CannotReplay if the trail does not begin with the base model and no checkpoint replaces its beginning."""
    if not trail.is_whole and not has_checkpoint:
        first = trail.written[0].update.step if trail.written else 0
        raise CannotReplay(
            f"the replay log has a gap: step {first} starts from weights that neither a line nor a whole "
            "checkpoint here contains; is an attempt of the run missing?"
        )


def load_base(trail: Trail, moved_to: Path | None, device: Device) -> Loaded:
    """Load the base model, in the precision in which the run read it."""
    path = moved_to or _own_base(trail.base_path, device)
    if not path.is_dir():
        raise CannotReplay(f"the base model is missing: {path} is not a folder; give its current folder with --base")
    if (sha256 := weights_sha256(path)) != trail.origin.base_sha256:
        raise CannotReplay(
            f"the base model has changed: the sha256 of the weights in {path} is {sha256}, but the run started with "
            f"{trail.origin.base_sha256}"
        )
    dtype = cast("Literal['float32', 'bfloat16', 'float16']", trail.origin.dtype)
    return models.load(ModelConfig(path=str(path), dtype=dtype, device=device))


def _own_base(path: Path, device: Device) -> Path:
    """Return the base model's folder. If it is a checkpoint of another ES run that was deleted, it is rebuilt."""
    return provide(path, device=device) if is_address(path) and not path.is_dir() else path


def provide(checkpoint: Path, *, device: Device = "auto", progress: Progress = lambda done, total: None) -> Path:
    """Return a folder with the checkpoint of this address, in which an ES run can resume: itself, or rebuilt at
    `rebuilt_address` if it was deleted, or saved without float32 weights. It is held until this process ends.

    Raise CannotReplay and OSError.
    """
    hold(checkpoint)
    if checkpoint.is_dir() and not lacks_master(checkpoint):
        return checkpoint
    final = rebuilt_address(checkpoint)
    final.parent.mkdir(exist_ok=True)
    hold(final)
    if final.is_dir():
        return final
    # Another process may rebuild the same one.
    with tempfile.TemporaryDirectory(prefix=".rebuilding-", dir=final.parent) as scratch:
        rebuild(root_of(final), step_of(final), Path(scratch) / final.name, device=device, progress=progress)
        try:
            (Path(scratch) / final.name).rename(final)
        except OSError:
            if not final.is_dir():
                raise
    return final


def load_trainable(loaded: Loaded, trail: Trail) -> TrainableWeights:
    """Return the trained parameters of the run before its first update."""
    lora = trail.origin.lora
    lora_config = None if lora is None else LoraConfig(**lora | {"targets": tuple(lora["targets"])})
    anchored = any(line.update.decay for line in trail.written)
    return make_trainable(loaded, lora_config, trail.origin.seed, anchored=anchored)


def apply_updates(
    written: Sequence[LoggedUpdate],
    weights: TrainableWeights,
    scales: dict[str, float],
    progress: Progress = lambda done, total: None,
) -> None:
    """Apply the updates in order, and write the result into the model. Raise CannotReplay if this code makes other
    noise than the code that wrote them."""
    for line in written:
        if (noise_version := line.start.noise.version) != NOISE_VERSION:
            raise CannotReplay(
                f"step {line.update.step} was made with noise version {noise_version}; this code makes version "
                f"{NOISE_VERSION}, other noise for the same seeds"
            )
    for done, line in enumerate(written):
        progress(done, len(written) + 1)
        # σ scales the members, not the update, so its value is not needed.
        Perturbation(line.start.noise.noise(), 1.0, scales).step(line.update.directions, weights.master)
        if line.update.decay:
            pull_to_anchor(weights.master, weights.anchor, line.update.decay)
    progress(len(written), len(written) + 1)
    weights.write(weights.master.__getitem__)


def _state(trail: Trail) -> State:
    if not trail.written:
        return State(trail.origin, trail.end)
    last = trail.written[-1].update
    counts = last.tokens, last.samples, last.gpu_seconds, last.dead, last.multiplier
    return State(trail.origin, trail.end, last.step, *counts, rows=trail.written[-1].start.rows)


def _recorded(attempts: Sequence[Path], step: int) -> set[str]:
    return {sha256 for folder, sha256 in recorded_weights(attempts).items() if step_of(folder) == step}


def _save(out: Path, loaded: Loaded, weights: TrainableWeights, state: State, recorded: set[str]) -> str:
    """Save the folder; it is whole under its name, or missing. Raise CannotReplay if the run recorded other weights."""

    def more(folder: Path) -> None:
        if recorded and (sha256 := weights_sha256(folder)) not in recorded:
            libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "safetensors"))
            raise CannotReplay(
                f"the weights rebuilt for step {state.step} have sha256 {sha256}, and the run recorded "
                f"{' and '.join(sorted(recorded))}: this is not the machinery that wrote the log (here: {libraries})"
            )
        weights.save(folder)
        state.save(folder)

    return write_checkpoint(out, weights.model, loaded.tokenizer, more)[1]
