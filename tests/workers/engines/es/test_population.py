"""A batch of members answers as each member would alone, and leaves the model as it was, to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.workers.engines.es.population import SIGMA, TOKENS, digest, population_of, prompts_of, texts
from workers.config import LoraConfig
from workers.engines.es.seeds import member_seeds
from workers.models import Loaded
from workers.models.decoder import Decoder

SEEDS = member_seeds(0, 1, 6, antithetic=False)
KINDS: dict[str, dict[str, Any]] = {
    "full": {"noise": "full"},
    "low_rank": {"noise": "low_rank"},
    "rank 3": {"noise": "low_rank", "rank": 3},
    "correlated": {"noise": "correlated"},
    "layer scale": {"noise": "full", "layer_scale": True, "sigma": 0.2},
    "lora": {"lora": LoraConfig(rank=2, alpha=4.0)},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_batch_answers_equal_those_of_single_members(micro: Loaded, options: dict[str, Any]) -> None:
    population, weights, perturbation = population_of(micro, **options)
    prompts = prompts_of(micro, 4)
    together = texts(population, SEEDS, prompts)
    alone = Decoder(weights.model, micro.tokenizer)
    for seed, answers in zip(SEEDS, together, strict=True):
        weights.write(perturbation.member(seed, weights.master))
        assert answers == [a.text for a in alone.greedy(prompts, TOKENS)]
    assert len({tuple(answers) for answers in together}) > 1, "the members must differ for this to say anything"


@pytest.mark.parametrize("rows", [4, 9, 512])
def test_answers_are_independent_of_batch_size(micro: Loaded, rows: int) -> None:
    prompts = prompts_of(micro, 4)
    cut = texts(population_of(micro, noise="low_rank", rows=rows)[0], SEEDS, prompts)
    assert cut == texts(population_of(micro, noise="low_rank")[0], SEEDS, prompts)


@pytest.mark.parametrize("rows", [1, 512], ids=["one by one", "in batches"])
def test_weights_are_unchanged_after_20_members(micro: Loaded, rows: int) -> None:
    population, weights, _ = population_of(micro, noise="full", rows=rows, population=10)
    prompts = prompts_of(micro, 2)
    before, greedy = digest(weights.model), Decoder(weights.model, micro.tokenizer).greedy(prompts, TOKENS)
    for iteration in range(2):
        list(population.answers(member_seeds(0, iteration, 10, antithetic=False), prompts))
    weights.write(weights.master.__getitem__)
    assert digest(weights.model) == before
    assert Decoder(weights.model, micro.tokenizer).greedy(prompts, TOKENS) == greedy


def test_failed_member_leaves_centre_weights(micro: Loaded) -> None:
    population, weights, _ = population_of(micro, noise="full", rows=1)
    before = digest(weights.model)

    def breaks(*_: object) -> None:
        raise MemoryError

    prompts = prompts_of(micro, 1)
    next(population.answers(SEEDS, prompts))
    population.backend._decoder.greedy = breaks  # type: ignore[method-assign, assignment]
    with pytest.raises(MemoryError):
        population.backend.answer(SEEDS[:1], prompts)
    assert digest(weights.model) == before


def test_update_without_directions_changes_nothing(micro: Loaded) -> None:
    _, weights, perturbation = population_of(micro)
    weights.master["model.norm.weight"][0] = -0.0
    before = {name: tensor.clone() for name, tensor in weights.master.items()}
    assert perturbation.step({}, weights.master) == 0.0
    assert all(torch.equal(before[n].view(torch.int32), m.view(torch.int32)) for n, m in weights.master.items())


def test_a_step_is_the_weighted_sum_of_the_noise(micro: Loaded) -> None:
    _, weights, perturbation = population_of(micro, layer_scale=True)
    name = "model.layers.0.self_attn.q_proj.weight"
    before = weights.master[name].clone()
    noise = perturbation.noise.draw([11, 12], name, before)
    norm = perturbation.step({11: 0.5, 12: -2.0}, weights.master)
    expected = before + perturbation.scales[name] * (0.5 * noise[0] - 2.0 * noise[1])
    assert torch.allclose(weights.master[name], expected, atol=1e-6)
    assert norm > 0


def test_the_working_copy_is_the_master_cast(micro: Loaded) -> None:
    _, weights, perturbation = population_of(micro)
    weights.model.to(torch.bfloat16)
    seed, name = SEEDS[0], "model.layers.0.mlp.up_proj.weight"
    weights.write(perturbation.member(seed, weights.master))
    noise = perturbation.noise.draw([seed], name, weights.master[name])[0]
    expected = (weights.master[name] + SIGMA * noise).to(torch.bfloat16)
    assert torch.equal(dict(weights.model.named_parameters())[name], expected)
