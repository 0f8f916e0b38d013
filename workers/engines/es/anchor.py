"""Anchored weight decay: after each step, θ is pulled towards θ₀, the weights that the run began with.

    θ ← θ + (α / N) Σ zᵢ εᵢ
    θ ← θ − α λ (θ − θ₀)

This is the L2 form of Schweighofer et al., "Overcoming Forgetting in LLM Fine-Tuning with Evolution Strategies" (arXiv
2605.30148), as in its code (`apply_reference_weight_decay_` in kschweig/es-awd, which writes it as
θ₀ + (1 − α λ)(θ − θ₀)). The decay follows the step, and every iteration decays, also one that gives no direction.

Every number comes of one float32 difference, one product and one more difference, each rounded on its own: the same
bits on any device and any number of threads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from workers.config import EsConfig

ELEMENTS_PER_PIECE = 1 << 22
"""Numbers of a tensor that are pulled together, so that no second tensor of its size is ever in memory."""


def decay_coefficient(es: EsConfig) -> float:
    """Return α λ as a float32 number; 0 without anchored weight decay."""
    return round_to_float32(es.alpha * es.anchor_decay)


def round_to_float32(x: float) -> float:
    """Return the float32 number that is nearest. Raise OverflowError if there is none."""
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


def pull_to_anchor(master: Mapping[str, Tensor], anchor: Mapping[str, Tensor], decay: float) -> None:
    """Subtract decay · (θ − θ₀) from θ, in place; θ = θ₀ stays as it is, to the bit.

    master: name -> float32; anchor: the same names and shapes, in a precision that holds θ₀ exactly.
    """
    for tensor, start in _pieces(master, anchor):
        # No fused multiply-add: it would round once, and not on every device.
        tensor.sub_(tensor.sub(start).mul_(decay))


def anchor_distance(master: Mapping[str, Tensor], anchor: Mapping[str, Tensor]) -> float:
    """Return ‖θ − θ₀‖ over all trained tensors, the root of a float64 sum of squares."""
    squares = [tensor.double().sub_(start).square_().sum() for tensor, start in _pieces(master, anchor)]
    return float(torch.stack(squares).sum().sqrt())


def _pieces(master: Mapping[str, Tensor], anchor: Mapping[str, Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows of each tensor with those of its start, as float32, some at a time."""
    for name, tensor in master.items():
        whole, start = torch.atleast_1d(tensor, anchor[name])  # type: ignore[no-untyped-call]
        rows = max(1, ELEMENTS_PER_PIECE * len(whole) // whole.numel())
        for part, start_part in zip(torch.split(whole, rows), torch.split(start, rows), strict=True):
            yield part, start_part.float()
