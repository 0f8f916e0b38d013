"""The weights to evaluate and to save: the model itself, or a copy with adapters added, in the base's dtype."""

from __future__ import annotations

import copy
import dataclasses

import peft
import pytest
import torch

from workers.engines.grpo.centre import Centre
from workers.models import Loaded

# peft uses an argument of transformers that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")


def adapted(loaded: Loaded) -> peft.PeftModel:
    """Return a copy with an adapter whose weights are not zero."""
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "up_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(copy.deepcopy(loaded.model), config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


def test_a_plain_float32_model_is_its_own_centre(micro: Loaded) -> None:
    assert Centre(micro, lora=False).current(micro.model) is micro.model


def test_centre_with_adapter_equals_peft_merge(micro: Loaded) -> None:
    model = adapted(micro)

    centre = Centre(micro, lora=True).current(model)

    merged = copy.deepcopy(model).merge_and_unload().state_dict()
    for name, value in centre.state_dict().items():
        torch.testing.assert_close(value, merged[name], rtol=0, atol=1e-6)
    assert not torch.equal(centre.state_dict()["model.layers.0.self_attn.q_proj.weight"], before(micro))


def before(loaded: Loaded) -> torch.Tensor:
    weight: torch.Tensor = loaded.model.state_dict()["model.layers.0.self_attn.q_proj.weight"]
    return weight


def test_centre_leaves_trained_weights_unchanged(micro: Loaded) -> None:
    model = adapted(micro)
    expected = copy.deepcopy(model.state_dict())

    Centre(micro, lora=True).current(model)

    assert all(torch.equal(expected[name], value) for name, value in model.state_dict().items())


def test_16_bit_base_is_evaluated_in_16_bits(micro: Loaded) -> None:
    half = copy.deepcopy(micro.model).to(torch.bfloat16)
    loaded = dataclasses.replace(micro, model=half, dtype=torch.bfloat16)
    centre = Centre(loaded, lora=False)
    master = copy.deepcopy(micro.model)

    evaluated = centre.current(master)

    assert {p.dtype for p in evaluated.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in master.parameters()} == {torch.float32}
    pairs = zip(evaluated.parameters(), master.parameters(), strict=True)
    assert all(torch.equal(p, q.to(torch.bfloat16)) for p, q in pairs)
