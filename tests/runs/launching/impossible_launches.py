"""Launches that no nodes of their cluster can run, each with the setting and the sentence of its refusal."""

from __future__ import annotations

import os
from typing import Any, NamedTuple


class Impossible(NamedTuple):
    """Resources that a run requests, and why that is refused at which setting."""

    compute: dict[str, Any]
    path: str
    sentence: str


def _far(path: str, sentence: str, **compute: Any) -> Impossible:
    return Impossible({"cluster": "far", **compute}, f"compute.{path}", sentence)


def _on(cluster: str, path: str, sentence: str, **compute: Any) -> Impossible:
    return Impossible({"cluster": cluster, **compute}, f"compute.{path}", sentence)


MEMORY_MB = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
MAIN, GPU = "partition main on cluster far", "partition gpu on cluster far"
IMPOSSIBLE = [
    _far("nodes", f"must be at most 6, not 9: {MAIN} has no more nodes", nodes=9),
    _far("gpus", f"must be at most 4, not 8: no node of {MAIN} has more", gpus=8),
    _far("gpus", f"must be at most 4, not 8: no node of {MAIN} has more of type a100", gpus=8, gpu_type="a100"),
    _far("cores", f"must be at most 16, not 64: no node of {MAIN} has more", cores=64),
    _far("memory_mb", f"must be at most 64000, not 65000: no node of {MAIN} has more", memory_mb=65_000),
    _far("gpu_type", f"must be one of a100 on {MAIN}, or empty, not 'b200'", gpus=1, gpu_type="b200"),
    _far("gpu_type", f"must be one of a100 on {MAIN}, or empty, not 'h100'", gpus=1, gpu_type="h100"),
    _far("gpu_type", f"must be one of h100 on {GPU}, or empty, not 'a100'", gpus=1, gpu_type="a100", partition="gpu"),
    _far("nodes", f"must be at most 2, not 3: {GPU} has no more nodes", nodes=3, partition="gpu"),
    _far("gpus", f"must be at most 8, not 9: no node of {GPU} has more", gpus=9, partition="gpu"),
    _far("partition", "must be one of main, gpu, not 'old', which cluster far does not have", partition="old"),
    _far("partition", "must be one of main, gpu, old on cluster far, or empty for the first", partition="night"),
    _far("nodes", f"must be at most 2, not 3: so many nodes of {MAIN} have 4 GPUs each", nodes=3, gpus=4),
    _far("nodes", f"must be at most 2, not 3: so many nodes of {MAIN} have 16 cores each", nodes=3, cores=16),
    _far(
        "nodes",
        f"must be at most 2, not 5: so many nodes of {MAIN} have 2 GPUs of type A100, 12 cores and 40000 MB of memory",
        nodes=5, gpus=2, gpu_type="A100", cores=12, memory_mb=40_000,
    ),
    _on("rays", "nodes", "must be at most 3, not 4: cluster rays has no more nodes", nodes=4),
    _on("rays", "gpus", "must be at most 4, not 5: no node of cluster rays has more", gpus=5),
    _on("rays", "gpu_type", "must be one of T4 on cluster rays, or empty, not 'h100'", gpus=1, gpu_type="h100"),
    _on("rays", "cores", "must be at most 8, not 16: no node of cluster rays with 1 GPU has more", gpus=1, cores=16),
    _on(
        "rays", "memory_mb",
        "must be at most 32000, not 64000: no node of cluster rays with 2 GPUs and 8 cores has more",
        gpus=2, cores=8, memory_mb=64_000,
    ),
    _on("cpus", "gpus", "must be 0, not 1: no node of cluster cpus has GPUs", gpus=1),
    _on("cpus", "gpus", "must be 0, not 2: no node of cluster cpus has GPUs", gpus=2, gpu_type="h100"),
    _on("shared", "nodes", "must be at most 4 on cluster shared, not 5", nodes=5),
    _on("shared", "gpus", "must be at most 8 on all nodes together on cluster shared, not 12 (3 × 4)", nodes=3, gpus=4),
    _on("local", "nodes", "must be 1, not 2: cluster local is one machine", nodes=2),
    _on("local", "cores", "must be at most 4, not 5: no node of cluster local has more", cores=5),
    _on("local", "gpus", "must be at most 2, not 3: no node of cluster local has more", gpus=3),
    _on(
        "local", "memory_mb", f"must be at most {MEMORY_MB}, not 90000000: no node of cluster local has more",
        memory_mb=90_000_000,
    ),
    _on(
        "local", "gpu_type", "must be empty, not 'h100': cluster local does not name the types of its GPUs",
        gpus=1, gpu_type="h100",
    ),
]  # fmt: skip
