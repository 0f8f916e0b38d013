"""What a job's log says about why it ended before its program could: a sentence, and the line that it was read from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

TAIL_BYTES = 64 * 1024
LINE = 300
SIGNS = (
    (r"esweb job: the module (\S+) was not loaded|[Uu]nable to locate a modulefile|module(\(s\))? (is|are) unknown",
     "a module of the cluster's config was not loaded: see modules"),
    (r"module: command not found", "the cluster has no environment modules: leave modules out of its config"),
    (r"No module named '?workers", "the node does not see esweb's code: see project in the cluster's config"),
    (r"No module named|ModuleNotFoundError", "the Python on the node lacks a package: see python in the config"),
    (r"env: .*(No such file or directory|Permission denied)",
     "the node has no such interpreter: see python in the cluster's config"),
    (r"esweb agent: .*spec\.json is missing", "the node does not see the folder that holds its files"),
    (r"oom[-_ ]?kill|Out Of Memory|out-of-memory handler|Exceeded job memory limit",
     "it used more memory than it had asked for: see compute.memory_mb"),
    (r"CUDA out of memory|torch\.OutOfMemoryError", "a GPU's memory was full: fewer prompts at once take less"),
    (r"No space left on device|Disk quota exceeded", "the disk that holds its directory is full"),
    (r"DUE TO TIME LIMIT", "it reached the time limit that Slurm gave it: see compute.time_limit_seconds"),
    (r"DUE TO PREEMPTION", "Slurm gave its place to a job that goes before it"),
    (r"DUE TO NODE FAILURE", "its node failed"),
    (r"CUDA error|no CUDA-capable device|NVIDIA driver", "the node's GPU or its driver does not answer"),
)  # fmt: skip
"""Pattern and sentence; the first that is found, from the log's end upward."""


def diagnose(*logs: Path) -> str:
    """A sentence with the line behind it, from the first log that holds a sign; empty where none does."""
    return next((said for log in logs if (said := explain(_tail(log), log.name))), "")


def explain(lines: Sequence[str], source: str) -> str:
    """The same from lines of a log that is called `source`."""
    for pattern, sentence in SIGNS:
        if line := next((line for line in reversed(lines) if re.search(pattern, line)), ""):
            return f"{sentence} ({source}: {line.strip()[:LINE]})"
    return ""


def _tail(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            return file.read().decode(errors="replace").replace("\x00", "").splitlines()
    except FileNotFoundError:
        return []
