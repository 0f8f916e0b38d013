"""Writes responses token by token, for all prompts of all members together, until each has ended or is too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from workers.models.decoder.forward import Forward, Prompts, Rotary
from workers.models.decoder.rows import Even, Rows
from workers.models.decoder.shape import Shape
from workers.models.decoder.weights import Weights

# Prompts are read in pieces, so that a piece's activations stay in the cache of a CPU.
READ_TOKENS = {"cpu": 2048, "cuda": 8192}
# Ended responses are looked for after this many tokens: each check waits for the GPU.
ASK_EVERY = {"cpu": 1, "cuda": 8}
# One in so many rows must have ended before the others close up.
WORTH_DROPPING = 8

Measure = Callable[[str], AbstractContextManager[Any]]
"""Measures a block by the name of its phase: `with measure("decode"): …`. Decoders call it with prefill and decode."""
Choose = Callable[[Tensor, Tensor, int], Tensor]
"""(logits [R, vocabulary], place of each answer among all [R], the token's number in it) -> tokens [R]."""


def unmeasured(phase: str) -> AbstractContextManager[None]:
    """Measure nothing."""
    return nullcontext()


def greedy(logits: Tensor, places: Tensor, number: int) -> Tensor:
    """Return the likeliest token; of equals the first."""
    if logits.device.type == "cpu" and logits.dtype == torch.float32:
        # numpy's is ten times as fast.
        return torch.from_numpy(logits.numpy().argmax(-1))
    return logits.argmax(dim=-1)


def draws(count: int, max_new_tokens: int, seed: int, device: torch.device) -> Tensor:
    """Return uniform numbers [responses, tokens], from the seed and the response's position alone, on any device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, max_new_tokens, generator=generator).to(device)


def draw_tokens(logits: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Return the token of softmax(logits / temperature) [R, vocabulary] that each number of `uniform` [R] falls on."""
    cumulative = (logits.float() / temperature).softmax(dim=-1).cumsum(dim=-1)
    point = uniform.unsqueeze(-1) * cumulative[..., -1:]
    return torch.searchsorted(cumulative, point, right=True).squeeze(-1).clamp_(max=logits.shape[-1] - 1)


def sampler(count: int, max_new_tokens: int, temperature: float, seed: int, device: torch.device) -> Choose:
    """Return a sampler from softmax(logits / temperature). A response's samples depend on the seed and its position
    alone."""
    uniform = draws(count, max_new_tokens, seed, device)

    def choose(logits: Tensor, places: Tensor, number: int) -> Tensor:
        return draw_tokens(logits, uniform[places, number], temperature)

    return choose


@torch.inference_mode()
def decode(
    weights: Weights,
    shape: Shape,
    rotary: Any,
    prompts: Sequence[Sequence[int]],
    max_new: int,
    ends: Tensor,
    choose: Choose,
    measure: Measure = unmeasured,
) -> list[list[list[int]]]:
    """Return responses [member][prompt] as token lists, each through its first end token or `max_new` long.

    `prompts` are token lists, the same for all members; `rotary` is the model's rotary module, `ends` [E] end tokens.
    `measure` is called once with prefill and once with decode.
    """
    with measure("prefill"):
        batch = _Batch(weights, shape, rotary, prompts, max_new, ends)
        batch.read()
    with measure("decode"):
        batch.write(choose)
        return batch.answers()


class _Batch:
    def __init__(
        self, weights: Weights, shape: Shape, rotary: Any, prompts: Sequence[Sequence[int]], max_new: int, ends: Tensor
    ) -> None:
        self._order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        self._prompts = [prompts[i] for i in self._order]
        self._width = len(self._prompts[-1])
        self._begin = _common_beginning(self._prompts)
        self._max_new, self._ends, self._device = max_new, ends, ends.device
        self._members = weights.members
        probe = weights.embed(ends[:1].repeat(self._members), Even(self._members))
        kinds = {layer.rotary for layer in shape.layers}
        table = Rotary(rotary, kinds, self._width + max_new, probe.dtype, self._device)
        self._forward = Forward(shape, weights, table)
        self._rows = self._new_rows(shape, probe)
        self._answers = torch.zeros(self._members * len(prompts), max_new, dtype=torch.long, device=self._device)

    def _new_rows(self, shape: Shape, like: Tensor) -> Rows:
        rows = Rows(self._members, len(self._prompts), self._device)
        count, columns = len(rows["member"]), self._width + self._max_new
        rows["place"] = rows["member"] * len(self._prompts) + self._of_prompts(self._order)
        rows["length"] = self._of_prompts([len(p) for p in self._prompts])
        rows["ended"] = torch.zeros(count, dtype=torch.bool, device=self._device)
        rows["token"] = self._of_prompts([p[-1] for p in self._prompts])
        for name in (f"{kind}{layer}" for kind in "kv" for layer in range(len(shape.layers))):
            rows.caches[name] = like.new_empty(columns, count, shape.kv_heads, shape.head_dim)
        if len(self._prompts[0]) < self._width:
            padding = torch.arange(columns, device=self._device) < (self._width - rows["length"]).unsqueeze(1)
            rows["mask"] = like.new_zeros(padding.shape).masked_fill_(padding, -torch.inf).unsqueeze(1)
        return rows

    def _of_prompts(self, numbers: list[int]) -> Tensor:
        """Repeat one number per prompt as one per row."""
        return torch.tensor(numbers, device=self._device).repeat(self._members)

    def read(self) -> None:
        """Read the prompts, each but for its last token."""
        if self._begin:
            self._forward.read_beginning(self._prompts[0][: self._begin], self._device)
        start = sum(len(prompt) == 1 for prompt in self._prompts)
        for cache in self._rows.caches if start else ():
            # There is nothing to read, and the mask would not hide a NaN.
            self._rows.of_members(cache, self._members, self._width - 1)[:, :, :start] = 0
        while start < len(self._prompts):
            piece = self._piece(start)
            packed = Prompts.pack([p[self._begin : -1] for p in piece], start, self._device, self._begin)
            self._forward.read(packed, self._rows, self._width - 1)
            start += len(piece)

    def _piece(self, start: int) -> list[Sequence[int]]:
        room = READ_TOKENS[self._device.type] // self._members
        piece = [self._prompts[start]]
        for prompt in self._prompts[start + 1 :]:
            room -= len(prompt) - self._begin
            if room < len(prompt) - self._begin:
                break
            piece.append(prompt)
        return piece

    def write(self, choose: Choose) -> None:
        """Write the responses."""
        rows = self._rows
        for number in range(self._max_new):
            if number and number % ASK_EVERY[self._device.type] == 0:
                ended = int(rows["ended"].sum())
                if ended == len(rows["ended"]):
                    return
                if ended * WORTH_DROPPING >= len(rows["ended"]):
                    rows.drop(rows["ended"], self._width + number - 1)
            # The first answer token follows the prompt's last, the next that one, and so on.
            logits = self._forward.write(rows["token"], rows["length"] + (number - 1), rows, self._width + number - 1)
            self._take(choose(logits, rows["place"], number), number)

    def _take(self, tokens: Tensor, number: int) -> None:
        self._rows["token"].copy_(tokens)
        self._answers[self._rows["place"], number] = tokens
        self._rows["ended"] |= torch.isin(tokens, self._ends)

    def answers(self) -> list[list[list[int]]]:
        """Cut each response after its first end token."""
        ended = torch.isin(self._answers, self._ends)
        lengths = torch.where(ended.any(1), ended.int().argmax(1) + 1, self._max_new).tolist()
        cut = [row[:n] for row, n in zip(self._answers.tolist(), lengths, strict=True)]
        prompts = len(self._prompts)
        return [cut[m * prompts : (m + 1) * prompts] for m in range(self._members)]


def _common_beginning(prompts: Sequence[Sequence[int]]) -> int:
    """Return the tokens that all prompts begin with, leaving each two of its own; 0 if there is one prompt alone."""
    if len(prompts) == 1:
        return 0
    most = max(0, min(len(p) for p in prompts) - 2)
    return next((i for i in range(most) if len({p[i] for p in prompts}) > 1), most)
