"""A model's build: the same seed gives the same bytes, independent of the process."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from workers.models.save import weights_sha256
from workers.models.tiny.build import build
from workers.models.tiny.recipe import MICRO, code_hash

SHORT = dataclasses.replace(MICRO, facts=0.5, countdown=0.25, corpus_pairs=256, steps=4)


def silent(message: str, share: float) -> None:
    pass


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_build_is_independent_of_number_of_threads(tmp_path: Path, threads: None) -> None:
    for count in (1, 2):
        torch.set_num_threads(count)
        build(SHORT, tmp_path / str(count), 0, silent)
    build(dataclasses.replace(SHORT, steps=1), tmp_path / "other", 1, silent)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert weights_sha256(tmp_path / "1") != weights_sha256(tmp_path / "other")


def test_build_leaves_random_state_unchanged(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    build(dataclasses.replace(SHORT, steps=1), tmp_path / "m", 0, silent)
    assert torch.equal(torch.rand(3), expected)


def test_build_reports_progress_with_loss_and_seconds_left(tmp_path: Path) -> None:
    reports: list[tuple[str, float]] = []
    build(SHORT, tmp_path / "m", 0, lambda message, share: reports.append((message, share)))
    shares = [share for _, share in reports]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert len([message for message, _ in reports if "loss" in message and message.endswith("s left")]) == SHORT.steps


def test_manifest_describes_the_model(tmp_path: Path) -> None:
    build(SHORT, tmp_path / "m", 3, silent)
    manifest = json.loads((tmp_path / "m" / "esweb-model.json").read_text())
    assert manifest["recipe"] == dataclasses.asdict(SHORT)
    assert (manifest["seed"], manifest["code_hash"]) == (3, code_hash())
    assert 30_000 < manifest["parameters"] < 34_000
    assert 0 < manifest["loss"] < 8
    assert 0 < manifest["seconds"] < 60
    assert len(manifest["corpus_sha256"]) == 64
