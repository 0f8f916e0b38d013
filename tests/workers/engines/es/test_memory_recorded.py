"""A run on a GPU records the memory that was planned for it. The GPU is a number here: the plan needs no more of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.engines.es.runs import records_of, run
from workers.config import ConfigError
from workers.engines.es import captured_plan, startup
from workers.models import Loaded
from workers.records import Alert, Metric

KEY = "es/memory_planned_gb"


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let the trainer plan for a card of 24 GB, and answer on the CPU all the same."""
    monkeypatch.setattr(startup, "uses_captured_steps", lambda loaded, es: True)
    monkeypatch.setattr(captured_plan, "_card", lambda loaded: 24 * 10**9)
    return monkeypatch


@pytest.mark.usefixtures("card")
def test_run_records_its_planned_memory_once(micro: Loaded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(micro, tmp_path, iterations=2)
    [metric] = [each for each in records_of(tmp_path, Metric) if KEY in each.values]
    [alert] = [each for each in records_of(tmp_path, Alert) if "GPU memory" in each.message]

    assert metric.step == alert.step == 0
    assert 0 < metric.values[KEY] < 24 * 0.92
    assert alert.level == "info"
    assert alert.message.startswith(f"GPU memory planned: {metric.values[KEY]:.1f} of 24 GB")
    assert alert.message in capsys.readouterr().out


@pytest.mark.usefixtures("card")
def test_run_records_its_planned_memory_again_when_it_resumes(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=2)
    run(micro, tmp_path, iterations=3)
    first, second = ([m for m in records_of(tmp_path, Metric, epoch) if KEY in m.values] for epoch in (0, 1))

    assert [metric.step for metric in (*first, *second)] == [0, 2]
    assert first[0].values == second[0].values


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize(("refill", "members"), [(True, 6), (False, 3)])
def test_run_cuts_its_population_as_planned(
    micro: Loaded, tmp_path: Path, capsys: pytest.CaptureFixture[str], refill: bool, members: int
) -> None:
    run(micro, tmp_path, iterations=1, noise="low_rank", refill=refill, rows=16, prompts=5)

    assert f"batches of {members} of 6 members, 16 rows; engines: 1" in capsys.readouterr().out


def test_run_ends_before_it_starts_when_the_card_is_too_small(
    micro: Loaded, tmp_path: Path, card: pytest.MonkeyPatch
) -> None:
    card.setattr(captured_plan, "_card", lambda loaded: 10**9)

    with pytest.raises(ConfigError, match=r"at most 0\.1 GB can be used"):
        run(micro, tmp_path, iterations=1)
    assert records_of(tmp_path, Metric) == []


def test_run_on_a_cpu_records_no_planned_memory(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, iterations=1)

    assert not [metric for metric in records_of(tmp_path, Metric) if KEY in metric.values]


def plan_of(folder: Path) -> str:
    """Return the alert with the plan of the run in this folder."""
    [alert] = [each for each in records_of(folder, Alert) if "GPU memory" in each.message]
    return alert.message


def test_auto_is_planned_as_whole_gpu(micro: Loaded, tmp_path: Path, card: pytest.MonkeyPatch) -> None:
    """A run that shares its GPU has the same rows as one that is alone, and so the same bits."""
    card.setenv("ESWEB_GPU_MEMORY_MB", "9000")
    for name, gpus in (("auto", "auto"), ("whole", 1), ("half", 0.5)):
        run(micro, tmp_path / name, iterations=1, gpus=gpus)
    assert plan_of(tmp_path / "auto") == plan_of(tmp_path / "whole")
    assert " of 12 GB (" in plan_of(tmp_path / "half")


def test_auto_that_exceeds_its_planned_share_is_refused(
    micro: Loaded, tmp_path: Path, card: pytest.MonkeyPatch
) -> None:
    card.setenv("ESWEB_GPU_MEMORY_MB", "2000")
    with pytest.raises(
        ConfigError, match=r"compute.gpus: is auto, which gives the run 2.1 GB .* Set it to 0\.\d+ or more"
    ):
        run(micro, tmp_path, gpus="auto")


@pytest.mark.usefixtures("card")
def test_fraction_that_is_too_small_for_plan_is_refused(micro: Loaded, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"compute.gpus: is 0.05, which gives the run 1.2 GB .* Set it to 0\.\d+ or more"
    ):
        run(micro, tmp_path, gpus=0.05)
