"""Interpolation between checkpoints of the micro model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from tests.workers.probes import evaluations
from tests.workers.probes.behaviour.checkpoints import (
    PROMPTS,
    TOKENS,
    changed,
    config_of,
    never_stops,
    prompted,
    subject_of,
    weights,
    with_noise,
)
from workers.engines.stop import Interrupted, Stop
from workers.models import Loaded
from workers.probes.behaviour import End, interpolation
from workers.probes.behaviour.prompted_model import rewards
from workers.probes.weights import WeightsDiffer


def recorded_rewards(folder: Path, directory: Path, dtype: str = "float32") -> list[float]:
    """Return the greedy rewards that method evaluate records for a checkpoint."""
    plan = {"prompts": PROMPTS, "max_new_tokens": TOKENS, "samples": 1}
    config = evaluations.config_of(model=str(folder), plan=plan)
    evaluations.evaluate_in(directory, replace(config, model=replace(config.model, dtype=dtype)))
    return [r.reward for r in evaluations.responses_of(directory) if r.sample == 0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_ends_are_the_evaluations_of_the_checkpoints(micro: Loaded, tmp_path: Path, dtype: str) -> None:
    """In 16 bits, method evaluate reads them, and the probe casts their float32 master."""
    saved_as = torch.bfloat16 if dtype == "bfloat16" else None
    folders = [with_noise(micro, tmp_path / f"step-{s}", 0.02 * s, s, saved_as) for s in (1, 2)]
    expected = [np.mean(recorded_rewards(folder, tmp_path / f"e{folder.name}", dtype)) for folder in folders]
    model = prompted(folders[0], config_of(dtype=dtype))

    first, second = (End.tuned_of(subject_of(folder, step)) for step, folder in enumerate(folders, 1))
    reward, barrier = interpolation(model, first, second, 3, 0, never_stops)

    assert [reward.values[0].value, reward.values[-1].value] == expected
    for probe in (reward, barrier):
        assert (probe.probe, probe.subject, probe.other, probe.step) == ("interpolation", "run@1", "run@2", 1)
    assert [v.x for v in reward.values] == [0, 0.5, 1]
    assert reward.values[0].null == reward.values[0].value
    assert barrier.values[0].x == 0.5
    middle = (reward.values[0].value + reward.values[-1].value) / 2
    assert barrier.values[0].value == pytest.approx(middle - reward.values[1].value)


def test_rewards_of_each_prompt_equal_recorded_ones(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "a", 0.05)

    assert rewards(prompted(folder).greedy()).tolist() == recorded_rewards(folder, tmp_path / "e")


def test_the_middle_is_the_average_of_both_weights(micro: Loaded, tmp_path: Path) -> None:
    tuned = with_noise(micro, tmp_path / "tuned", 0.1)
    a, b = weights(micro.path), weights(tuned)
    middle = changed(micro, tmp_path / "middle", lambda name, _: 0.5 * a[name] + 0.5 * b[name])
    base = End.base_of(subject_of(tuned))
    assert base is not None

    reward, _ = interpolation(prompted(tuned), base, End.tuned_of(subject_of(tuned)), 3, 0, never_stops)

    assert (reward.subject, reward.other, reward.step) == ("base", "run@5", 0)
    assert reward.values[1].value == rewards(prompted(middle).greedy()).mean()


def test_sixteen_bits_are_cast_once_from_the_masters(micro: Loaded, tmp_path: Path) -> None:
    folders = [with_noise(micro, tmp_path / str(seed), 0.1, seed, torch.bfloat16) for seed in (1, 2)]
    model = prompted(folders[0], config_of(dtype="bfloat16"))
    masters = [weights(folder / "master") for folder in folders]
    middles: list[bool] = []

    def compare() -> None:
        # Called before each model; before the third, the middle is written.
        expected = {name: (0.5 * masters[0][name] + 0.5 * masters[1][name]).bfloat16() for name in masters[0]}
        middles.append(all(torch.equal(p, expected[name]) for name, p in model.parameters.items()))

    first, second = (End(name, 1, folder) for name, folder in zip("ab", folders, strict=True))
    list(interpolation(model, first, second, 3, 0, compare))

    assert middles == [False, False, True]


def test_the_barrier_between_permuted_neurons_is_the_lowest_reward(micro: Loaded, tmp_path: Path) -> None:
    """The MLP's neurons in another order are the same function, so that the straight line is level."""
    order = torch.randperm(micro.model.config.intermediate_size, generator=torch.Generator().manual_seed(0))

    def permute(name: str, parameter: Tensor) -> Tensor:
        if "gate_proj" in name or "up_proj" in name:
            return parameter[order]
        return parameter[:, order] if "down_proj" in name else parameter

    folder = changed(micro, tmp_path / "permuted", permute)
    ends = End("a", 0, micro.path), End("b", 0, folder)

    reward, barrier = interpolation(prompted(micro.path), *ends, 5, 0, never_stops)

    assert reward.values[0].value == reward.values[-1].value
    rest = [v.value for v in reward.values[1:-1]]
    print("ends", reward.values[0].value, "between", rest, "barrier", barrier.values[0])
    assert [v.null for v in reward.values] == pytest.approx([reward.values[0].value] * 5)
    assert barrier.values[0].value == pytest.approx(reward.values[0].value - min(rest))


def test_a_stop_ends_it_between_two_models(micro: Loaded) -> None:
    stop, reached = Stop(), []

    def report(sentence: str, share: float) -> None:
        reached.append(share)
        if share >= 0.5:
            stop.set()

    end = End("a", 0, micro.path)
    with pytest.raises(Interrupted):
        list(interpolation(prompted(micro.path), end, end, 5, 0, stop.check, report))
    assert reached == [0, 0.25, 0.5]


def test_ends_of_other_models_are_refused(micro: Loaded, tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(WeightsDiffer, match="no such tensor"):
        list(interpolation(prompted(micro.path), End("a", 0, micro.path), End("b", 0, tmp_path), 3, 0, never_stops))
