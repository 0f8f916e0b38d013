"""Writes answers token by token, for all prompts of all members at once, until each has ended or is too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from workers.models.decoder.forward import Forward, Prompts, Rotary
from workers.models.decoder.rows import Rows
from workers.models.decoder.shape import Shape
from workers.models.decoder.weights import Weights

# Prompts are read in pieces, so that a piece's activations stay in the cache of a CPU.
READ_TOKENS = {"cpu": 2048, "cuda": 65536}
# Whether answers have ended is asked after this many tokens: a GPU has to be waited for at each question.
ASK_EVERY = {"cpu": 1, "cuda": 8}

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""(logits [K, M, vocabulary], place p·M + m of each answer [K, M], the token's number in it) -> tokens [K, M]."""


def greedy(logits: Tensor, places: Tensor, number: int) -> Tensor:
    """The likeliest token."""
    return logits.argmax(dim=-1)


def sampler(count: int, max_new_tokens: int, temperature: float, seed: int, device: torch.device) -> Choose:
    """Draws from softmax(logits / temperature). An answer's draws depend on the seed and its place, on nothing else."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(count, max_new_tokens, generator=generator).to(device)

    def choose(logits: Tensor, places: Tensor, number: int) -> Tensor:
        cumulative = (logits.float() / temperature).softmax(dim=-1).cumsum(dim=-1)
        draw = uniform[places, number].unsqueeze(-1) * cumulative[..., -1:]
        return torch.searchsorted(cumulative, draw, right=True).squeeze(-1).clamp_(max=logits.shape[-1] - 1)

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
) -> list[list[list[int]]]:
    """Answers [member][prompt] as token lists, each through its first end token or `max_new` long.

    `prompts` are token lists, the same for all members; `rotary` is the model's rotary module, `ends` [E] end tokens.
    """
    batch = _Batch(weights, shape, rotary, prompts, max_new, ends)
    batch.read(choose)
    batch.write(choose)
    return batch.answers()


class _Batch:
    def __init__(
        self, weights: Weights, shape: Shape, rotary: Any, prompts: Sequence[Sequence[int]], max_new: int, ends: Tensor
    ) -> None:
        self._order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        self._prompts = [prompts[i] for i in self._order]
        self._width = len(self._prompts[-1])
        self._max_new, self._ends, self._device = max_new, ends, ends.device
        probe = weights.embed(ends[:1].expand(1, weights.members))
        table = Rotary(rotary, self._width + max_new, probe.dtype, self._device)
        self._forward = Forward(shape, weights, table)
        self._members = weights.members
        self._rows = self._new_rows(shape, probe)
        self._answers = torch.zeros(len(prompts) * self._members, max_new, dtype=torch.long, device=self._device)

    def _new_rows(self, shape: Shape, like: Tensor) -> Rows:
        count, columns = len(self._prompts), self._width + self._max_new
        caches = (f"{kind}{layer}" for kind in "kv" for layer in range(len(shape.layers)))
        rows = Rows(
            {name: like.new_zeros(count, self._members, shape.kv_heads, columns, shape.head_dim) for name in caches}
        )
        first = torch.tensor(self._order, device=self._device).unsqueeze(1) * self._members
        places = first + torch.arange(self._members, device=self._device)
        lengths = torch.tensor([len(p) for p in self._prompts], device=self._device)
        rows["place"] = places
        rows["length"] = lengths.unsqueeze(1).repeat(1, self._members)
        rows["ended"] = torch.zeros_like(places, dtype=torch.bool)
        if len(self._prompts[0]) < self._width:
            padding = torch.arange(columns, device=self._device) < (self._width - rows["length"]).unsqueeze(-1)
            rows["mask"] = like.new_zeros(padding.shape).masked_fill_(padding, -torch.inf)[:, :, None, None]
        return rows

    def read(self, choose: Choose) -> None:
        """Reads the prompts and chooses each answer's first token."""
        logits, start = [], 0
        while start < len(self._prompts):
            piece = self._piece(start)
            packed = Prompts.pack(piece, start, self._device)
            logits.append(self._forward.read(packed, self._rows, self._width))
            start += len(piece)
        self._rows["token"] = torch.empty_like(self._rows["place"])
        self._take(choose(torch.cat(logits), self._rows["place"], 0), 0)

    def _piece(self, start: int) -> list[Sequence[int]]:
        room = READ_TOKENS[self._device.type] // self._members
        piece = [self._prompts[start]]
        for prompt in self._prompts[start + 1 :]:
            room -= len(prompt)
            if room < len(prompt):
                break
            piece.append(prompt)
        return piece

    def write(self, choose: Choose) -> None:
        """Writes the rest of the answers."""
        rows = self._rows
        for number in range(1, self._max_new):
            if number % ASK_EVERY[self._device.type] == 0:
                if bool(rows["ended"].all()):
                    return
                rows.drop(rows["ended"])
            logits = self._forward.write(rows["token"], rows["length"] + (number - 1), rows, self._width + number - 1)
            self._take(choose(logits, rows["place"], number), number)

    def _take(self, tokens: Tensor, number: int) -> None:
        self._rows["token"].copy_(tokens)
        self._answers[self._rows["place"], number] = tokens
        self._rows["ended"] |= torch.isin(tokens, self._ends)

    def answers(self) -> list[list[list[int]]]:
        """Cuts each answer after its first end token."""
        ended = torch.isin(self._answers, self._ends)
        lengths = torch.where(ended.any(1), ended.int().argmax(1) + 1, self._max_new).tolist()
        cut = [row[:n] for row, n in zip(self._answers.tolist(), lengths, strict=True)]
        return [cut[m :: self._members] for m in range(self._members)]
