"""The nodes of a Slurm cluster, from sinfo: one line for each node and partition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from workers.executors.base import NodeShape

SINFO = ("sinfo", "--noheader", "--Node", "--format=%R|%c|%m|%G")
"""Partition, cores, memory in MB, and generic resources, of nodes in any state."""
DETAILS = re.compile(r"\([^()]*\)")
"""Sockets and devices behind a resource, which may contain commas: gpu:a100:4(S:0,1), gpu:tesla:2(IDX:0-1)."""
COUNT = re.compile(r"(\d+)([KMGTP]?)", re.ASCII | re.IGNORECASE)
FACTORS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
FLAG = "no_consume"
"""Field of a resource that any number of jobs may use at the same time."""


def parse_nodes(text: str) -> list[NodeShape]:
    """Return the nodes of sinfo's output, equal ones together. A node with GPUs of several types counts once for each.

    Raise ValueError if a line has another form.
    """
    counts = Counter(shape for line in text.splitlines() if line.strip() for shape in _shapes(line))
    return [
        NodeShape(count, cores, memory_mb, gpus, gpu_type, partition)
        for (partition, cores, memory_mb, gpus, gpu_type), count in counts.items()
    ]


def parse_gpus(resources: str) -> dict[str, int]:
    """Return type -> number of the GPUs among a node's generic resources. GPUs without a type have an empty one.

    A resource is `name[:type][:no_consume][:count]`; without a count it is 1. The count is the last field, and only
    that: a type may begin with a digit or be a number, as in gpu:2080ti:4, gpu:3090:8 and gpu:1g.10gb:7.
    Source: Gres in slurm.conf(5).
    """
    gpus: dict[str, int] = {}
    for resource in DETAILS.sub("", resources).split(","):
        name, *fields = (field.strip() for field in resource.split(":"))
        if name != "gpu":
            continue
        count = 1
        if fields and (number := COUNT.fullmatch(fields[-1])):
            count = int(number[1]) * FACTORS[number[2].upper()]
            fields.pop()
        gpu_type = ":".join(field for field in fields if field and field != FLAG)
        gpus[gpu_type] = gpus.get(gpu_type, 0) + count
    return {gpu_type: count for gpu_type, count in gpus.items() if count}


def _shapes(line: str) -> Iterator[tuple[str, int, int, int, str]]:
    partition, cores, memory, resources = (field.strip() for field in line.split("|", 3))
    for gpu_type, count in (parse_gpus(resources) or {"": 0}).items():
        yield partition, int(cores.rstrip("+")), int(memory.rstrip("+")), count, gpu_type
