"""The part of a GPU that a run may use where it shares the GPU with others.

A config with a fraction states it. For one with auto the site that starts the run has planned it, and names it in
variables of the run's environment; started by hand, such a run has its GPU alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from workers.config import ConfigError, Problem
from workers.config.run import ComputeConfig

SHARE_VARIABLE, MEMORY_VARIABLE = "ESWEB_GPU_SHARE", "ESWEB_GPU_MEMORY_MB"
MB = 2**20


def limit_environment(share: float, memory_mb: int) -> dict[str, str]:
    """Return the variables of a run that may use this share of a GPU, and this memory of it unless it is 0."""
    variables = {SHARE_VARIABLE: f"{share:g}"}
    return variables | ({MEMORY_VARIABLE: str(memory_mb)} if memory_mb else {})


def gpu_share(compute: ComputeConfig, environment: Mapping[str, str] = os.environ) -> float:
    """Return the fraction that the run has of each of its GPUs: 1 if it shares none. Raise ConfigError."""
    if compute.gpu_share is not None:
        return compute.gpu_share
    return _read(environment, SHARE_VARIABLE) or 1


def memory_limit(compute: ComputeConfig, card: int, environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the bytes that the run may take of a GPU of `card` bytes, None if that is all of them.

    Raise ConfigError if a variable is no number.
    """
    if not compute.shares_gpu:
        return None
    memory_mb = _read(environment, MEMORY_VARIABLE)
    limit = int(memory_mb * MB or gpu_share(compute, environment) * card)
    return limit if limit < card else None


def _read(environment: Mapping[str, str], name: str) -> float:
    """Return the number in a variable, 0 without the variable."""
    text = environment.get(name, "").strip()
    if not text:
        return 0
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 < number < 10**9:
        raise ConfigError([Problem("", f"{name} must be a number above 0, not {text[:20]!r}; or leave it unset")])
    return number
