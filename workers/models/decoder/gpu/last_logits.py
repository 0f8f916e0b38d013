"""Logits of a model by the steps that answer on a GPU, to be compared with those of transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from workers.models.decoder.gpu.step import MEMBER, POSITION, SLOT, TOKEN, Sizes, Step, rotary_tables
from workers.models.decoder.gpu.weights import JoinedWeights
from workers.models.decoder.shape import shape_of


def last_logits(model: Any) -> Callable[[Sequence[Sequence[int]]], Tensor]:
    """Return a function from token lists to the logits [lists, vocabulary] after each. The model's tensors are joined.

    Each call makes a new step: tokens are read, and the last one of each list is answered.
    """

    def compute(prompts: Sequence[Sequence[int]]) -> Tensor:
        shape, columns = shape_of(model), max(map(len, prompts))
        weights = JoinedWeights(dict(model.named_parameters()), shape)
        like = weights.tensors[shape.embed]
        tables = rotary_tables(shape, model.model.rotary_emb, columns, like)
        read = [(token, at, slot) for slot, ids in enumerate(prompts) for at, token in enumerate(ids[:-1])]
        sizes = Sizes(len(prompts), max(1, len(read)), len(prompts), columns, 1)
        step = Step(shape, weights, None, tables, torch.tensor([-1], device=like.device), sizes)
        if read:
            step.read_state[[TOKEN, POSITION, SLOT]] = _columns(read, like.device)
            step.read(len(read))
        last = [(ids[-1], len(ids) - 1, slot) for slot, ids in enumerate(prompts)]
        step.state[[TOKEN, POSITION, SLOT]] = _columns(last, like.device)
        step.state[MEMBER] = 0
        return step.logits(len(prompts))

    return compute


def _columns(rows: Sequence[tuple[int, ...]], device: torch.device) -> Tensor:
    return torch.tensor(rows, dtype=torch.int32, device=device).t()
