"""The nodes that Ray has now, which decide if a waiting job fits on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workers.executors.base import NodeShape

TYPE_LABEL = "ray.io/accelerator-type"
TYPE_RESOURCE = "accelerator_type:"
"""Beginning of the custom resource of a node with GPUs of a type, such as accelerator_type:H100."""
CONVERTED_TYPE_RESOURCE = "acceleratorType:"
"""The same as the dashboard shows it. It may also have changed letters of the type; the label has Ray's own."""
TYPE_AMOUNT = 0.001
"""Amount of that resource, of which each node has 1, that Ray itself requests for a type of GPU."""


@dataclass(frozen=True)
class Size:
    """Total of one node, used or not; or what a job requests of each of its nodes."""

    cores: float
    gpus: float
    memory_mb: float = 0
    gpu_type: str = ""

    def holds(self, other: Size) -> bool:
        """Return whether the other size fits into this one."""
        has_enough = self.cores >= other.cores and self.gpus >= other.gpus and self.memory_mb >= other.memory_mb
        return has_enough and (not other.gpu_type or self.has_type(other.gpu_type))

    def has_type(self, gpu_type: str) -> bool:
        """Return whether the GPUs are of this type, in capital or small letters."""
        return self.gpu_type.casefold() == gpu_type.casefold()

    def describe(self) -> str:
        """Return a text such as "8 cores and 2 H100 GPUs", or "1 core and 0.25 of one H100 GPU"."""
        parts = [_count(self.cores, "core")]
        if self.gpus:
            name = f"{self.gpu_type} GPU".lstrip()
            parts.append(f"{self.gpus:g} of one {name}" if self.gpus < 1 else _count(self.gpus, name))
        if self.memory_mb:
            parts.append(f"{self.memory_mb:.0f} MB")
        return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]


@dataclass(frozen=True)
class Demand:
    """Nodes that a job requests: so many, each of at least this size."""

    nodes: int
    size: Size

    def describe(self) -> str:
        """Return a text such as "2 nodes with 8 cores and 2 GPUs each"."""
        return self.size.describe() if self.nodes == 1 else f"{self.nodes} nodes with {self.size.describe()} each"

    def is_too_large(self, nodes: Sequence[Size]) -> bool:
        """Return whether too few nodes are large enough; False if no node is known."""
        return bool(nodes) and sum(node.holds(self.size) for node in nodes) < self.nodes

    def waiting_reason(self, nodes: Sequence[Size]) -> str:
        """Return a sentence about a job that has not started."""
        if not self.is_too_large(nodes):
            return f"waiting for {self.describe()}, or to start"
        return f"waiting for {self.describe()}: {self._missing(nodes)}"

    def _missing(self, nodes: Sequence[Size]) -> str:
        large = sum(node.holds(self.size) for node in nodes)
        if large:
            return f"Ray has {_count(large, 'node')} that large now"
        gpu_type = self.size.gpu_type
        if gpu_type and not any(node.has_type(gpu_type) for node in nodes):
            types = ", ".join(sorted({node.gpu_type for node in nodes if node.gpu_type})) or "none"
            return f"Ray has no GPU of type {gpu_type} now; types of its GPUs: {types}"
        candidates = [node for node in nodes if node.has_type(gpu_type)] if gpu_type else nodes
        largest = max(candidates, key=lambda node: (node.gpus, node.cores, node.memory_mb))
        # Memory is of interest only if the job requests some.
        shown = largest if self.size.memory_mb else Size(largest.cores, largest.gpus, 0, largest.gpu_type)
        return f"Ray has no node that large now; its largest has {shown.describe()}"


def node_sizes(summary: Any) -> list[Size]:
    """Return the sizes of the living nodes, from the data of the dashboard's own pages.

    Raise TypeError, KeyError, AttributeError or ValueError if it has another form.
    """
    nodes = [node["raylet"] for node in summary["data"]["summary"]]
    return [_size(node) for node in nodes if node["state"] == "ALIVE"]


def shapes_of(sizes: Sequence[Size]) -> list[NodeShape]:
    """Return these nodes as shapes, the largest first. A node without cores runs no job and is left out."""
    counts = Counter((int(size.gpus), int(size.cores), int(size.memory_mb), size.gpu_type) for size in sizes)
    return [
        NodeShape(count, cores, memory_mb, gpus, gpu_type)
        for (gpus, cores, memory_mb, gpu_type), count in sorted(counts.items(), reverse=True)
        if cores
    ]


def spell_type(gpu_type: str, nodes: Sequence[Size]) -> str:
    """Return the type of GPU in the spelling of Ray's nodes, or as it is if no node has it."""
    return next((node.gpu_type for node in nodes if node.has_type(gpu_type)), gpu_type)


def _size(node: Mapping[str, Any]) -> Size:
    total = node["resourcesTotal"]
    memory_mb = float(total.get("memory", 0)) / 2**20
    return Size(float(total.get("CPU", 0)), float(total.get("GPU", 0)), memory_mb, _gpu_type(node, total))


def _gpu_type(node: Mapping[str, Any], total: Mapping[str, Any]) -> str:
    if label := (node.get("labels") or {}).get(TYPE_LABEL):
        return str(label)
    prefixes = (CONVERTED_TYPE_RESOURCE, TYPE_RESOURCE)
    return next((name.partition(":")[2] for name in total if name.startswith(prefixes)), "")


def _count(number: float, thing: str) -> str:
    return f"{number:g} {thing}{'' if number == 1 else 's'}"
