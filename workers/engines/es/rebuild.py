"""θ after step N again: from the base model or a saved checkpoint, every update of the replay log once more.

Every number comes of single float32 products and sums in a fixed order, so that neither the number of cores nor the
device nor the version of torch matters. Where the run itself saved that step, the result is compared with its record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, cast

import torch

from workers import models
from workers.config import LoraConfig, ModelConfig
from workers.engines.context import step_of, write_checkpoint
from workers.engines.es.noise import VERSION as NOISE_VERSION
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.replay_checkpoints import nearest, recorded_weights
from workers.engines.es.replay_history import CannotReplay, Trail, Written, attempts_of, history_of
from workers.engines.es.state import State
from workers.engines.es.trained import Trained, trained
from workers.models import Loaded
from workers.models.save import weights_sha256

Device = Literal["auto", "cpu", "cuda"]
Progress = Callable[[int, int], None]
"""Told (parts done, parts in all): an update is a part, and so is saving."""


@torch.no_grad()
def rebuild(
    root: Path,
    step: int,
    out: Path,
    *,
    from_base: bool = False,
    base: Path | None = None,
    device: Device = "auto",
    progress: Progress = lambda done, of: None,
) -> str:
    """Makes the folder `out` and returns the sha256 of its weights. Raises CannotReplay, NotResumable and OSError."""
    if out.exists():
        raise CannotReplay(f"{out} is there already: give --out a name that is free")
    attempts = attempts_of(root)
    history = history_of(attempts)
    trail = history.trail(step)
    saved = None if from_base else nearest(attempts, trail)
    folder, held = saved or (None, 0)
    _refuse_gap(trail, has_checkpoint=folder is not None)
    loaded = _base(trail, base, device)
    what = _trained(loaded, trail)
    if folder is not None:
        what.load(folder)
    _replay(trail.written[held:], what, trail.origin.scales, progress)
    # Only where nothing else was ever made of that number is it sure which weights the record speaks of.
    recorded = _recorded(attempts, step) if len(history.steps.get(step, [0])) == 1 else set()
    return _save(out, loaded, what, _state(trail), recorded)


def _refuse_gap(trail: Trail, *, has_checkpoint: bool) -> None:
    if not trail.is_whole and not has_checkpoint:
        first = trail.written[0].update.step if trail.written else 0
        raise CannotReplay(
            f"the replay log has a gap: step {first} goes on from weights that no line here made and no whole "
            "checkpoint here holds; is an attempt of the run missing?"
        )


def _base(trail: Trail, moved_to: Path | None, device: Device) -> Loaded:
    """The base model, in the precision in which the run read it."""
    path = moved_to or trail.base_path
    if not path.is_dir():
        raise CannotReplay(f"the base model is missing: {path} is no folder; give --base where it lies now")
    if (found := weights_sha256(path)) != trail.origin.base_sha256:
        raise CannotReplay(
            f"the base model has changed: the sha256 of the weights in {path} is {found}, and the run began with "
            f"{trail.origin.base_sha256}"
        )
    dtype = cast("Literal['float32', 'bfloat16', 'float16']", trail.origin.dtype)
    return models.load(ModelConfig(path=str(path), dtype=dtype, device=device))


def _trained(loaded: Loaded, trail: Trail) -> Trained:
    lora = trail.origin.lora
    knobs = None if lora is None else LoraConfig(**lora | {"targets": tuple(lora["targets"])})
    return trained(loaded, knobs, trail.origin.seed)


def _replay(written: Sequence[Written], what: Trained, scales: dict[str, float], progress: Progress) -> None:
    """Applies the updates in order. Raises CannotReplay where this code makes other noise than wrote them."""
    for line in written:
        if (found := line.start.noise.version) != NOISE_VERSION:
            raise CannotReplay(
                f"step {line.update.step} was made with noise version {found}; this code makes version "
                f"{NOISE_VERSION}, other noise for the same seeds"
            )
    for done, line in enumerate(written):
        progress(done, len(written) + 1)
        # σ scales the members, not the update: what it was is not needed.
        Perturbation(line.start.noise.noise(), 1.0, scales).step(line.update.directions, what.master)
    progress(len(written), len(written) + 1)
    what.write(what.master.__getitem__)


def _state(trail: Trail) -> State:
    if not trail.written:
        return State(trail.origin, trail.end)
    last = trail.written[-1].update
    counts = last.tokens, last.samples, last.gpu_seconds, last.dead, last.multiplier
    return State(trail.origin, trail.end, last.step, *counts, rows=trail.written[-1].start.rows)


def _recorded(attempts: Sequence[Path], step: int) -> set[str]:
    return {sha256 for folder, sha256 in recorded_weights(attempts).items() if step_of(folder) == step}


def _save(out: Path, loaded: Loaded, what: Trained, state: State, recorded: set[str]) -> str:
    """The folder, whole under its name or not there. Raises CannotReplay where the run recorded other weights."""

    def more(folder: Path) -> None:
        if recorded and (made := weights_sha256(folder)) not in recorded:
            libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "safetensors"))
            raise CannotReplay(
                f"the weights rebuilt for step {state.step} have sha256 {made}, and the run recorded "
                f"{' and '.join(sorted(recorded))}: this is not the machinery that wrote the log (here: {libraries})"
            )
        what.save(folder)
        state.save(folder)

    return write_checkpoint(out, what.model, loaded.tokenizer, more)[1]
