"""Null of the norm of an ES run's change: a random walk with the run's own coefficients and directions without meaning.

Without decay, δ of a tensor is s Σ cᵢ εᵢ over all members of all updates, with the coefficients c of the replay log and
the scale s of the tensor. With independent ε of mean 0, E‖δ‖² = V s² n for V = Σ cᵢ² and n elements. Anchored decay
with coefficient d multiplies all earlier coefficients by 1 − d.

The elements of a tensor's ε are uncorrelated, so that Var⟨ε, ε'⟩ = n for two members. With `Noise.square_variance` as
Var‖ε‖², Var‖δ‖² = s⁴ (Q Var‖ε‖² + 2 (V² − Q) n) for Q = Σ cᵢ⁴.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers.engines.es.noise import Noise
from workers.engines.es.replay_history import Trail
from workers.models.save import weights_sha256
from workers.probes.geometry.nulls import Null, gamma_band
from workers.probes.weights import Subject

Shape = tuple[int, ...]


@dataclass(frozen=True)
class RandomWalk:
    """The walk up to a step: noise, the scales of the tensors, V (`squares`), Q (`fourths`), and the share of its first
    increment that decay has left (`shrink`)."""

    noise: Noise
    scales: Mapping[str, float]
    squares: float
    fourths: float
    shrink: float = 1.0

    @classmethod
    def start(cls) -> RandomWalk:
        """Return the walk before the first update."""
        return cls(Noise(), {}, 0.0, 0.0)

    @classmethod
    def up_to(cls, trail: Trail, step: int) -> RandomWalk:
        """Return the walk of the updates of a trail up to a step. All of them have one kind of noise."""
        squares = fourths = 0.0
        left, noise = 1.0, Noise()
        for line in trail.written:
            if line.update.step > step:
                break
            noise = line.start.noise.noise()
            left *= 1 - line.update.decay
            shrink = (1 - line.update.decay) ** 2
            weights = line.update.weights
            squares = shrink * (squares + math.fsum(c**2 for c in weights))
            fourths = shrink**2 * (fourths + math.fsum(c**4 for c in weights))
        return cls(noise, trail.origin.scales, squares, fourths, left)

    def tensor_null(self, name: str, shape: Shape) -> Null:
        """Return the null of the norm of a tensor; an empty one if the run does not train it."""
        return _null_of_norm(*self._moments(name, shape)) if name in self.scales else Null()

    def model_null(self, shapes: Mapping[str, Shape]) -> Null:
        """Return the null of the norm over all tensors; an empty one if some of them are not trained.

        Noise that tensors share has no band: their norms are not independent.
        """
        if not shapes.keys() <= self.scales.keys():
            return Null()
        mean, variance = self._model_moments(shapes)
        if self.noise.is_shared:
            return Null(math.sqrt(mean))
        return _null_of_norm(mean, variance)

    def dimensions(self, shapes: Mapping[str, Shape]) -> float | None:
        """Return the number of dimensions in which an isotropic walk has as variable a norm as this one.

        None if some tensors are not trained, nothing moved, or tensors share their noise.
        """
        if not shapes.keys() <= self.scales.keys() or self.noise.is_shared:
            return None
        mean, variance = self._model_moments(shapes)
        return 2 * mean**2 / variance if variance else None

    def _model_moments(self, shapes: Mapping[str, Shape]) -> tuple[float, float]:
        """Return mean and variance of ‖δ‖² over all tensors."""
        moments = [self._moments(name, shape) for name, shape in shapes.items()]
        mean, variance = (math.fsum(column) for column in zip(*moments, strict=True))
        return mean, variance

    def _moments(self, name: str, shape: Shape) -> tuple[float, float]:
        """Return mean and variance of ‖δ‖² of a tensor."""
        n, scale = math.prod(shape), self.scales[name] ** 2
        crossed = self.squares**2 - self.fourths
        variance = self.fourths * self.noise.square_variance(shape) + crossed * 2.0 * n
        return scale * self.squares * n, scale**2 * variance


def _null_of_norm(mean: float, variance: float) -> Null:
    """Return the null of a norm from mean and variance of its square."""
    low, high = gamma_band(mean, variance)
    return Null(math.sqrt(mean), math.sqrt(low), math.sqrt(high))


def walk_trail(subject: Subject) -> Trail | None:
    """Return the trail whose random walk a subject is compared with, or None if there is no such walk.

    It must begin with the base of the subject and train all weights themselves, not the factors of a LoRA, with one
    kind of noise. The walk of a run in 16 bits begins at the rounded base, as its change does (`open_pair`).
    """
    trail = subject.trail
    if trail is None or subject.base is None or not trail.is_whole or trail.origin.lora is not None:
        return None
    kinds: set[Any] = {(line.start.noise.kind, line.start.noise.rank) for line in trail.written}
    if len(kinds) != 1 or weights_sha256(subject.base) != trail.origin.base_sha256:
        return None
    return trail


def shares_noise(subject: Subject) -> bool:
    """Return whether all tensors of a run have the same noise."""
    trail = subject.trail
    if trail is None or trail.origin.lora is not None:
        return False
    return bool(trail.written) and all(line.start.noise.noise().is_shared for line in trail.written)
