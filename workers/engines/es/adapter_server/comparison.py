"""Comparison of the server with the model of this process, before training, by the likeliest tokens after some prompts.

Two adapters are compared: one that changes nothing, which shows a server with another base model or in another
precision; and one that changes much, which shows a server that ignores adapters or applies them in another way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from workers.engines.es.adapter_server.adapter_queue import AdapterQueue
from workers.engines.es.adapter_server.protocol import TOP_TOKENS, Ids
from workers.engines.es.noise import normals
from workers.engines.es.trainable import Adapter

TOLERANCE = {torch.float32: 0.02}
TOLERANCE_16_BITS = 0.25
"""Mean differences of log-probabilities, in nats, that rounding explains."""
EFFECT = 1.0
"""Mean change of log-probabilities by the second adapter, in nats, if some noise reaches it."""
EFFECT_SHARE = 0.1
"""Share of that change by which the server may differ."""
FIRST_NOISE, DOUBLINGS = 0.02, 12
Tensors = Mapping[str, Tensor]


class ServerDiffers(Exception):
    """The server does not answer as the model of this process. The message completes `the server …`."""


class ServerComparison:
    """Compares the next tokens after some prompts. The model holds the centre again afterwards."""

    def __init__(self, queue: AdapterQueue, trained: Adapter, dtype: torch.dtype, prompts: Ids) -> None:
        self._queue, self._trained, self._prompts, self._dtype = queue, trained, prompts, dtype
        self._tolerance = TOLERANCE.get(dtype, TOLERANCE_16_BITS)

    def run(self) -> float:
        """Return the larger mean difference, in nats. Raise ServerDiffers and AdapterServerFailed."""
        master = self._trained.master
        try:
            unchanged = {name: torch.zeros_like(m) if ".lora_B." in name else m for name, m in master.items()}
            base = self._of_model(unchanged)
            return max(self._compare_base(unchanged, base), self._compare_adapter(base))
        finally:
            self._trained.write(master.__getitem__)

    def _compare_base(self, unchanged: Tensors, base: Sequence[Tensor]) -> float:
        difference = _difference(self._of_server("base", unchanged), base)
        if difference > self._tolerance:
            raise ServerDiffers(
                f"serves another model than model.path, or in another precision than "
                f"{str(self._dtype).removeprefix('torch.')} (model.dtype): log-probabilities of its likeliest tokens "
                f"differ by {difference:.2g} nats on average, and rounding explains {self._tolerance:g}"
            )
        return difference

    def _compare_adapter(self, base: Sequence[Tensor]) -> float:
        changed, ours = self._changed_adapter(base)
        served = self._of_server("test", changed)
        difference = _difference(served, ours)
        effect = _difference(_likeliest(ours), base)
        allowed = max(self._tolerance, EFFECT_SHARE * effect)
        if difference <= allowed:
            return difference
        if _difference(served, base) <= allowed:
            raise ServerDiffers(
                f"ignores adapters: it answers as the base model with one that changes log-probabilities by "
                f"{effect:.2g} nats on average. Check es.adapter_server.kind and the server's options"
            )
        raise ServerDiffers(
            f"applies adapters in another way: with one that changes log-probabilities by {effect:.2g} nats on "
            f"average, its own differ by {difference:.2g}. It must apply alpha, r and layers_to_transform as PEFT does"
        )

    def _changed_adapter(self, base: Sequence[Tensor]) -> tuple[Tensors, list[Tensor]]:
        """Return the centre with noise that changes the log-probabilities by about EFFECT, and what the model gives
        with it."""
        noise = {n: normals([1], f"{n}#test", m.numel(), m.device).view_as(m) for n, m in self._trained.master.items()}
        for doublings in range(DOUBLINGS):
            scale = FIRST_NOISE * 2**doublings
            changed = {name: m + scale * noise[name] for name, m in self._trained.master.items()}
            ours = self._of_model(changed)
            if _difference(_likeliest(ours), base) >= EFFECT:
                break
        return changed, ours

    def _of_server(self, label: str, tensors: Tensors) -> list[dict[int, float]]:
        cast = {name: tensor.to(self._dtype) for name, tensor in tensors.items()}
        return self._queue.answer(
            label,
            lambda folder: self._trained.save_adapter(folder, cast),
            lambda name: self._queue.server.likeliest(name, self._prompts),
        )

    def _of_model(self, tensors: Tensors) -> list[Tensor]:
        """Return the log-probabilities [vocabulary] of the next token after each prompt, float32 on the CPU."""
        self._trained.write(tensors.__getitem__)
        model: Any = self._trained.model
        return [_next_log_probabilities(model, ids) for ids in self._prompts]


@torch.no_grad()
def _next_log_probabilities(model: Any, ids: Sequence[int]) -> Tensor:
    inputs = torch.tensor([list(ids)], device=model.device)
    logits: Tensor = model(input_ids=inputs, use_cache=False, logits_to_keep=1).logits[0, -1]
    return logits.float().log_softmax(0).cpu()


def _likeliest(of_prompts: Sequence[Tensor]) -> list[dict[int, float]]:
    tops = [logarithms.topk(TOP_TOKENS) for logarithms in of_prompts]
    return [dict(zip(top.indices.tolist(), top.values.tolist(), strict=True)) for top in tops]


def _difference(likeliest: Sequence[Mapping[int, float]], ours: Sequence[Tensor]) -> float:
    """Return the mean difference, in nats, at the tokens of `likeliest`; infinite if one is not in our vocabulary."""
    return fmean(
        abs(value - float(logarithms[token])) if 0 <= token < len(logarithms) else math.inf
        for of_prompt, logarithms in zip(likeliest, ours, strict=True)
        for token, value in of_prompt.items()
    )
