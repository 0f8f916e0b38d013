"""Norms of changes of known size; the norms of a real ES run lie in the bands that its replay log gives."""

from __future__ import annotations

import copy
import itertools
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.workers.engines.es.runs import Conciseness, run
from tests.workers.probes.geometry.subjects import subject_of, values_of, write
from workers.config import ModelConfig
from workers.engines.es.replay_history import attempts_of, history_of
from workers.models import Loaded, load
from workers.models.save import save
from workers.probes.geometry import magnitude
from workers.probes.geometry.growth import spread_steps
from workers.probes.weights import Subject, WeightFiles, WeightsDiffer
from workers.tasks import Example, Score

BASE = {"a": torch.full((2, 2), 2.0), "b": torch.zeros(3), "c": torch.tensor(1.0)}


def test_norms_of_hand_made_changes(tmp_path: Path) -> None:
    deltas = {"a": torch.tensor([[3.0, 0.0], [0.0, 4.0]]), "b": torch.tensor([0.0, 12.0, 0.0])}
    measures = values_of(magnitude(subject_of(tmp_path, BASE, deltas), 5))
    norms, relative = measures["norm"], measures["relative_norm"]
    assert {name: (v.value, v.n) for name, v in norms.items()} == {"": (13, 8), "a": (5, 4), "b": (12, 3), "c": (0, 1)}
    # b starts at zero, and has no relative norm.
    assert {name: v.value for name, v in relative.items()} == {"": pytest.approx(13 / math.sqrt(17)), "a": 1.25, "c": 0}
    assert all(v.null is None for v in norms.values())
    assert [v.x for v in measures["norm_by_step"].values()] == [4]
    assert "growth_exponent" not in measures


def test_norms_of_saved_checkpoints_up_to_the_step(tmp_path: Path) -> None:
    saved = {step: write(tmp_path / f"step-{step}", {"a": BASE["a"] + step**2}) for step in (1, 2, 8)}
    subject = subject_of(tmp_path, {"a": BASE["a"]}, {"a": torch.full((2, 2), 16.0)}, saved=saved)
    probes = {probe.measure: probe for probe in magnitude(subject, 5)}
    assert [(v.x, v.value, v.null) for v in probes["norm_by_step"].values] == [
        (1, 2, None),
        (2, 8, None),
        (4, 32, None),
    ]
    exponent = probes["growth_exponent"].values[0]
    assert exponent.value == pytest.approx(2) and exponent.n == 3 and exponent.null == 0.5


def test_a_subject_without_a_base_is_refused(tmp_path: Path) -> None:
    subject = replace(subject_of(tmp_path, BASE, {}), base=None)
    with pytest.raises(WeightsDiffer, match="run@4 has no base"):
        list(magnitude(subject, 5))


def test_steps_are_spread_and_end_with_the_last() -> None:
    assert spread_steps(range(1, 11), 3) == [5, 10]
    assert spread_steps([1, 2], 11) == [1, 2]
    assert spread_steps([], 3) == []


@pytest.mark.parametrize("options", [{}, {"noise": "low_rank"}, {"anchor_decay": 0.5}, {"layer_scale": True}], ids=str)
def test_norms_of_a_real_run_lie_in_the_bands_of_its_walk(
    micro: Loaded, tmp_path: Path, options: dict[str, object]
) -> None:
    run(micro, tmp_path / "run", iterations=6, checkpoint_every=6, **options)
    folder = next(path.parent for path in (tmp_path / "run").rglob("model.safetensors"))
    trail = history_of(attempts_of(tmp_path / "run")).trail(6)
    subject = Subject("run", 6, folder, micro.path, "es", saved={6: folder}, trail=trail)
    measures = {probe.measure: probe.values for probe in magnitude(subject, 4)}
    tensors = [v for v in measures["norm"] if v.tensor]
    inside = sum(v.null_low <= v.value <= v.null_high for v in tensors if v.null_low and v.null_high)
    print(f"{options}: {inside} of {len(tensors)} tensors inside; model {measures['norm'][0]}")
    assert len(tensors) > 10 and inside >= 0.85 * len(tensors)
    curve = measures["norm_by_step"]
    assert [v.x for v in curve] == [2, 4, 6]
    assert curve[-1].value == pytest.approx(measures["norm"][0].value, rel=1e-6)
    assert curve[-1].null == pytest.approx(measures["norm"][0].null)
    exponent = measures["growth_exponent"][0]
    assert exponent.null is not None and exponent.null_low is not None and exponent.null_high is not None
    assert exponent.null_low < exponent.null < exponent.null_high
    assert exponent.null == pytest.approx(0.5, abs=0.05)


class PureNoise(Conciseness):
    """A task whose rewards are random numbers, whatever the response is."""

    def score(self, example: Example, completion: str) -> Score:
        return Score(random.Random(f"{example.id} {completion} {next(self.calls)}").gauss(0, 1), {})

    calls = itertools.count()


@pytest.mark.parametrize("noise", ["full", "low_rank"])
def test_a_run_on_a_reward_of_pure_noise_is_a_random_walk(micro: Loaded, tmp_path: Path, noise: str) -> None:
    run(micro, tmp_path / "run", PureNoise(), iterations=6, checkpoint_every=6, noise=noise)
    folder = next(path.parent for path in (tmp_path / "run").rglob("model.safetensors"))
    trail = history_of(attempts_of(tmp_path / "run")).trail(6)
    norms = values_of(magnitude(Subject("run", 6, folder, micro.path, "es", trail=trail), 4))["norm"]
    inside = [v.null_low <= v.value <= v.null_high for v in norms.values() if v.null_low and v.null_high]
    assert len(inside) > 10 and sum(inside) >= 0.85 * len(inside)


def test_a_base_that_the_run_did_not_start_from_has_no_walk(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "run", iterations=2)
    folder = next(path.parent for path in (tmp_path / "run").rglob("model.safetensors"))
    with WeightFiles(micro.path) as weights:
        other = write(tmp_path / "other", {name: weights.tensor(name) + 1 for name in weights.shapes})
    trail = history_of(attempts_of(tmp_path / "run")).trail(2)
    probes = magnitude(Subject("run", 2, folder, other, "es", trail=trail), 4)
    assert all(v.null is None for v in values_of(probes)["norm"].values())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_a_run_in_16_bits_is_measured_by_its_float32_master(micro: Loaded, tmp_path: Path, dtype: torch.dtype) -> None:
    """Its base model may be saved in float32: then the run, and so its change, begins at the rounded weights."""
    saved = replace(micro, model=copy.deepcopy(micro.model).to(dtype))
    save(saved.model, saved.tokenizer, tmp_path / "base")
    loaded = load(ModelConfig(path=str(tmp_path / "base"), dtype="bfloat16", device="cpu"))
    run(loaded, tmp_path / "run", iterations=4, alpha=1e-4, checkpoint_every=4)
    folder = next(path.parent for path in (tmp_path / "run").rglob("step-*/model.safetensors"))
    trail = history_of(attempts_of(tmp_path / "run")).trail(4)
    subject = Subject("run", 4, folder, tmp_path / "base", "es", trail=trail)
    measures = {probe.measure: probe.values for probe in magnitude(subject, 3)}
    norm, last = measures["norm"][0], measures["norm_by_step"][-1]
    assert norm.null_low is not None and norm.null_high is not None
    assert norm.null_low <= norm.value <= norm.null_high
    assert last.value == pytest.approx(norm.value, rel=1e-5)
