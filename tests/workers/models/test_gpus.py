"""GPUs of a job are counted once each, however its processes see them."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from workers.config import ConfigError
from workers.models.gpus import count_gpus


def sizes(world: int | str, local: int | str = "") -> dict[str, str]:
    return {"WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(local)}


@each_case(
    ("visible", "environment", "gpus"),
    [
        (4, {}, 4),
        (0, sizes(2, 2), 0),
        (8, sizes(1, 1), 8),
        (4, sizes(4, 4), 4),
        (8, sizes(16, 8), 16),
        (8, sizes(2, 1), 16),
        (8, sizes(8, 4), 16),
        (1, sizes(16, 8), 16),
        (2, sizes(8, 4), 16),
        (1, sizes(16), 16),
        (8, sizes(16), 16),
        (8, sizes(4), 8),
    ],
    ids=[
        "one process without torchrun", "on CPUs", "one process that sees its machine", "torchrun on one machine",
        "torchrun on two machines", "a process a machine, which sees all its GPUs", "processes that leave GPUs unused",
        "processes that see one GPU each", "processes that see two GPUs each", "one GPU each, machines not named",
        "a whole machine each, machines not named", "GPUs left unused, machines not named",
    ],
)  # fmt: skip
def test_gpus_of_all_machines_count_once(visible: int, environment: dict[str, str], gpus: int) -> None:
    assert count_gpus(visible, environment) == gpus


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (sizes("two"), "WORLD_SIZE must be a whole number above 0, not 'two'"),
        (sizes(2, 0), "LOCAL_WORLD_SIZE must be a whole number above 0, not '0'"),
        (sizes(2, 4), "LOCAL_WORLD_SIZE is 4: it must be at most WORLD_SIZE, which is 2"),
    ],
    ids=["no number", "zero", "more on a machine than in all"],
)
def test_invalid_number_of_processes_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        count_gpus(1, environment)
