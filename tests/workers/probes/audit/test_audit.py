"""Shared noise is detected in hand-made weights and in runs of our own ES, and independent noise is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.workers.engines.es.runs import run
from tests.workers.engines.grpo.test_resume import run as train_by_gradients
from tests.workers.probes.geometry.subjects import subject_of
from workers.engines.es.noise import Noise, make_noise
from workers.models import Loaded
from workers.probes.audit import Audit, audit, audit_probe
from workers.probes.audit.__main__ import main
from workers.probes.audit.cosines import PREFIX
from workers.probes.audit.lags import BLOCK

SHAPES = {
    "l0.down": (32, 96),
    "l0.gate": (96, 32),
    "l0.q": (64, 32),
    "l0.v": (24, 32),
    "l1.down": (32, 96),
    "l1.gate": (96, 32),
    "l1.norm": (96,),
    "l1.q": (64, 32),
    "tiny": (9,),
}
MATRICES = {name: shape for name, shape in SHAPES.items() if len(shape) == 2}


def generator_of(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def audit_of(root: Path, deltas: Mapping[str, Tensor], dtype: torch.dtype = torch.float32) -> Audit:
    """Return the audit of these changes of random weights."""
    base = {name: 0.02 * torch.randn(d.shape, generator=generator_of(1)) for name, d in deltas.items()}
    subject = subject_of(root, {k: v.to(dtype) for k, v in base.items()}, {k: v.to(dtype) for k, v in deltas.items()})
    assert subject.base is not None
    return audit(subject.base, subject.tuned)


def noise_of(noise: Noise, seeds: range) -> dict[str, Tensor]:
    return {
        name: noise.weighted_sum(list(seeds), [0.001] * len(seeds), name, torch.empty(shape))
        for name, shape in SHAPES.items()
    }


def test_correlated_noise_is_shared_by_tensors_of_all_shapes(tmp_path: Path) -> None:
    result = audit_of(tmp_path, noise_of(make_noise("correlated"), range(1, 9)))
    assert result.verdict == "shared"
    assert result.groups == (tuple(name for name in sorted(SHAPES) if name != "tiny"),)
    assert result.pairs == result.outside == 28 and result.small == 1
    assert min(pair.cosine for pair in result.strongest) > 0.999
    sizes = {(p.first, p.second): p.n for p in result.strongest}
    assert sizes["l0.down", "l1.gate"] == 32 * 96 and sizes["l0.down", "l0.v"] == 24 * 32


@pytest.mark.parametrize("noise", [make_noise("full"), make_noise("low_rank"), make_noise("low_rank", 4)], ids=str)
@pytest.mark.parametrize("members", [1, 20])
def test_independent_noise_is_rarely_suspected(tmp_path: Path, noise: Noise, members: int) -> None:
    repeats = 60
    ranges = [range(first, first + members) for first in range(1, 1 + repeats * members, members)]
    results = [audit_of(tmp_path / str(seeds.start), noise_of(noise, seeds)) for seeds in ranges]
    suspected = sum(result.verdict != "independent" for result in results)
    print(f"{noise}, {members} members: {suspected} of {repeats} models are not independent")
    # Expected are at most 0.6; five or more have a probability below 0.1 %.
    assert suspected < 5 and not any(result.groups for result in results)
    assert (results[0].tensors, results[0].pairs) == (8, 28)


def test_low_rank_noise_that_two_tensors_share_is_reported_with_them(tmp_path: Path) -> None:
    deltas = noise_of(make_noise("low_rank"), range(1, 4))
    deltas["l1.q"] = 2 * deltas["l0.q"]
    result = audit_of(tmp_path, deltas)
    assert (result.verdict, result.groups) == ("shared", (("l0.q", "l1.q"),))
    assert result.strongest[0].cosine == pytest.approx(1, abs=1e-5)


def lora_of(rank: int, generator: torch.Generator) -> dict[str, Tensor]:
    """Return B A of independent factors for each matrix."""
    return {
        name: torch.randn(m, rank, generator=generator) @ torch.randn(rank, n, generator=generator)
        for name, (m, n) in MATRICES.items()
    }


@pytest.mark.parametrize("rank", [1, 8])
def test_independent_lora_merges_are_rarely_suspected(tmp_path: Path, rank: int) -> None:
    generator, repeats = generator_of(rank), 150
    verdicts = [audit_of(tmp_path / str(i), lora_of(rank, generator)).verdict for i in range(repeats)]
    suspected = repeats - verdicts.count("independent")
    print(f"rank {rank}: {suspected} of {repeats} models are not independent")
    # Expected are at most 1.5; five or more have a probability of 2 %.
    assert suspected < 5 and "shared" not in verdicts


@pytest.mark.parametrize("rank", [1, 8])
def test_lora_factors_that_two_targets_share_are_detected(tmp_path: Path, rank: int) -> None:
    deltas = lora_of(rank, generator_of(0))
    deltas["l1.gate"] = deltas["l0.gate"].clone()
    result = audit_of(tmp_path, deltas)
    assert (result.verdict, result.groups) == ("shared", (("l0.gate", "l1.gate"),))


def test_negated_noise_is_shared(tmp_path: Path) -> None:
    deltas = noise_of(make_noise("full"), range(1, 9))
    deltas["l1.q"] = -deltas["l0.q"]
    result = audit_of(tmp_path, deltas)
    assert (result.verdict, result.groups) == ("shared", (("l0.q", "l1.q"),))
    assert result.strongest[0].cosine == pytest.approx(-1, abs=1e-5) and "±0.5" in result.reason


@pytest.mark.parametrize("shift", [1, -1, 96, 700])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rolled_noise_is_shared_at_its_lag(tmp_path: Path, shift: int, sign: int, dtype: torch.dtype) -> None:
    deltas = noise_of(make_noise("full"), range(1, 9))
    deltas["l1.gate"] = sign * deltas["l0.down"].flatten().roll(shift).view(96, 32)
    result = audit_of(tmp_path, deltas, dtype)
    assert (result.verdict, result.groups) == ("shared", (("l0.down", "l1.gate"),))
    assert [(p.first, p.second, p.lag) for p in result.shifted] == [("l0.down", "l1.gate", shift)]
    assert sign * result.shifted[0].cosine > 0.9
    assert f"l0.down and l1.gate, by {shift} elements" in result.reason


def test_stream_that_continues_in_the_next_tensor_is_shared_at_its_lag(tmp_path: Path) -> None:
    """`second` begins where `first` has its last third, as with one stream whose state is set back."""
    stream = torch.randn(4 * BLOCK, generator=generator_of(0))
    deltas = {"first": stream[: 3 * BLOCK].view(192, -1), "second": stream[2 * BLOCK :].view(128, -1).clone()}
    result = audit_of(tmp_path, deltas)
    assert (result.verdict, result.groups) == ("shared", (("first", "second"),))
    assert {(pair.first, pair.lag) for pair in result.shifted} == {("second", 2 * BLOCK)}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_gradients_share_no_noise_at_any_lag(micro: Loaded, micro_of_transformers: Loaded, tmp_path: Path) -> None:
    train_by_gradients(micro_of_transformers, tmp_path / "run", max_steps=4, learning_rate=0.01, temperature=2.0)
    (tuned,) = (path.parent for path in (tmp_path / "run").rglob("step-*/model.safetensors"))
    result = audit(micro.path, tuned)
    assert result.verdict in ("independent", "correlated") and not result.shifted


def test_a_small_common_part_is_correlated(tmp_path: Path) -> None:
    generator = generator_of(4)
    common = torch.randn(64, 64, generator=generator)
    deltas = {f"l{i}": torch.randn(64, 64, generator=generator) + 0.5 * common for i in range(4)}
    result = audit_of(tmp_path, deltas)
    assert result.verdict == "correlated" and result.outside == 6
    # Two changes with a quarter of the variance in common have the cosine 0.25 / 1.25.
    assert [pair.cosine for pair in result.strongest] == pytest.approx([0.2] * 6, abs=0.05)


@pytest.mark.parametrize(("kind", "verdict"), [("correlated", "shared"), ("full", "independent")])
def test_weights_in_16_bits(tmp_path: Path, kind: str, verdict: str) -> None:
    noise = make_noise("correlated") if kind == "correlated" else make_noise("full")
    assert audit_of(tmp_path, noise_of(noise, range(1, 20)), torch.bfloat16).verdict == verdict


def test_large_tensors_of_different_sizes_are_compared_in_their_first_elements(tmp_path: Path) -> None:
    stream = torch.randn(300 * 300, generator=generator_of(0))
    deltas = {"large": stream.view(300, 300), "other": stream[: 280 * 256].view(280, 256).clone()}
    deltas["other"].flatten()[PREFIX:] = 5.0
    deltas["late"] = torch.zeros(400, 400)
    deltas["late"][399] = 1.0
    result = audit_of(tmp_path, deltas)
    # The change of `late` begins behind the elements that are compared.
    assert [(p.first, p.second, p.n) for p in result.strongest] == [("large", "other", PREFIX)]
    assert result.verdict == "shared" and result.tensors == 3


def test_slices_of_any_width_give_the_same_cosines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltas = noise_of(make_noise("full"), range(1, 4))
    whole = audit_of(tmp_path / "whole", deltas)
    monkeypatch.setattr("workers.probes.audit.cosines.SLICE_BYTES", 4 * 8 * 77)
    sliced = audit_of(tmp_path / "sliced", deltas)
    assert [(p.first, p.second, p.n) for p in sliced.strongest] == [(p.first, p.second, p.n) for p in whole.strongest]
    assert [p.cosine for p in sliced.strongest] == pytest.approx([p.cosine for p in whole.strongest], abs=1e-5)


def test_cosines_are_those_of_the_flat_vectors(tmp_path: Path) -> None:
    deltas = noise_of(make_noise("full"), range(1, 4))
    for pair in audit_of(tmp_path, deltas).strongest:
        x, y = (deltas[name].flatten()[: pair.n].double() for name in (pair.first, pair.second))
        assert pair.cosine == pytest.approx(float(x @ y / x.norm() / y.norm()), abs=1e-4)


def test_frozen_tensors_are_counted(tmp_path: Path) -> None:
    deltas = noise_of(make_noise("correlated"), range(1, 3))
    for name in ("l0.down", "l0.v", "l1.norm"):
        deltas[name] = torch.zeros(SHAPES[name])
    result = audit_of(tmp_path, deltas)
    assert (result.verdict, result.unchanged, result.tensors, result.pairs) == ("shared", 3, 5, 10)


def test_a_single_tensor_cannot_be_audited(tmp_path: Path) -> None:
    result = audit_of(tmp_path, {"w": torch.ones(8, 8), "frozen": torch.zeros(8, 8)})
    assert (result.verdict, result.pairs, result.outside_share) == ("undecided", 0, None)
    subject = subject_of(tmp_path, {"w": torch.ones(8, 8)}, {"w": torch.ones(8, 8)}, "other")
    assert list(audit_probe(subject)) == []


@pytest.mark.parametrize(("common", "verdict"), [(0.6, "correlated"), (1.0, "shared")])
def test_norms_that_gradients_move_together_share_no_noise(tmp_path: Path, common: float, verdict: str) -> None:
    together = torch.randn(256, generator=generator_of(0))
    own = {f"layers.{i}.norm": torch.randn(256, generator=generator_of(i + 1)) for i in range(4)}
    deltas = {name: common**0.5 * together + (1 - common) ** 0.5 * alone for name, alone in own.items()}
    subject = subject_of(tmp_path, {name: torch.zeros(256) for name in own}, deltas)
    assert subject.base is not None
    assert audit(subject.base, subject.tuned).verdict == verdict


def test_the_record_holds_the_strongest_pairs(tmp_path: Path) -> None:
    base = {f"t{i:02}": torch.zeros(8, 8) for i in range(30)}
    deltas = {name: torch.randn(8, 8, generator=generator_of(0)) for name in base}
    (probe,) = audit_probe(subject_of(tmp_path, base, deltas))
    assert (probe.probe, probe.measure, probe.verdict, probe.step) == ("audit", "shared_noise", "shared", 4)
    assert len(probe.values) == 200
    value = probe.values[0]
    assert (value.tensor, value.other_tensor, value.n) == ("t00", "t01", 64)
    assert (value.null, value.null_low, value.null_high) == (0, -3 / 8, 3 / 8)


@pytest.mark.parametrize(
    ("options", "verdict", "code"),
    [
        ({"noise": "full"}, "independent", 0),
        ({"noise": "correlated"}, "shared", 3),
        ({"noise": "low_rank"}, "independent", 0),
        ({"noise": "correlated", "layer_scale": True}, "shared", 3),
        ({"lora": {"rank": 2, "targets": ["q_proj", "up_proj"]}}, "independent", 0),
    ],
    ids=str,
)
def test_command_line_on_a_real_run(
    micro: Loaded,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: dict[str, object],
    verdict: str,
    code: int,
) -> None:
    run(micro, tmp_path / "run", **options)
    folder = next(p.parent for p in (tmp_path / "run").rglob("model.safetensors") if p.parent.name.startswith("step"))
    capsys.readouterr()
    assert main([str(micro.path), str(folder)]) == code
    output = capsys.readouterr().out
    print("\n".join(output.splitlines()[-4:]))
    assert output.splitlines()[-1].startswith(f"verdict: {verdict}: ")


def test_command_line_refuses_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subject = subject_of(tmp_path, {"w": torch.ones(8, 8)}, {})
    other = subject_of(tmp_path, {"w": torch.ones(4, 8)}, {}, "other")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "model.safetensors").write_bytes(b"no weights")
    (tmp_path / "empty").mkdir()
    for folder, reason in (
        (other.tuned, "w has the shape"),
        (tmp_path / "empty", "has no safetensors file"),
        (tmp_path / "missing", "is not a folder"),
        (damaged, ""),
    ):
        assert main([str(subject.base), str(folder)]) == 2
        error = capsys.readouterr().err
        assert error.strip() and reason in error
