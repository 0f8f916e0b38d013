"""Cuts a population into batches, from the config and the run's stored number of rows alone.

A batch of another size rounds otherwise, so every engine and every attempt of a run must cut alike. What a device can
hold enters once, when the number is chosen; afterwards it can only be refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workers.config import EsConfig

ROWS = {"cpu": 256, "cuda": 512}
"""Rows beyond which a batch answers no faster: measured on the tiny model with one core, and on an H200."""


@dataclass(frozen=True)
class Batch:
    """Members that answer together. `first` is the place of the first of them; the centre's batch has no seeds."""

    first: int
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class BatchPlan:
    """The sequences that are decoded at once, and the members in a batch; one, if its prompts alone are more.

    On a GPU, `weight_sets` share the rows, and `columns` tokens hold an answer and its prompt.
    """

    rows: int
    members: int
    weight_sets: int = 1
    columns: int = 0

    @classmethod
    def of_rows(cls, rows: int, prompts: int) -> BatchPlan:
        """Return the plan for a stored number of rows and the prompts of an iteration."""
        return cls(rows, max(1, rows // prompts))

    def cut(self, seeds: Sequence[int]) -> list[Batch]:
        """Return batches of nearly equal size, in the order of the seeds."""
        count = -(-len(seeds) // self.members)
        size = -(-len(seeds) // count)
        return [Batch(first, tuple(seeds[first : first + size])) for first in range(0, len(seeds), size)]


def choose_rows(es: EsConfig, prompts: int, fitting: int, device: str, gpus: int) -> int:
    """Return the rows of a batch: at most es.rows, or as many as the kind of device is best at.

    `fitting` members fit into the device's memory at once. With several GPUs in the config, each gets some members.
    """
    max_rows = es.rows or ROWS[device]
    share = es.population if es.rows else -(-es.population // max(1, gpus))
    members = min(max_rows // prompts, fitting, share)
    return members * prompts if members > 1 else min(max_rows, prompts)
