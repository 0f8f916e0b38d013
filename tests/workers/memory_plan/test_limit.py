"""The part of a GPU that a run may use: as its config states it, or as its site planned it for auto."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.config import ConfigError
from workers.config.run import ComputeConfig
from workers.memory_plan.limit import gpu_share, limit_environment, memory_limit

CARD = 100 * 2**30
PLANNED = limit_environment(0.07, 9_000)


@each_case(
    "gpus, environment, share, limit",
    [
        (0, PLANNED, 1, None),
        (1, PLANNED, 1, None),
        (0.25, {}, 0.25, CARD // 4),
        ("auto", PLANNED, 0.07, 9_000 * 2**20),
        ("auto", limit_environment(1, 0), 1, None),
        ("auto", {}, 1, None),
        ("auto", limit_environment(0.5, 10**6), 0.5, None),
    ],
)
def test_share_and_memory_of_run(gpus: Any, environment: dict[str, str], share: float, limit: int | None) -> None:
    compute = ComputeConfig(gpus=gpus)
    assert gpu_share(compute, environment) == share
    assert memory_limit(compute, CARD, environment) == limit


@each_case("text", ["much", "-1", "nan", "inf"])
def test_variable_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="ESWEB_GPU_MEMORY_MB must be a number above 0"):
        memory_limit(ComputeConfig(gpus="auto"), CARD, {"ESWEB_GPU_MEMORY_MB": text})
