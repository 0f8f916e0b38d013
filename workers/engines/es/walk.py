"""Weights of an ES run after several of its steps, one after another in one pass over its replay log.

The weights are those that `replay` rebuilds for each step, bit for bit; no checkpoint is written or needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import torch

from workers.engines.es.rebuild import Device, apply_updates, load_base, load_trainable, refuse_gap
from workers.engines.es.replay_history import attempts_of, history_of
from workers.models import Loaded
from workers.models.save import weights_sha256


def logged_steps(root: Path) -> list[int]:
    """Return the steps that can be rebuilt, 0 included, in order. Raise CannotReplay if there is no replay log."""
    return sorted({0, *history_of(attempts_of(root)).steps})


class Walk:
    """The way of a run's weights through `steps`. Raise CannotReplay for a step that the log does not lead to."""

    def __init__(self, root: Path, steps: Sequence[int]) -> None:
        self.steps = sorted(set(steps))
        self._trail = history_of(attempts_of(root)).trail(self.steps[-1])
        refuse_gap(self._trail, has_checkpoint=False)

    def load_base(self, moved_to: Path | None = None, device: Device = "auto") -> Loaded:
        """Return the run's base model. Raise CannotReplay if it is missing or has changed."""
        return load_base(self._trail, moved_to, device)

    def begins_with(self, folder: Path) -> bool:
        """Return whether the run's base model is the one in this folder."""
        return weights_sha256(folder) == self._trail.origin.base_sha256

    @torch.no_grad()
    def weights(self, loaded: Loaded) -> Iterator[int]:
        """Yield each step once the model of `loaded`, the base at first, has its weights. Raise CannotReplay for noise
        of another version."""
        trainable = load_trainable(loaded, self._trail)
        for before, step in pairwise([0, *self.steps]):
            part = [line for line in self._trail.written if before < line.update.step <= step]
            apply_updates(part, trainable, self._trail.origin.scales)
            yield step
