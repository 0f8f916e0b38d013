"""A run whose exact plan exceeds its share of a GPU is refused before it starts, with the values that are enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.cases import each_case
from workers.config import ConfigError
from workers.config.run import ComputeConfig
from workers.engines.es.captured_plan import check_share
from workers.memory_plan import CardPlan, claimed_bytes
from workers.memory_plan.limit import limit_environment

CARD = 100 * 10**9
PLAN = CardPlan(card=CARD, usable=91 * 10**9, parts={"cache": 8 * 10**9}, rows=64, members=3)
"""With CUDA itself, it needs 9.6 GB."""


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables of a site that planned 5 GB for auto."""
    for name, value in limit_environment(0.05, 5 * 10**9 // 2**20).items():
        monkeypatch.setenv(name, value)


def refusal_of(plan: CardPlan, gpus: Any, engines: int = 1) -> str:
    with pytest.raises(ConfigError) as error:
        check_share(plan, ComputeConfig(gpus=gpus), CARD, engines)
    (problem,) = error.value.problems
    assert problem.path == "compute.gpus"
    return problem.message


def test_exact_plan_above_planned_share_is_refused(plans: None) -> None:
    assert refusal_of(PLAN, "auto") == (
        "is auto, which gives the run 5.0 GB of the 100 GB of its GPU; it needs 9.6 GB with the memory of CUDA itself. "
        "Set it to 0.1 or more, or to 1 (GPU memory planned: 8.0 of 100 GB (cache 8.0); 3 members per batch, 64 "
        "concurrent responses)"
    )


@each_case("gigabytes, engines", [(46, 1), (23, 2)])
def test_plan_above_half_of_gpu_needs_all_of_it(plans: None, gigabytes: int, engines: int) -> None:
    plan = replace(PLAN, parts={"cache": gigabytes * 10**9})
    assert ". Set it to 1 (GPU memory planned" in refusal_of(plan, "auto", engines)


def test_fraction_that_is_too_small_is_refused() -> None:
    smallest = replace(PLAN, card=5 * 10**9, reason="it does not fit")
    assert ". Set it to 0.1 or more, or to 1 (" in refusal_of(smallest, 0.05)


@each_case("gpus", [0, 1, "auto", 0.1])
def test_plan_within_its_gpu_is_accepted(gpus: Any) -> None:
    check_share(PLAN, ComputeConfig(gpus=gpus), CARD)


def test_plan_that_fits_no_such_gpu_is_left_to_its_own_reason() -> None:
    large = replace(PLAN, parts={"cache": 95 * 10**9}, reason="it does not fit")
    assert claimed_bytes(large) > CARD
    check_share(large, ComputeConfig(gpus=0.5), CARD)
