"""The weights to evaluate and to save: the model itself, or a copy with adapters added, in the base's dtype."""

from __future__ import annotations

import copy
import dataclasses

import peft
import pytest
import torch

from workers import tasks
from workers.config import EvaluationConfig
from workers.config.tasks import TaskConfig
from workers.engines.grpo.centre import Centre
from workers.engines.grpo.process_group import ProcessGroup
from workers.evaluation import Evaluator
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


def centre_of(loaded: Loaded, *, needs_copy: bool, stays: bool = False) -> Centre:
    """Return the centre of a training of this model."""
    evaluator = Evaluator(loaded, tasks.make(TaskConfig()), EvaluationConfig(prompts=2), 8)
    return Centre(loaded, evaluator, ProcessGroup(), needs_copy=needs_copy, stays=stays)


def test_a_plain_float32_model_is_its_own_centre(micro: Loaded) -> None:
    with centre_of(micro, needs_copy=False).evaluated(micro.model) as model:
        assert model is micro.model


def test_centre_with_adapter_equals_peft_merge(micro: Loaded) -> None:
    model = adapted(micro)

    with centre_of(micro, needs_copy=True).evaluated(model) as centre:
        assert centre is not None
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

    with centre_of(micro, needs_copy=True).evaluated(model):
        pass

    assert all(torch.equal(expected[name], value) for name, value in model.state_dict().items())


def test_16_bit_base_is_evaluated_in_16_bits(micro: Loaded) -> None:
    half = copy.deepcopy(micro.model).to(torch.bfloat16)
    loaded = dataclasses.replace(micro, model=half, dtype=torch.bfloat16)
    master = copy.deepcopy(micro.model)

    with centre_of(loaded, needs_copy=True).evaluated(master) as evaluated:
        assert evaluated is not None
        assert {p.dtype for p in evaluated.parameters()} == {torch.bfloat16}
        assert {p.dtype for p in master.parameters()} == {torch.float32}
        pairs = zip(evaluated.parameters(), master.parameters(), strict=True)
        assert all(torch.equal(p, q.to(torch.bfloat16)) for p, q in pairs)


def test_copy_and_decoder_that_stay_follow_the_training(micro: Loaded) -> None:
    trained, copies = copy.deepcopy(micro.model), []
    for stays in (False, True):
        centre = centre_of(micro, needs_copy=True, stays=stays)
        for shift in (0.0, 0.5):
            with torch.no_grad():
                trained.get_parameter("model.norm.weight").add_(shift)
            with centre.evaluated(trained) as model:
                assert model is not None
                copies.append((model, centre.decoder(model)))
                assert all(map(torch.equal, model.parameters(), trained.parameters()))
                assert centre.decoder(model) is copies[-1][1] and copies[-1][1].model is model
    (first, own), (second, other), third, fourth = copies
    assert first is not second and own is not other and third == fourth
    assert centre_of(micro, needs_copy=True).decoder(None) is None
