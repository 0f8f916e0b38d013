"""Perturbation of the micro model: paired noise, weights restored to the bit, and pass@k at one budget."""

from __future__ import annotations

from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from tests.workers.engines.es.runs import Conciseness
from tests.workers.probes.behaviour.checkpoints import (
    PROMPTS,
    changed,
    config_of,
    never_stops,
    prompted,
    subject_of,
    weights,
    with_noise,
)
from workers.engines.es.noise import normals
from workers.engines.es.seeds import member_seeds
from workers.engines.stop import Interrupted, Stop
from workers.evaluation import Answer
from workers.models import Loaded
from workers.probes.behaviour import PromptedModel, perturbation
from workers.probes.behaviour.prompted_model import rewards
from workers.probes.behaviour.seeds import direction_seeds
from workers.records import Probe, ProbeValue
from workers.tasks import Example, Score, Task

SEED = 7


def perturbed(model: PromptedModel, folder: Path, **changes: Any) -> dict[str, Probe]:
    """Return measure -> record."""
    settings = {"sigmas": [0.05], "groups": ["all"], "draws": 2, "temperatures": [1.0], "seed": SEED} | changes
    probes = list(perturbation(model, subject_of(folder), check=never_stops, **settings))
    return {probe.measure: probe for probe in probes}


def values_of(probe: Probe, tensor: str, x: float | None = None) -> list[ProbeValue]:
    return [value for value in probe.values if value.tensor == tensor and x in (None, value.x)]


class OddLength(Conciseness):
    """A task whose correct responses have an odd number of characters, which the micro model gets right at times."""

    def score(self, example: Example, completion: str) -> Score:
        return Score(float(len(completion)), {"contains": float(len(completion) % 2)})


def by_hand(
    micro: Loaded, folder: Path, into: Path, sigma: float, seed: int, part: str, task: Task | None = None
) -> list[Answer]:
    """Return the greedy answers of θ + σε, with noise in the tensors whose name has this part."""
    own = weights(folder)

    def add(name: str, _: torch.Tensor) -> torch.Tensor:
        noise = normals([seed], name, own[name].numel(), torch.device("cpu"))[0].reshape(own[name].shape)
        return own[name] + sigma * noise if part in name else own[name]

    return prompted(changed(micro, into, add), task=task).greedy()


@pytest.mark.parametrize(("group", "part"), [("all", ""), ("mlp", ".mlp."), ("head", "embed_tokens")])
def test_a_change_is_that_of_weights_perturbed_by_hand(micro: Loaded, tmp_path: Path, group: str, part: str) -> None:
    folder = with_noise(micro, tmp_path / "a", 0.02)
    plain = rewards(prompted(folder).greedy())
    seeds = direction_seeds(SEED, "perturbation", 2)
    answers = [by_hand(micro, folder, tmp_path / f"p{i}", 0.05, seed, part) for i, seed in enumerate(seeds)]
    expected = [float((rewards(of_draw) - plain).mean()) for of_draw in answers]

    measured = perturbed(prompted(folder), folder, groups=[group])

    values = values_of(measured["change_by_draw"], group)
    assert [v.value for v in values] == expected
    assert [(v.draw, v.x, v.n) for v in values] == [(0, 0.05, PROMPTS), (1, 0.05, PROMPTS)]
    (mean,) = measured["change"].values
    assert (mean.value, mean.n, mean.null, mean.tensor) == (pytest.approx(fmean(expected)), 2, 0, group)
    assert any(expected), "the noise changes no reward, so that this test compares zeros"
    assert ("pass_at_k" in measured) == (group == "all")


def test_the_noise_of_a_draw_is_the_same_for_every_sigma_and_group(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "a", 0.02)
    model = prompted(folder)

    together = perturbed(model, folder, sigmas=[0.03, 0.05], groups=["mlp", "attention"])["change_by_draw"]

    for sigma in (0.03, 0.05):
        for group in ("mlp", "attention"):
            alone = perturbed(model, folder, sigmas=[sigma], groups=[group])["change_by_draw"]
            assert values_of(together, group, sigma) == list(alone.values)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_weights_are_bit_equal_afterwards(micro: Loaded, tmp_path: Path, dtype: str) -> None:
    folder = with_noise(micro, tmp_path / "a", 0.02, dtype=torch.bfloat16 if dtype == "bfloat16" else None)
    model = prompted(folder, config_of(dtype=dtype))
    before = {name: p.detach().clone() for name, p in model.parameters.items()}
    stored = (folder / "model.safetensors").read_bytes()

    perturbed(model, folder, sigmas=[0.001, 0.3], groups=["all", "norm"])

    assert {p.dtype for p in model.parameters.values()} == {torch.float32 if dtype == "float32" else torch.bfloat16}
    assert all(torch.equal(p, before[name]) for name, p in model.parameters.items())
    assert (folder / "model.safetensors").read_bytes() == stored


def test_noise_far_below_the_precision_changes_nothing(micro: Loaded, tmp_path: Path) -> None:
    measured = perturbed(prompted(micro.path), micro.path, sigmas=[1e-12], groups=["all"], temperatures=[])

    (value,) = measured["change"].values
    assert (value.value, value.low, value.high, value.null_low, value.null_high) == (0, 0, 0, 0, 0)
    # All draws answer alike, so that pass@k does not depend on k.
    assert len({v.value for v in measured["pass_at_k"].values}) == 1


def test_a_group_that_the_model_lacks_is_left_out(micro: Loaded) -> None:
    measured = perturbed(prompted(micro.path), micro.path, groups=["embedding", "norm"])

    assert {v.tensor for v in measured["change"].values} == {"norm"}
    assert not perturbed(prompted(micro.path), micro.path, groups=["embedding"])


def test_pass_at_k_of_both_arms_at_one_budget(micro: Loaded, tmp_path: Path) -> None:
    """pass@k is 1 − C(n − c, k) / C(n, k) of the correct answers, which are counted by hand."""
    folder, task = with_noise(micro, tmp_path / "a", 0.01), OddLength()
    seeds = direction_seeds(SEED, "perturbation", 4)
    rounds = [by_hand(micro, folder, tmp_path / f"p{i}", 0.02, seed, "", task) for i, seed in enumerate(seeds)]
    sampled = prompted(folder, task=task).sample(0.8, 4)

    model = prompted(folder, task=task)
    values = perturbed(model, folder, sigmas=[0.02], draws=4, temperatures=[0.8])["pass_at_k"]

    arms = {"σ=0.02": list(zip(*rounds, strict=True)), "T=0.8": sampled}
    assert [(v.tensor, v.x, v.n) for v in values.values] == [(a, k, PROMPTS) for a in arms for k in (1, 2, 4)]
    for arm, answers in arms.items():
        counts = [sum(answer.score.parts["contains"] > 0 for answer in of_prompt) for of_prompt in answers]
        print(arm, "correct of 4:", counts)
        assert 0 < sum(counts) < 4 * PROMPTS
        for value in values_of(values, arm):
            k = int(value.x or 0)
            assert value.value == pytest.approx(fmean(1 - comb(4 - c, k) / comb(4, k) for c in counts))
            assert value.low is not None
            assert value.high is not None
            assert 0 <= value.low <= value.value <= value.high <= 1


def test_a_stop_restores_the_weights(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "a", 0.02)
    model, stop, shares = prompted(folder), Stop(), []
    before = model.weights_digest()

    def report(sentence: str, share: float) -> None:
        shares.append((sentence, share))
        if share:
            stop.set()

    with pytest.raises(Interrupted):
        list(perturbation(model, subject_of(folder), [0.1, 0.2], ["norm"], 2, [], 0, stop.check, report))
    assert shares == [("perturbation of norm with σ = 0.1", 0), ("perturbation of norm with σ = 0.2", 0.5)]
    assert model.weights_digest() == before


def test_seeds_are_those_of_no_population() -> None:
    seeds = direction_seeds(3, "perturbation", 50)
    assert len(set(seeds)) == 50
    assert min(seeds) > 0
    assert seeds[:10] == direction_seeds(3, "perturbation", 10)
    others = {*direction_seeds(4, "perturbation", 50), *direction_seeds(3, "curvature", 50)}
    others |= {s for step in range(20) for s in member_seeds(3, step, 50, antithetic=False)}
    assert not others & set(seeds)
