"""Answers by transformers' own `generate`, for architectures that the project's decoder does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig


@torch.no_grad()
def generate(
    model: Any,
    prompts: Sequence[Sequence[int]],
    max_new: int,
    ends: Tensor,
    rows: int,
    temperature: float | None = None,
    seed: int = 0,
) -> list[list[int]]:
    """Return token lists, each through its first end token; greedy without a temperature, else sampled with `seed`.

    The samples of one response depend on the others in its batch, as always with `generate`. Global random state is
    unchanged.
    """
    config = _pure(max_new, ends, temperature)
    answers: list[list[int]] = []
    with torch.random.fork_rng([model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(seed)
        for start in range(0, len(prompts), rows):
            answers.extend(_batch(model, prompts[start : start + rows], config, set(ends.tolist())))
    return answers


def _pure(max_new: int, ends: Tensor, temperature: float | None) -> GenerationConfig:
    """Return a config that sets every setting which a model's own generation config could set, as unset ones come from
    there."""
    sampling = {} if temperature is None else {"temperature": temperature, "top_k": 0, "top_p": 1.0}
    return GenerationConfig(
        max_new_tokens=max_new,
        do_sample=temperature is not None,
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        eos_token_id=ends.tolist(),
        pad_token_id=int(ends[0]),
        **sampling,
    )


def _batch(model: Any, prompts: Sequence[Sequence[int]], config: GenerationConfig, ends: set[int]) -> list[list[int]]:
    width = max(len(p) for p in prompts)
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    out = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)
    return [_through_end(row, ends) for row in out[:, width:].tolist()]


def _through_end(tokens: list[int], ends: set[int]) -> list[int]:
    length = next((i + 1 for i, token in enumerate(tokens) if token in ends), len(tokens))
    return tokens[:length]
