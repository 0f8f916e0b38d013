"""The processes of one GRPO training, as they exchange what TRL does not: decisions, completions and weights.

The first process scores, evaluates, records and saves. It decides when to stop; the others do as it does, so that all
make the same calls in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from workers.engines.stop import Interrupted
from workers.trainer_processes import PeerLost
from workers.trainer_processes.layout import RENDEZVOUS

PATIENCE = timedelta(days=7)
"""Time limit of a call that all processes share: the others wait for evaluations and for a scorer in one. A process
that is lost ends all of them at once, by the supervisor."""
T = TypeVar("T")


class ProcessGroup:
    """All processes of the training; only this one if it is alone."""

    def __init__(self) -> None:
        self.rank, self.size = 0, 1
        self._control: Any = None
        if dist.is_initialized():
            self.rank, self.size = dist.get_rank(), dist.get_world_size()
            # By way of the CPU, where waiting keeps no GPU busy.
            self._control = dist.new_group(backend="gloo", timeout=PATIENCE)

    @property
    def is_first(self) -> bool:
        """Return whether this process scores, evaluates, records and saves."""
        return self.rank == 0

    def share(self, value: T) -> T:
        """Return the first process's value in all processes."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self._control)
        return values[0]

    def gather(self, rows: list[T]) -> list[T]:
        """Return the rows of all processes, in their order, in the first process; no rows in the others."""
        if self.size == 1:
            return rows
        parts: list[list[T]] | None = [[] for _ in range(self.size)] if self.is_first else None
        dist.gather_object(rows, parts, dst=0, group=self._control)
        return [row for part in parts or () for row in part]

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            dist.barrier(group=self._control)

    def run_in_first(self, work: Callable[[], T]) -> T:
        """Return the result of work that the first process does. An error of it is raised in all processes: as itself
        there, as `PeerFailed` with its type in the others."""
        if self.size == 1:
            return work()
        failure: BaseException | None = None
        result: T | None = None
        if self.is_first:
            try:
                result = work()
            except BaseException as error:
                failure = error
        kind, result = self.share((type(failure) if failure else None, result))
        if failure is not None:
            raise failure
        if kind is not None:
            raise PeerFailed(kind)
        return result  # type: ignore[return-value]


class PeerFailed(BaseException):
    """The first process raised an error of type `kind` in work that it does for all. It is no Exception, so that a
    handler of those does not take it for an error of this process."""

    def __init__(self, kind: type[BaseException]) -> None:
        super().__init__(kind.__name__)
        self.kind = kind


def join_processes(prepare: Callable[[], object]) -> None:
    """Meet the other processes, if this is one of several, and let the first one `prepare` before they go on.

    Raise RuntimeError if they cannot be reached, and PeerLost if the first one fails.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1 or RENDEZVOUS not in os.environ:
        return
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(
        "cuda:nccl,cpu:gloo" if on_gpu else "gloo",
        init_method=os.environ[RENDEZVOUS],
        rank=int(os.environ["RANK"]),
        world_size=world,
        timeout=PATIENCE,
    )
    try:
        ProcessGroup().run_in_first(lambda: prepare() and None)
    except PeerFailed as error:
        if issubclass(error.kind, Interrupted):
            raise Interrupted from error
        raise PeerLost(f"the first process failed: {error.kind.__name__}") from error


def leave_processes() -> None:
    """End the connections to the other processes, if there are any."""
    if dist.is_initialized():
        dist.destroy_process_group()
