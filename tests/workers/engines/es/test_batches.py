"""A population is cut from the config and the run's stored number of rows, which every attempt keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.workers.engines.es.population import digest, population_of
from tests.workers.engines.es.runs import run
from workers.config import ConfigError, EsConfig
from workers.engines.context import latest_checkpoint
from workers.engines.es import batches
from workers.engines.es.batches import Batch, BatchPlan, choose_rows
from workers.engines.es.member_memory import MemberMemory
from workers.engines.es.state import FILE, State
from workers.models import Loaded

ES = EsConfig(population=30)


@each_case(
    ("es", "prompts", "fitting", "device", "gpus", "rows", "members"),
    [
        (ES, 16, 1000, "cpu", 0, 256, 16),
        (ES, 16, 1000, "cuda", 1, 480, 30),
        (ES, 16, 1000, "cuda", 4, 128, 8),
        (ES, 16, 5, "cpu", 0, 80, 5),
        (ES, 200, 1000, "cuda", 2, 400, 2),
        (ES, 2000, 1000, "cpu", 0, 256, 1),
        (replace(ES, rows=64), 16, 1000, "cpu", 0, 64, 4),
        (replace(ES, rows=1), 16, 1000, "cpu", 0, 1, 1),
    ],
)
def test_rows_are_chosen_from_device_memory_and_config(
    es: EsConfig, prompts: int, fitting: int, device: str, gpus: int, rows: int, members: int
) -> None:
    assert choose_rows(es, prompts, fitting, device, gpus) == rows
    assert BatchPlan.of_rows(rows, prompts) == BatchPlan(rows, members)


def test_a_population_is_cut_into_nearly_equal_batches() -> None:
    cut = BatchPlan(256, 16).cut(range(1, 31))
    assert cut == [Batch(0, tuple(range(1, 16))), Batch(15, tuple(range(16, 31)))]


def rows_of(directory: Path) -> list[int]:
    lines = [json.loads(line) for line in (directory / "replay.jsonl").read_text().splitlines() if line]
    return [line["rows"] for line in lines if "start" in line]


def test_later_attempts_keep_number_of_rows(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (tmp_path / f"esweb-x-a{n}" for n in (1, 2, 3))
    run(micro, first, iterations=1)
    (rows,) = rows_of(first)
    assert rows == 6 * 4
    monkeypatch.setitem(batches.ROWS, "cpu", 8)
    run(micro, second, iterations=1)
    run(micro, third, resume=latest_checkpoint(second), iterations=2)
    assert rows_of(first) == rows_of(second) == rows_of(third) == [rows]
    for another in ("esweb-y-a1", "esweb-a2", "esweb-x-a4-a1"):
        run(micro, tmp_path / another, iterations=1)
        assert rows_of(tmp_path / another) == [8], "another run chooses for itself"


def test_attempt_in_relative_folder_keeps_number_of_rows(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(micro, tmp_path / "esweb-x-a1", iterations=1)
    second = tmp_path / "esweb-x-a2"
    second.mkdir()
    monkeypatch.chdir(second)
    monkeypatch.setitem(batches.ROWS, "cpu", 8)
    run(micro, Path(), iterations=1)
    assert rows_of(second) == [24]


def test_rows_may_be_reduced_before_first_checkpoint(micro: Loaded, tmp_path: Path) -> None:
    """Without this, a run whose first batch does not fit could never be resumed."""
    run(micro, tmp_path / "esweb-x-a1", iterations=1)
    run(micro, tmp_path / "esweb-x-a2", iterations=1, rows=12)
    assert rows_of(tmp_path / "esweb-x-a2") == [12]


def test_checkpoint_without_number_of_rows_can_be_resumed(micro: Loaded, tmp_path: Path) -> None:
    straight = digest(run(micro, tmp_path / "straight", iterations=3))
    run(micro, tmp_path / "old", iterations=2)
    checkpoint = latest_checkpoint(tmp_path / "old")
    assert checkpoint is not None
    state = json.loads((checkpoint / FILE).read_text())
    assert state.pop("rows") == 24
    (checkpoint / FILE).write_text(json.dumps(state))
    assert State.load(checkpoint).rows == 0
    assert digest(run(micro, tmp_path / "old", iterations=3)) == straight


def test_device_too_small_for_batches_is_refused(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(micro, tmp_path, iterations=1, noise="full")
    monkeypatch.setattr("workers.engines.es.member_memory.os.sysconf", lambda name: 1000)
    with pytest.raises(ConfigError, match=r"es\.rows: is \d+ in this run, and \d members at once need .* GB; here are"):
        run(micro, tmp_path, iterations=2, noise="full")


def test_batched_run_is_not_resumed_without_batches(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=1)
    with pytest.raises(ConfigError, match="the backend here is transformers, which decodes one member after another"):
        run(micro, tmp_path, iterations=2, backend="transformers")


def test_member_memory_depends_on_noise(micro: Loaded) -> None:
    sizes = {}
    for noise in ("full", "low_rank"):
        _, weights, perturbation = population_of(micro, noise=noise)
        memory = MemberMemory.measure(micro, weights, perturbation, EsConfig(noise=noise))
        sizes[noise] = memory.bytes_per_member
        assert memory.refusal(memory.fitting()) is None
    assert sizes["full"] > 10 * sizes["low_rank"] > 0
