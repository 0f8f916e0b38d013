"""The nodes of a Slurm cluster, from sinfo: one line for each node and partition."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

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
        NodeShape(count, cores, memory_mb, gpus, gpu_type, partition, shards)
        for (partition, cores, memory_mb, gpus, gpu_type, shards), count in counts.items()
    ]


def parse_gpus(resources: str) -> dict[str, int]:
    """Return type -> number of the GPUs among a node's generic resources. GPUs without a type have an empty one."""
    return _counts(resources, "gpu")


def parse_shards(resources: str) -> dict[str, int]:
    """Return type of GPU -> number of the shards into which the node's GPUs of this type are divided.

    Slurm gives shards the type of their GPUs: `gpu:a100:2,shard:a100:8`. Those without a type are shared out evenly.
    """
    gpus, shards = parse_gpus(resources), _counts(resources, "shard")
    untyped, every = shards.get("", 0), sum(gpus.values())
    return {gpu_type: shards.get(gpu_type, 0) or untyped * count // every for gpu_type, count in gpus.items()}


def count_shards(shapes: Iterable[NodeShape], share: float, gpu_type: str = "", partition: str = "") -> int:
    """Return the shards that are at least this share of a GPU, on whichever of these nodes they are; 0 if none of them
    has shards.

    Slurm takes all shards of a job from one GPU, so a GPU's are those of its node divided by the node's GPUs.
    """
    partitions = partition.split(",") if partition else []
    numbers = [
        # 0.1 × 30 is a little more than 3.
        math.ceil(round(share * (shape.gpu_shards // shape.gpus), 6))
        for shape in shapes
        if shape.gpu_shards >= shape.gpus > 0
        and (not gpu_type or shape.gpu_type.casefold() == gpu_type.casefold())
        and (not partitions or shape.partition in partitions)
    ]
    return max(numbers, default=0)


def _counts(resources: str, resource_name: str) -> dict[str, int]:
    """Return type -> number of the generic resource of this name.

    A resource is `name[:type][:no_consume][:count]`; without a count it is 1. The count is the last field, and only
    that: a type may begin with a digit or be a number, as in gpu:2080ti:4, gpu:3090:8 and gpu:1g.10gb:7.
    Source: Gres in slurm.conf(5).
    """
    counts: dict[str, int] = {}
    for resource in DETAILS.sub("", resources).split(","):
        name, *fields = (field.strip() for field in resource.split(":"))
        if name != resource_name:
            continue
        count = 1
        if fields and (number := COUNT.fullmatch(fields[-1])):
            count = int(number[1]) * FACTORS[number[2].upper()]
            fields.pop()
        resource_type = ":".join(field for field in fields if field and field != FLAG)
        counts[resource_type] = counts.get(resource_type, 0) + count
    return {resource_type: count for resource_type, count in counts.items() if count}


def _shapes(line: str) -> Iterator[tuple[str, int, int, int, str, int]]:
    partition, cores, memory, resources = (field.strip() for field in line.split("|", 3))
    shards = parse_shards(resources)
    for gpu_type, count in (parse_gpus(resources) or {"": 0}).items():
        yield partition, int(cores.rstrip("+")), int(memory.rstrip("+")), count, gpu_type, shards.get(gpu_type, 0)
