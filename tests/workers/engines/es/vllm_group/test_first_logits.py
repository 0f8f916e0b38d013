"""vLLM's logits are compared with those of transformers before a run trusts them."""

from __future__ import annotations

import math

import pytest
import torch

from workers.config import ConfigError
from workers.engines.es.vllm_group.first_logits import check_first_logits, check_prompts, next_logits
from workers.models import Loaded

BF16 = torch.bfloat16


def scores_of(logits: torch.Tensor, count: int = 20) -> list[dict[int, float]]:
    tops = logits.log_softmax(-1).topk(count)
    return [dict(zip(i.tolist(), v.tolist(), strict=True)) for i, v in zip(tops.indices, tops.values, strict=True)]


def test_equal_logits_pass(micro: Loaded) -> None:
    prompts = check_prompts(micro.model.config.vocab_size, 24)
    logits = next_logits(micro.model, prompts)

    assert max(map(len, prompts)) == 23
    assert logits.shape == (len(prompts), micro.model.config.vocab_size)
    assert check_first_logits(scores_of(logits), logits, torch.float32) < 1e-6


def test_rounding_of_16_bits_passes(micro: Loaded) -> None:
    prompts = check_prompts(micro.model.config.vocab_size, 24)
    logits = next_logits(micro.model, prompts)

    assert 0 < check_first_logits(scores_of(logits.to(BF16).float()), logits, BF16) < 5e-2


@pytest.mark.parametrize("wrong", ["another layer", "not a number"])
def test_other_logits_are_refused(micro: Loaded, wrong: str) -> None:
    prompts = check_prompts(micro.model.config.vocab_size, 24)
    logits = next_logits(micro.model, prompts)
    scores = scores_of(logits.roll(1, dims=-1))
    if wrong == "not a number":
        scores = [dict.fromkeys(of_prompt, math.nan) for of_prompt in scores]

    with pytest.raises(ConfigError, match=r"differ from those of transformers by \S+ of their spread; rounding in bf"):
        check_first_logits(scores, logits, BF16)
