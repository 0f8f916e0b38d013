"""Compares vLLM's logits with those of transformers before a run trusts them, on one small batch.

vLLM sends the likeliest next tokens of each prompt with their log-probabilities. Those of transformers are computed
from the same weights in the machine's memory, in the run's precision. Both round in their own way, and a model has many
layers to do so; a tensor in the wrong place changes everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from workers.config import ConfigError, Problem
from workers.models.logits_check import sample_prompts

TOLERANCES = {torch.float32: 1e-2, torch.float16: 5e-2, torch.bfloat16: 1.5e-1}
"""Root mean square of the differences that is allowed, relative to the spread of the logits over the vocabulary."""


def check_prompts(vocabulary: int, context_tokens: int) -> list[list[int]]:
    """Return the token lists that are compared, each shorter than the context."""
    return [prompt[: context_tokens - 1] for prompt in sample_prompts(vocabulary)]


@torch.no_grad()
def next_logits(model: torch.nn.Module, prompts: Sequence[Sequence[int]]) -> Tensor:
    """Return the logits [prompts, vocabulary] after each prompt, float32."""
    device = next(model.parameters()).device
    rows = [model(input_ids=torch.tensor([list(ids)], device=device), use_cache=False).logits[0, -1] for ids in prompts]
    return torch.stack(rows).float().cpu()


def check_first_logits(scores: Sequence[Mapping[int, float]], logits: Tensor, dtype: torch.dtype) -> float:
    """Return the largest relative difference of a prompt. Raise ConfigError if it is more than rounding.

    scores: for each prompt token id -> log-probability by vLLM. logits: those of transformers [prompts, vocabulary].
    """
    differences = [_difference(of_prompt, row) for of_prompt, row in zip(scores, logits, strict=True)]
    largest, allowed = max(differences), TOLERANCES[dtype]
    # Written so that a NaN does not pass.
    if not largest <= allowed:
        reason = (
            f"is vllm, and its logits differ from those of transformers by {largest:.2g} of their spread; rounding in "
            f"{str(dtype).removeprefix('torch.')} explains {allowed:.2g} at most. Set it to native or transformers"
        )
        raise ConfigError([Problem("es.backend", reason)])
    return largest


def _difference(scores: Mapping[int, float], logits: Tensor) -> float:
    expected = logits.log_softmax(-1)[list(scores)]
    apart = torch.tensor(list(scores.values())) - expected
    return float(apart.square().mean().sqrt() / logits.std())
