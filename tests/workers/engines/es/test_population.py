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
def test_a_batch_answers_as_the_members_written_out(micro: Loaded, options: dict[str, Any]) -> None:
    population, what, perturbation = population_of(micro, **options)
    prompts = prompts_of(micro, 4)
    together = texts(population, SEEDS, prompts)
    alone = Decoder(what.model, micro.tokenizer)
    for seed, answers in zip(SEEDS, together, strict=True):
        what.write(perturbation.member(seed, what.master))
        assert answers == [a.text for a in alone.greedy(prompts, TOKENS)]
    assert len({tuple(answers) for answers in together}) > 1, "the members must differ for this to say anything"


@pytest.mark.parametrize("rows", [4, 9, 512])
def test_it_does_not_matter_how_the_population_is_cut(micro: Loaded, rows: int) -> None:
    prompts = prompts_of(micro, 4)
    cut = texts(population_of(micro, noise="low_rank", rows=rows)[0], SEEDS, prompts)
    assert cut == texts(population_of(micro, noise="low_rank")[0], SEEDS, prompts)


@pytest.mark.parametrize("rows", [1, 512], ids=["one by one", "in batches"])
def test_after_20_members_every_bit_is_where_it_was(micro: Loaded, rows: int) -> None:
    population, what, _ = population_of(micro, noise="full", rows=rows, population=10)
    prompts = prompts_of(micro, 2)
    before, greedy = digest(what.model), Decoder(what.model, micro.tokenizer).greedy(prompts, TOKENS)
    for iteration in range(2):
        list(population.answers(member_seeds(0, iteration, 10, antithetic=False), prompts))
    what.write(what.master.__getitem__)
    assert digest(what.model) == before
    assert Decoder(what.model, micro.tokenizer).greedy(prompts, TOKENS) == greedy


def test_a_member_that_breaks_down_leaves_the_centre_in_the_model(micro: Loaded) -> None:
    population, what, _ = population_of(micro, noise="full", rows=1)
    before = digest(what.model)

    def breaks(*_: object) -> None:
        raise MemoryError

    prompts = prompts_of(micro, 1)
    next(population.answers(SEEDS, prompts))
    population.backend._decoder.greedy = breaks  # type: ignore[method-assign, assignment]
    with pytest.raises(MemoryError):
        population.backend.answer(SEEDS[:1], prompts)
    assert digest(what.model) == before


def test_no_direction_moves_no_bit(micro: Loaded) -> None:
    _, what, perturbation = population_of(micro)
    what.master["model.norm.weight"][0] = -0.0
    before = {name: tensor.clone() for name, tensor in what.master.items()}
    assert perturbation.step({}, what.master) == 0.0
    assert all(torch.equal(before[n].view(torch.int32), m.view(torch.int32)) for n, m in what.master.items())


def test_a_step_is_the_weighted_sum_of_the_noise(micro: Loaded) -> None:
    _, what, perturbation = population_of(micro, layer_scale=True)
    name = "model.layers.0.self_attn.q_proj.weight"
    before = what.master[name].clone()
    noise = perturbation.noise.of([11, 12], name, before)
    norm = perturbation.step({11: 0.5, 12: -2.0}, what.master)
    wanted = before + perturbation.scales[name] * (0.5 * noise[0] - 2.0 * noise[1])
    assert torch.allclose(what.master[name], wanted, atol=1e-6)
    assert norm > 0


def test_the_working_copy_is_the_master_cast(micro: Loaded) -> None:
    _, what, perturbation = population_of(micro)
    what.model.to(torch.bfloat16)
    seed, name = SEEDS[0], "model.layers.0.mlp.up_proj.weight"
    what.write(perturbation.member(seed, what.master))
    noise = perturbation.noise.of([seed], name, what.master[name])[0]
    expected = (what.master[name] + SIGMA * noise).to(torch.bfloat16)
    assert torch.equal(dict(what.model.named_parameters())[name], expected)
