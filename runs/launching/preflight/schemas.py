"""JSON schemas of the pre-flight check of a run."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import Field

from runs.http import Output
from runs.launching.gpu_memory.schemas import GpuMemoryOut
from runs.launching.preflight.check import LaunchHours, Preflight
from runs.launching.preflight.disk import LaunchDisk


class CheckpointOut(Output):
    """Bytes of one checkpoint by part: weights, float32 master of other weights, adapter, state of GRPO's optimizer,
    tokenizer and settings."""

    weights: int
    master: int
    adapter: int
    optimizer: int
    others: int


class DiskOut(Output):
    """Bytes of the run's `checkpoints`: `checkpoint_bytes` of the newest, by `parts`; `total_bytes` of all runs at most
    at once, and `left_bytes` after the end. `free_bytes` on their disk is null if it is not on this machine. If the
    sizes are unknown, `reason` is why."""

    checkpoints: int
    checkpoint_bytes: int
    total_bytes: int = Field(validation_alias="total")
    left_bytes: int = Field(validation_alias="left")
    free_bytes: int | None = Field(validation_alias="free")
    fits: bool
    parts: CheckpointOut | None
    reason: str

    @classmethod
    def from_disk(cls, disk: LaunchDisk) -> DiskOut:
        """Return the checkpoints as JSON."""
        largest = disk.largest
        return cls.from_row(
            disk,
            checkpoints=largest.checkpoints if largest else 0,
            checkpoint_bytes=largest.checkpoint.total if largest else 0,
            parts=largest.checkpoint if largest else None,
        )


class HoursOut(Schema):
    """Seconds after the start, by `past_runs` of this size: their median and range, all null without any. `gpu_hours`
    and `cpu_hours` are what the run then costs: a run with GPUs costs no CPU hours."""

    median_seconds: float | None
    low_seconds: float | None
    high_seconds: float | None
    past_runs: int
    gpu_hours: float | None
    cpu_hours: float | None

    @classmethod
    def from_hours(cls, hours: LaunchHours) -> HoursOut:
        """Return the estimate as JSON."""
        estimate, cost = hours.longest, hours.cost
        return cls(
            median_seconds=estimate.median if estimate else None,
            low_seconds=estimate.low if estimate else None,
            high_seconds=estimate.high if estimate else None,
            past_runs=estimate.runs if estimate else 0,
            gpu_hours=cost.gpu if cost else None,
            cpu_hours=cost.cpu if cost else None,
        )


class NeedOut(Output):
    """A need that is known on this site. unknown: only the run itself will find out."""

    name: str
    state: Literal["ok", "missing", "unknown"]
    sentence: str


class PreflightOut(Output):
    """The check of a run. `verdict`: problem if something is missing or does not fit, unknown if something cannot be
    checked on this site, else ready."""

    verdict: Literal["ready", "unknown", "problem"]
    memory: GpuMemoryOut
    disk: DiskOut
    hours: HoursOut
    needs: list[NeedOut]

    @classmethod
    def from_preflight(cls, checked: Preflight) -> PreflightOut:
        """Return the check as JSON."""
        return cls.from_row(
            checked,
            memory=GpuMemoryOut.from_memory(checked.memory),
            disk=DiskOut.from_disk(checked.disk),
            hours=HoursOut.from_hours(checked.hours),
        )
