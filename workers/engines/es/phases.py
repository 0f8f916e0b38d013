"""Measures the seconds that an engine spends in each phase of an iteration, without waiting for its GPU.

noise    makes the members of a batch, or writes one into the model and the centre back
prefill  reads the prompts
decode   writes the answers; with transformers, which does both in one call, it includes the prefill
update   adds the weighted noise to the master and writes the centre

Seconds are those of one device: an engine has one, and seconds of several engines are added up. On a GPU they are the
time between two events on the stream that is current, so they hold the gaps in which the GPU waits for its CPU.
Measurements that overlap, such as nested ones, each count in full. Tokens turned to text, and what happens between the
phases, belong to none.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

PHASES = ("noise", "prefill", "decode", "update")


class Phases:
    """The seconds of each phase on one device since they were last taken. Threads may measure at the same time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._spans: deque[tuple[str, Timestamp, Timestamp]] = deque()

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Count the block's seconds to a phase, even if the block raises. Raise ValueError for an unknown phase."""
        if phase not in PHASES:
            raise ValueError(f"phase must be one of {', '.join(PHASES)}, not {phase!r}")
        start = self._now()
        try:
            yield
        finally:
            self._spans.append((phase, start, self._now()))

    def take(self) -> dict[str, float]:
        """Return the seconds of every phase and begin again at 0. On a GPU wait until all that was measured is done."""
        for _phase, _start, end in list(self._spans):
            end.wait()
        return self.take_finished()

    def take_finished(self) -> dict[str, float]:
        """Return the seconds of what the device has done by now, without waiting. The rest is in the next call's."""
        seconds = dict.fromkeys(PHASES, 0.0)
        for _ in range(len(self._spans)):
            span = self._spans.popleft()
            phase, start, end = span
            if end.is_reached():
                seconds[phase] += end.seconds_since(start)
            else:
                self._spans.append(span)
        return seconds

    def _now(self) -> Timestamp:
        return EventTime(self._device) if self._device.type == "cuda" else ClockTime()


class Timestamp(Protocol):
    """A time on a device."""

    value: Any

    def wait(self) -> None:
        """Return once the device has come to this time."""

    def is_reached(self) -> bool:
        """Return whether the device has come to this time."""

    def seconds_since(self, start: Timestamp) -> float:
        """Return the seconds from a reached time of the same kind to this one, which must be reached too."""


class ClockTime:
    """The present time on a CPU, which does its work in the calling thread."""

    def __init__(self) -> None:
        self.value = time.perf_counter()

    def wait(self) -> None:
        """Return immediately."""

    def is_reached(self) -> bool:
        return True

    def seconds_since(self, start: Timestamp) -> float:
        return float(self.value - start.value)


class EventTime:
    """The time at which a GPU has done all that is in the current stream now."""

    def __init__(self, device: torch.device) -> None:
        self.value = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self.value.record(torch.cuda.current_stream(device))

    def wait(self) -> None:
        self.value.synchronize()

    def is_reached(self) -> bool:
        return bool(self.value.query())  # type: ignore[no-untyped-call]

    def seconds_since(self, start: Timestamp) -> float:
        return float(start.value.elapsed_time(self.value)) / 1000
