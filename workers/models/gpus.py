"""The number of GPUs that a job holds, over all its processes and machines."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from workers.config import ConfigError, Problem

WORLD, LOCAL_WORLD = "WORLD_SIZE", "LOCAL_WORLD_SIZE"


def count_gpus(visible: int, environment: Mapping[str, str] = os.environ) -> int:
    """Return the number of GPUs of the whole job, used or not. This process sees `visible` of them.

    torchrun sets WORLD_SIZE, the job's processes, and LOCAL_WORLD_SIZE, those on this machine. A process that sees
    fewer GPUs than its machine has processes sees its own alone. Otherwise all processes of a machine see all of its
    GPUs, which count once. Without LOCAL_WORLD_SIZE a machine has a process for each GPU that is visible.
    Raise ConfigError if one of the two is no number of processes.
    """
    world = _read_size(environment, WORLD, 1)
    local = _read_size(environment, LOCAL_WORLD, max(1, min(world, visible)))
    if local > world:
        raise ConfigError([Problem("", f"{LOCAL_WORLD} is {local}: it must be at most {WORLD}, which is {world}")])
    return world * visible if visible < local else math.ceil(world * visible / local)


def _read_size(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise ConfigError([Problem("", f"{name} must be a whole number above 0, not {text[:20]!r}; or leave it unset")])
    return int(text)
