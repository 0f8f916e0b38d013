"""Sizes of the nodes that Ray has now, which decide if a waiting job fits on any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """Total of one node, used or not; or the request of a job."""

    cores: float
    gpus: float

    def holds(self, other: Size) -> bool:
        """Return whether the other size fits into this one."""
        return self.cores >= other.cores and self.gpus >= other.gpus

    def describe(self) -> str:
        """Return a text such as "8 cores and 2 GPUs"."""
        cores = f"{self.cores:g} core{'' if self.cores == 1 else 's'}"
        return f"{cores} and {self.gpus:g} GPU{'' if self.gpus == 1 else 's'}" if self.gpus else cores


def node_sizes(summary: Any) -> list[Size]:
    """Return the sizes of the living nodes, from the data of the dashboard's own pages.

    Raise TypeError, KeyError, AttributeError or ValueError if it has another form.
    """
    nodes = [node["raylet"] for node in summary["data"]["summary"]]
    totals = [node["resourcesTotal"] for node in nodes if node["state"] == "ALIVE"]
    return [Size(float(total.get("CPU", 0)), float(total.get("GPU", 0))) for total in totals]


def is_too_large(request: Size, nodes: Sequence[Size]) -> bool:
    """Return whether no node is large enough for the request; False if no node is known."""
    return bool(nodes) and not any(node.holds(request) for node in nodes)


def waiting_reason(request: Size, nodes: Sequence[Size]) -> str:
    """Return a sentence about a job that has not started."""
    if not is_too_large(request, nodes):
        return f"waiting for {request.describe()}, or to start"
    largest = max(nodes, key=lambda node: (node.gpus, node.cores))
    return f"waiting for {request.describe()}: Ray has no node that large now; its largest has {largest.describe()}"
