"""How large the nodes are that Ray has now: whether a job that waits fits on any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """What one node has in all, used or not; or what a job asks one for."""

    cores: float
    gpus: float

    def holds(self, other: Size) -> bool:
        """True where the other fits in."""
        return self.cores >= other.cores and self.gpus >= other.gpus

    def in_words(self) -> str:
        """Such as 8 cores and 2 GPUs."""
        cores = f"{self.cores:g} core{'' if self.cores == 1 else 's'}"
        return f"{cores} and {self.gpus:g} GPU{'' if self.gpus == 1 else 's'}" if self.gpus else cores


def sizes(summary: Any) -> list[Size]:
    """Of the nodes that live, from what the dashboard's own pages show.

    Raises TypeError, KeyError, AttributeError or ValueError where it is something else.
    """
    nodes = [node["raylet"] for node in summary["data"]["summary"]]
    totals = [node["resourcesTotal"] for node in nodes if node["state"] == "ALIVE"]
    return [Size(float(total.get("CPU", 0)), float(total.get("GPU", 0))) for total in totals]


def is_too_large(asked: Size, nodes: Sequence[Size]) -> bool:
    """True where none of the nodes holds it; False where none is known."""
    return bool(nodes) and not any(node.holds(asked) for node in nodes)


def why_it_waits(asked: Size, nodes: Sequence[Size]) -> str:
    """What there is to say of a job that has not started."""
    if not is_too_large(asked, nodes):
        return f"waiting for {asked.in_words()}, or to be started"
    largest = max(nodes, key=lambda node: (node.gpus, node.cores))
    return f"waiting for {asked.in_words()}: Ray has no node so large now, its largest has {largest.in_words()}"
