"""Start of the processes of engines, which see their own GPUs alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from workers.engine_nodes.links import EngineCommand

PROJECT = Path(__file__).parents[2]
VISIBLE = "CUDA_VISIBLE_DEVICES"


class GpuMissing(Exception):
    """This node has fewer GPUs than an engine needs. The message names both."""


def start_engine(
    command: EngineCommand,
    descriptor: int,
    service: Mapping[str, str] | None = None,
    preexec: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start the process of an engine, which serves the connection of this descriptor.

    `service` is the environment of CUDA's Multi-Process Service, if it shares GPUs: that numbers the GPUs that this
    process may use from 0. The process calls `preexec` before its program. Raise OSError if it does not start, and
    GpuMissing.
    """
    variables = {**os.environ, **command.environment, **(service or {})}
    if command.gpus:
        variables[VISIBLE] = ",".join(map(str, command.gpus) if service else name_gpus(command.gpus))
    return subprocess.Popen(
        [command.python, "-m", command.program, str(descriptor)],
        cwd=PROJECT, env=variables, stdin=subprocess.DEVNULL, pass_fds=[descriptor], preexec_fn=preexec,
    )  # fmt: skip


def name_gpus(numbers: Sequence[int]) -> list[str]:
    """Return the names of GPUs, as CUDA_VISIBLE_DEVICES has them, among those that this process may use.

    Raise GpuMissing.
    """
    text = os.environ.get(VISIBLE)
    if text is None:
        return [str(number) for number in numbers]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if max(numbers) >= len(names):
        raise GpuMissing(f"has {len(names)} GPUs ({VISIBLE}={text!r}), and an engine needs number {max(numbers)}")
    return [names[number] for number in numbers]
