"""A member's parameters: master + σ sₙ ε, where sₙ is 1 or, with `layer_scale`, the tensor's root mean square."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workers.config import EsConfig
from workers.engines.es.anchor import round_to_float32
from workers.engines.es.noise import Noise, make_noise
from workers.engines.es.philox import runs_triton


@dataclass(frozen=True)
class Perturbation:
    """σ, the kind of noise, and each tensor's own scale s."""

    noise: Noise
    sigma: float
    scales: Mapping[str, float]

    @classmethod
    def from_config(cls, es: EsConfig, scales: Mapping[str, float]) -> Perturbation:
        """Return the perturbation of a run with this config."""
        return cls(make_noise(es.noise, es.rank), es.sigma, scales)

    def member_tensors(self, seeds: Sequence[int], name: str, master: Tensor) -> Tensor:
        """Return the members' tensors [seeds, *master.shape], float32."""
        return self.noise.draw(seeds, name, master).mul_(self.sigma * self.scales[name]).add_(master)

    def members(
        self, seeds: Sequence[int], master: Mapping[str, Tensor], dtypes: Mapping[str, torch.dtype]
    ) -> dict[str, Tensor]:
        """Return the members' tensors [seeds, *master.shape], each cast to its type."""
        if not self._is_fused(master):
            return {name: self.member_tensors(seeds, name, m).to(dtypes[name]) for name, m in master.items()}
        tensors = {n: torch.empty(len(seeds), *m.shape, dtype=dtypes[n], device=m.device) for n, m in master.items()}
        self._write_fused(seeds, master, tensors)
        return tensors

    def write_member(self, seed: int, master: Mapping[str, Tensor], parameters: Mapping[str, Tensor]) -> None:
        """Write one member into a model's parameters of the master's names, cast to their type."""
        if self._is_fused(master) and self._is_fused(parameters):
            self._write_fused([seed], master, {name: parameters[name].detach().unsqueeze(0) for name in master})
            return
        for name, m in master.items():
            parameters[name].copy_(self.member_tensors([seed], name, m)[0])

    def _write_fused(self, seeds: Sequence[int], master: Mapping[str, Tensor], outs: Mapping[str, Tensor]) -> None:
        """Write the members into outs name -> [seeds, *master.shape], a launch for each type of floats."""
        from workers.engines.es.noise_cuda import write_members

        factors = {name: self.sigma * self.scales[name] for name in master}
        for dtype in {out.dtype for out in outs.values()}:
            same_type = {name: out for name, out in outs.items() if out.dtype == dtype}
            write_members(same_type, {name: master[name] for name in same_type}, self.noise, seeds, factors)

    def member(self, seed: int, master: Mapping[str, Tensor]) -> Callable[[str], Tensor]:
        """Return a function from a name to one member's tensor, made on each call: no second master is ever in
        memory."""
        return lambda name: self.member_tensors([seed], name, master[name])[0]

    def factors(self, seeds: Sequence[int], matrices: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """Return name -> (A [seeds, out, r], B [seeds, in, r]): the members are master + A Bᵀ."""
        factors = self.noise.factors(seeds, matrices)
        return {name: (a.mul_(self.sigma * self.scales[name]), b) for name, (a, b) in factors.items()}

    def step(self, directions: Mapping[int, float], master: Mapping[str, Tensor]) -> float:
        """Add Σ w s ε over directions seed -> w to θ, in place. Return the norm of the step.

        The sum is formed in float32, in the order given, and added once: the same bits on every device. Without
        directions no bit changes (adding a zero would turn −0 into 0).
        """
        if not directions:
            return 0.0
        if self._is_fused(master):
            from workers.engines.es.noise_cuda import add_weighted_sums

            return float(add_weighted_sums(master, self.noise, directions, self.scales) ** 0.5)
        squares = 0.0
        for name, tensor in master.items():
            delta = self.noise.weighted_sum(list(directions), list(directions.values()), name, tensor)
            if self.scales[name] != 1.0:
                delta.mul_(self.scales[name])
            tensor.add_(delta)
            squares += float(delta.double().square().sum())
        return float(squares**0.5)

    def _is_fused(self, tensors: Mapping[str, Tensor]) -> bool:
        """Return whether kernels that fuse this noise with what uses it can read and write these tensors."""
        return self.noise.has_kernels and all(runs_triton(t.device) and t.is_contiguous() for t in tensors.values())


def scales_of(master: Mapping[str, Tensor], relative: bool) -> dict[str, float]:
    """Return 1 for every tensor, or its root mean square at the start of the run (1 if it starts as all zeros)."""
    if not relative:
        return dict.fromkeys(master, 1.0)
    return {name: float(m.double().square().mean().sqrt()) or 1.0 for name, m in master.items()}


def directions(seeds: Sequence[int], z: Sequence[float | None], alpha: float) -> dict[int, float]:
    """Return seed -> α/N · z as float32 numbers, over the N members that have a z.

    A mirrored member's z counts against its twin's. Empty if every z is 0: a dead iteration changes no bit.
    """
    alive = sum(1 for weight in z if weight is not None)
    summed: dict[int, float] = {}
    for seed, weight in zip(seeds, z, strict=True):
        if weight is not None:
            summed[abs(seed)] = summed.get(abs(seed), 0.0) + (weight if seed > 0 else -weight)
    weights = {seed: round_to_float32(alpha / alive * total) for seed, total in summed.items()}
    return weights if any(weights.values()) else {}
