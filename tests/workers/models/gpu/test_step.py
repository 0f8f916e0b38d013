"""A captured step computes what transformers computes, for every architecture that the decoder knows."""

from __future__ import annotations

import copy

import pytest
import torch

from tests.cases import each_case
from tests.triton_interpreter import HAS_GPU
from tests.workers.models.shapes import ARCHITECTURES, Make
from workers.models import Loaded
from workers.models.decoder import Decoder
from workers.models.decoder.gpu import JoinedWeights, last_logits
from workers.models.decoder.shape import shape_of
from workers.models.logits_check import LogitsDiffer, check_logits, truncate

PROMPTS = [[5, 300, 41, 17, 80, 9, 450], [5, 300, 7], [33]]
"""Token ids: one prompt is longer than the windows, and one has nothing to read."""
EACH = each_case("make", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())


@EACH
def test_logits_equal_those_of_the_decoder_on_a_cpu(micro: Loaded, make: Make, kernel_device: torch.device) -> None:
    model = make(micro.tokenizer)
    expected = Decoder(model, micro.tokenizer).last_logits(PROMPTS)
    with torch.no_grad():
        computed = last_logits(model.to(kernel_device))(PROMPTS).cpu()
    assert float((computed - expected).abs().max()) < 2e-5
    assert float(expected.std()) > 0.1


@pytest.mark.skipif(not HAS_GPU, reason="this machine has no GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_logits_on_a_gpu_equal_those_of_transformers(
    micro: Loaded, dtype: torch.dtype, kernel_device: torch.device
) -> None:
    for name, make in ARCHITECTURES.items():
        small = truncate(make(micro.tokenizer).to(kernel_device, dtype))
        with torch.no_grad():
            difference = check_logits(last_logits(small), small)
        print(f"{name}, {dtype}: largest difference {difference.largest:.2g}, {difference.relative:.2g} of the spread")


def test_a_step_with_a_wrong_norm_is_refused(micro: Loaded, kernel_device: torch.device) -> None:
    model = ARCHITECTURES["tied qwen2"](micro.tokenizer).to(kernel_device)
    small, other = truncate(model), truncate(copy.deepcopy(model))
    with torch.no_grad(), pytest.raises(LogitsDiffer, match="differ from those of transformers by up to"):
        other.get_parameter("model.layers.1.input_layernorm.weight").mul_(1.5)
        check_logits(lambda prompts: last_logits(other)([list(ids)[:9] for ids in prompts]), small)


def test_joined_parameters_share_memory_with_steps(micro: Loaded) -> None:
    model = ARCHITECTURES["llama with biases"](micro.tokenizer)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    weights = JoinedWeights(dict(model.named_parameters()), shape_of(model))
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
    layer = shape_of(model).layers[1]
    with torch.no_grad():
        for name in (layer.qkv.weights[1], layer.qkv.biases[2], layer.out.biases[0]):
            model.get_parameter(name).fill_(7.0)
    queries, keys = (len(before[name]) for name in layer.qkv.weights[:2])
    assert torch.equal(weights.matrices[layer.qkv][0, queries : queries + keys].unique(), torch.tensor([7.0]))
    assert torch.equal(weights.biases[layer.qkv][0, queries + keys :].unique(), torch.tensor([7.0]))
    assert torch.equal(weights.biases[layer.out].unique(), torch.tensor([7.0]))


def test_copies_of_weights_are_written_apart_and_hold_zeros_for_missing_biases(micro: Loaded) -> None:
    model = ARCHITECTURES["llama with biases"](micro.tokenizer)
    layer = shape_of(model).layers[0]
    parameters = dict(model.named_parameters())
    missing = layer.qkv.biases[1]
    del parameters[missing]
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    weights = JoinedWeights(parameters, shape_of(model), copies=3)
    assert missing not in weights.of_copy(1) and parameters.keys() == weights.of_copy(1).keys()
    with torch.no_grad():
        for name, tensor in weights.of_copy(1).items():
            tensor.copy_(before[name] + 1)
        weights.repeat_first(2)
    for name, first in before.items():
        assert all(map(torch.equal, weights.tensors[name], (first, first + 1, first))), name
        assert torch.equal(parameters[name], first)
    queries, keys = (len(before[name]) for name in layer.qkv.weights[:2])
    assert torch.equal(weights.matrices[layer.qkv][1, :queries], before[layer.qkv.weights[0]] + 1)
    assert not weights.biases[layer.qkv][:, queries : queries + keys].any()
