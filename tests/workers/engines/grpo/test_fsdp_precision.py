"""A model that FSDP has split computes in bfloat16, and returns log probabilities as they were computed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from trl.trainer.utils import add_fused_lm_head

from workers.engines.grpo.distribution import exact_policy
from workers.models import Loaded

# As accelerate makes it for bf16.
OF_ACCELERATE = MixedPrecisionPolicy(
    param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, output_dtype=torch.bfloat16
)
TOKENS = torch.arange(60).view(4, 15)


@pytest.fixture(autouse=True)
def one_process(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def split(micro: Loaded, policy: MixedPrecisionPolicy) -> nn.Module:
    """Return a float32 copy of the model that is split layer by layer, as accelerate does it."""
    model: Any = copy.deepcopy(micro.model).float()
    add_fused_lm_head(model)
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    split_model: nn.Module = model
    return split_model


def log_probs(model: nn.Module) -> Tensor:
    """Return the log probabilities of the tokens, as TRL's loss computes them."""
    values: Tensor = model(input_ids=TOKENS, labels=TOKENS, fused_lm_head=True).log_probs
    return values.detach()


def test_log_probabilities_are_those_of_a_whole_model_in_bfloat16(micro: Loaded) -> None:
    whole = copy.deepcopy(micro.model)
    for parameter in whole.parameters():  # Not its buffers: the frequencies of the positions stay in float32.
        parameter.data = parameter.data.bfloat16()
    add_fused_lm_head(whole)
    expected = log_probs(whole)
    assert expected.dtype == torch.float32
    of_split = log_probs(split(micro, exact_policy(OF_ACCELERATE)))
    assert of_split.dtype == torch.float32
    torch.testing.assert_close(of_split, expected, rtol=0, atol=0)


def test_policy_of_accelerate_would_round_them(micro: Loaded) -> None:
    exact, rounded = (log_probs(split(micro, policy)) for policy in (exact_policy(OF_ACCELERATE), OF_ACCELERATE))
    assert rounded.dtype == torch.bfloat16
    assert (rounded.float() - exact).abs().max() > 0.005
