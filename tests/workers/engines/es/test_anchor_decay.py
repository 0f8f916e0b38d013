"""Anchored weight decay: a trajectory recomputed in numpy, and the same bits resumed, rebuilt and on two engines."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from tests.workers.engines.es.checkpoints import checkpoint, files, log_lines, stopped_and_resumed
from tests.workers.engines.es.engine_faults import KILL, Faults, inject
from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import SMALL, Conciseness, learning, records_of, run
from workers.config import ConfigError, ModelConfig, RunConfig
from workers.engines.es.anchor import ELEMENTS_PER_PIECE, anchor_distance, pull_to_anchor
from workers.engines.es.engine_group.wire import pack_directions, pack_update, unpack_update
from workers.engines.es.lineage import NoiseKind
from workers.engines.es.noise import Noise, make_noise
from workers.engines.es.rebuild import rebuild
from workers.engines.es.replay_history import CannotReplay
from workers.models import Loaded, load
from workers.records import Alert
from workers.tasks import Example, Score

DECAY: dict[str, Any] = {"anchor_decay": 6.0}
"""α·λ = 0.05 · 6 = 0.3: far from any rounding."""
KINDS: dict[str, dict[str, Any]] = {
    "full": {"noise": "full"},
    "low rank, antithetic": {"noise": "low_rank", "rank": 2, "antithetic": True},
    "lora": {"lora": {"rank": 2}},
}
Arrays = dict[str, NDArray[np.float32]]


class Alike(Conciseness):
    """Every answer is worth the same, so that each iteration is dead."""

    def score(self, example: Example, completion: str) -> Score:
        return Score(1.0)


def arrays(model: Path) -> Arrays:
    """Return the tensors of a folder's weights."""
    return {name: tensor.numpy() for name, tensor in load_file(model / "model.safetensors").items()}


def after(line: dict[str, Any], theta: Arrays, start: Arrays, noise: Noise) -> Arrays:
    """Return the weights after a line of the log, by float32 operations of numpy, one after another."""
    stepped = {}
    for name, tensor in theta.items():
        step = np.zeros_like(tensor)
        for seed, weight in zip(line["seeds"], line["weights"], strict=True):
            step = step + np.float32(weight) * noise.draw([seed], name, torch.from_numpy(tensor))[0].numpy()
        moved = tensor + step
        stepped[name] = moved - np.float32(line["decay"]) * (moved - start[name])
    return stepped


def norm(theta: Arrays, start: Arrays) -> float:
    """Return ‖θ − θ₀‖ over all tensors, in float64."""
    return float(np.sqrt(sum(float(((theta[n].astype(np.float64) - start[n]) ** 2).sum()) for n in theta)))


@pytest.mark.parametrize("noise", ["full", "low_rank"])
def test_weights_follow_the_formula_to_the_bit(micro: Loaded, tmp_path: Path, noise: Any) -> None:
    run(micro, tmp_path, checkpoint_every=1, noise=noise, **DECAY)
    start = theta = arrays(micro.path)
    distances = [row["es/anchor_distance"] for row in learning(tmp_path)]
    for step, line in enumerate(log_lines(tmp_path)[1:], start=1):
        assert line["decay"] == float(np.float32(0.05 * 6.0))
        theta = after(line, theta, start, make_noise(noise))
        saved = arrays(checkpoint(tmp_path, step))
        assert saved.keys() == theta.keys()
        assert [name for name in theta if theta[name].tobytes() != saved[name].tobytes()] == []
        assert distances[step - 1] == pytest.approx(norm(theta, start), rel=1e-12)
    assert len(distances) == 3 and all(distances)


def test_update_norm_is_that_of_the_step_alone(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "plain", iterations=1)
    run(micro, tmp_path / "decayed", iterations=1, **DECAY)
    (plain,), (decayed,) = learning(tmp_path / "plain"), learning(tmp_path / "decayed")
    assert decayed["es/update_norm"] == plain["es/update_norm"]
    # From θ₀ itself, the first decay leaves 1 − α·λ of the step.
    assert decayed["es/anchor_distance"] == pytest.approx((1 - 0.05 * 6.0) * decayed["es/update_norm"], rel=1e-5)
    assert "es/anchor_distance" not in plain


def test_dead_iterations_decay_towards_the_base_model(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=2, **DECAY)
    run(micro, tmp_path, Alike(), iterations=5, **DECAY)
    dead = log_lines(tmp_path)[-3:]
    assert [(line["seeds"], line["dead"], line["decay"]) for line in dead] == [([], True, float(np.float32(0.3)))] * 3
    start = arrays(micro.path)
    theta = arrays(checkpoint(tmp_path, 2))
    for line in dead:
        theta = after(line, theta, start, make_noise("full"))
    saved = arrays(checkpoint(tmp_path, 5))
    assert [name for name in theta if theta[name].tobytes() != saved[name].tobytes()] == []
    assert norm(saved, start) == pytest.approx(0.7**3 * norm(arrays(checkpoint(tmp_path, 2)), start), rel=1e-5)
    messages = [alert.message for alert in records_of(tmp_path, Alert, epoch=1)]
    assert any("so the weights only decay towards the base model." in message for message in messages)
    rebuild(tmp_path, 5, tmp_path / "rebuilt", from_base=True)
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path, 5))


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_resumed_and_rebuilt_steps_equal_those_of_the_straight_run(
    micro: Loaded, tmp_path: Path, options: dict[str, Any]
) -> None:
    options = {"iterations": 4, **DECAY, **options}
    straight, cut = tmp_path / "straight", tmp_path / "cut"
    end = digest(run(micro, straight, checkpoint_every=1, **options))
    assert end != digest(run(micro, tmp_path / "plain", checkpoint_every=1, **options | {"anchor_decay": 0.0}))
    stopped_and_resumed(micro, cut, 2, checkpoint_every=2, **options)
    assert files(checkpoint(cut / "esweb-x-a2", 4)) == files(checkpoint(straight, 4))
    for step in (1, 2, 3, 4):
        rebuild(straight, step, tmp_path / f"base-{step}", from_base=True)
        # From the checkpoint of step 2, which the first attempt saved, for steps 2 and 3.
        rebuild(cut, step, tmp_path / f"nearest-{step}")
        expected = files(checkpoint(straight, step))
        assert files(tmp_path / f"base-{step}") == expected
        assert files(tmp_path / f"nearest-{step}") == expected


@pytest.mark.parametrize("options", [{"noise": "full"}, {"lora": {"rank": 2}}], ids=str)
def test_16_bit_run_decays_in_its_float32_master(tmp_path: Path, options: dict[str, Any]) -> None:
    half = load(ModelConfig(path="micro", device="cpu", dtype="bfloat16"))
    options = {"iterations": 4, "checkpoint_every": 2, **DECAY, **options}
    run(half, tmp_path / "straight", **options)
    run(half, tmp_path / "on", resume=checkpoint(tmp_path / "straight", 2), **options)
    rebuild(tmp_path / "straight", 4, tmp_path / "rebuilt", from_base=True)
    straight = files(checkpoint(tmp_path / "straight", 4))
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "on", 4)) == straight


def test_decay_can_change_between_attempts(micro: Loaded, tmp_path: Path) -> None:
    for iterations, anchor_decay in ((2, 0.0), (4, 6.0), (6, 3.0)):
        run(micro, tmp_path / "run", iterations=iterations, anchor_decay=anchor_decay)
    decays = [line.get("decay", 0.0) for line in log_lines(tmp_path / "run") if "step" in line]
    assert decays == pytest.approx([0, 0, 0.3, 0.3, 0.15, 0.15])
    rebuild(tmp_path / "run", 6, tmp_path / "rebuilt", from_base=True)
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "run", 6))


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_two_engines_end_with_the_bits_of_one(micro: Loaded, tmp_path: Path, options: dict[str, Any]) -> None:
    options = {"rows": 8, "hash_every": 1, **DECAY, **options}
    one = digest(run(micro, tmp_path / "one", **options))
    assert digest(run(micro, tmp_path / "two", engines=2, **options)) == one
    assert (tmp_path / "two/replay.jsonl").read_bytes() == (tmp_path / "one/replay.jsonl").read_bytes()


def test_restarted_engine_catches_up_with_the_decay(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"rows": 8, "hash_every": 1, "iterations": 5, "checkpoint_every": 0, **DECAY}
    one = digest(run(micro, tmp_path / "one", **options))
    faults = Faults({14: KILL})
    inject(monkeypatch, faults)
    assert digest(run(micro, tmp_path / "two", engines=2, **options)) == one
    assert len(faults.sent) == 1


def test_log_without_decay_is_written_as_before(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path)
    keys = ["step", "parent", "lineage", "seeds", "weights", "tokens", "samples", "gpu_seconds", "dead", "multiplier"]
    raw = (tmp_path / "replay.jsonl").read_bytes().split(b"\n")[2:]
    assert len(raw) == SMALL["iterations"]
    for line in raw:
        data = json.loads(line)
        assert line == json.dumps({key: data[key] for key in keys}, separators=(",", ":")).encode()
        chain = [data["parent"], data["step"], asdict(NoiseKind("full", 1)), data["seeds"], data["weights"]]
        text = json.dumps(chain, sort_keys=True, separators=(",", ":"))
        assert data["lineage"] == hashlib.sha256(text.encode()).hexdigest()[:32]


def test_changed_decay_does_not_fit_its_lineage(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "run", **DECAY)
    log = tmp_path / "run/replay.jsonl"
    text = log.read_text()
    decay = f'"decay":{float(np.float32(0.3))}'
    assert text.count(decay) == 3
    for changed in (text.replace(decay, '"decay":0.25', 1), text.replace(f",{decay}", "", 1)):
        log.write_text(changed)
        with pytest.raises(CannotReplay, match="the replay log has a gap"):
            rebuild(tmp_path / "run", 3, tmp_path / "rebuilt", from_base=True)


def test_update_message_has_four_more_bytes_for_its_decay() -> None:
    decay = float(np.float32(0.3))
    directions = {7: 0.5, 2**53: float(np.float32(-1e-9))}
    assert pack_update(directions, 0.0) == pack_directions(directions)
    assert len(pack_update(directions, decay)) == 2 * 12 + 4
    for sent in ((directions, decay), (directions, 0.0), ({}, decay), ({}, 0.0)):
        assert unpack_update(pack_update(*sent)) == sent


def test_pull_follows_a_float64_trajectory() -> None:
    generator = torch.Generator().manual_seed(5)
    start = {"matrix": torch.randn(7, 5, generator=generator), "scalar": torch.tensor(0.25)}
    master = {name: tensor + 1.5 for name, tensor in start.items()}
    for step in range(1, 6):
        pull_to_anchor(master, start, float(np.float32(0.125)))
        for name, tensor in master.items():
            expected = start[name].double() + 1.5 * 0.875**step
            assert torch.allclose(tensor.double(), expected, rtol=0, atol=1e-6)
        assert anchor_distance(master, start) == pytest.approx(36**0.5 * 1.5 * 0.875**step, rel=1e-6)


def test_pieces_of_a_large_tensor_are_all_pulled_and_counted() -> None:
    start = {"large": torch.zeros(3, ELEMENTS_PER_PIECE // 2 + 1)}
    master = {"large": torch.ones(3, ELEMENTS_PER_PIECE // 2 + 1)}
    pull_to_anchor(master, start, 0.25)
    assert torch.equal(master["large"], torch.full_like(master["large"], 0.75))
    assert anchor_distance(master, start) == pytest.approx(0.75 * start["large"].numel() ** 0.5, rel=1e-12)


def test_pull_leaves_weights_at_their_anchor_to_the_bit() -> None:
    start = torch.tensor([-0.0, 0.0, 3e-45, -1.5, 3.4e38])
    master = {"w": start.clone()}
    pull_to_anchor(master, {"w": start}, float(np.float32(0.3)))
    assert torch.equal(master["w"].view(torch.int32), start.view(torch.int32))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anchor_decay": -1.0}, "es.anchor_decay: must be at least 0 and at most 1000, not -1.0"),
        ({"anchor_decay": 20.0}, "es.anchor_decay: must be at least 0 and below 20, which is 1 / es.alpha, not 20"),
        ({"anchor_decay": "10"}, "es.anchor_decay: must be a number, not '10'"),
    ],
)
def test_bad_decay_is_refused_with_the_valid_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        RunConfig.from_json({"method": "es", "es": SMALL | options})
    assert str(refusal.value) == message
