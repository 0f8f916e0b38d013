"""The nodes of a Slurm cluster, from sinfo: one line for each node and partition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from workers.executors.base import NodeShape

SINFO = ("sinfo", "--noheader", "--Node", "--format=%R|%c|%m|%G")
"""Partition, cores, memory in MB, and generic resources, of nodes in any state."""
GPU = re.compile(r"gpu(?::([A-Za-z][\w.-]*))?:(\d+)", re.ASCII)
"""Such as gpu:2, or gpu:a100:4(S:0-1)."""


def parse_nodes(text: str) -> list[NodeShape]:
    """Return the nodes of sinfo's output, equal ones together. A node with GPUs of several types counts once for each.

    Raise ValueError if a line has another form.
    """
    counts = Counter(shape for line in text.splitlines() if line.strip() for shape in _shapes(line))
    return [
        NodeShape(count, cores, memory_mb, gpus, gpu_type, partition)
        for (partition, cores, memory_mb, gpus, gpu_type), count in counts.items()
    ]


def _shapes(line: str) -> Iterator[tuple[str, int, int, int, str]]:
    partition, cores, memory, resources = (field.strip() for field in line.split("|", 3))
    gpus = [(int(match[2]), match[1] or "") for match in GPU.finditer(resources)]
    for count, gpu_type in gpus or [(0, "")]:
        yield partition, int(cores.rstrip("+")), int(memory.rstrip("+")), count, gpu_type
