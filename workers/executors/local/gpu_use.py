"""The GPUs of this machine as jobs use them: which GPU a job gets, or the reason why it waits.

A job has whole GPUs, or a share of one. Shares of a GPU add up to at most 1, and so does the memory that its jobs plan,
with the memory that programs outside esweb hold. What a job has planned counts, and not what it holds now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.executors.tickets import Ticket
from workers.gpus import Card
from workers.memory_plan.card import SHARE

PROCESSES = Path("/proc")
UNPLANNED_SHARE = 0.5
"""Share of a GPU's memory that a job with whole GPUs needs free if its memory is not planned."""
ROUNDING = 1e-6
"""Error of a sum of shares."""


@dataclass(frozen=True)
class Assignment:
    """The GPUs that a job gets, as CUDA_VISIBLE_DEVICES names them, or the `reason` why it waits.

    `is_external`: it waits for something that no other job can release, as a GPU that has disappeared.
    """

    devices: tuple[str, ...] = ()
    reason: str = ""
    is_external: bool = False


@dataclass(frozen=True)
class CardUse:
    """A GPU with its running jobs: their keys, their shares together, and the memory in MB that other programs hold."""

    card: Card
    keys: tuple[str, ...]
    share: float
    others_mb: int


class GpuUse:
    """The GPUs of this machine with the running jobs on them."""

    def __init__(
        self, cards: Sequence[Card], running: Sequence[Ticket], own_processes: Callable[[], Collection[int] | None]
    ) -> None:
        """`own_processes` returns those of the driver's process ids that are of running jobs, or of no process any
        more; None if they cannot be compared. It is called at most once, and only if the memory of others matters."""
        self._cards, self._read_processes = cards, own_processes
        self._jobs = {card.device: [job for job in running if any(map(card.is_called, job.devices))] for card in cards}
        self._processes: Collection[int] | None = None
        self._has_processes = False

    def assign(self, job: Ticket) -> Assignment:
        """Return the GPUs that a waiting job gets now."""
        if not job.gpus:
            return Assignment()
        if job.device_count > len(self._cards):
            return Assignment(reason=self._missing_reason(job), is_external=True)
        able = [card for card in self._cards if self._others_mb(card) + needed_mb(job, card) <= _limit(card)]
        if len(able) < job.device_count:
            return Assignment(reason=self._foreign_reason(job), is_external=True)
        free = [card for card in able if self._has_room(job, card)]
        if len(free) < job.device_count:
            return Assignment(reason=self._busy_reason(job))
        if job.shares_gpu:
            # The least shared one: jobs that share a GPU slow each other down.
            return Assignment((min(free, key=lambda card: self._used_share(card)).device,))
        return Assignment(tuple(card.device for card in free[: job.device_count]))

    def describe(self) -> list[CardUse]:
        """Return each GPU with the jobs on it."""
        return [
            CardUse(
                card,
                tuple(job.key for job in self._jobs[card.device]),
                round(self._used_share(card), 3),
                round(self._others_mb(card)),
            )
            for card in self._cards
        ]

    def _has_room(self, job: Ticket, card: Card) -> bool:
        """Return whether the jobs on the GPU leave room for another."""
        jobs = self._jobs[card.device]
        if not job.shares_gpu:
            return not jobs
        planned = sum(needed_mb(other, card) for other in (*jobs, job))
        is_within_memory = planned + self._others_mb(card) <= _limit(card)
        return self._used_share(card) + job.gpus <= 1 + ROUNDING and is_within_memory

    def _used_share(self, card: Card) -> float:
        return sum(job.gpus if job.shares_gpu else 1 for job in self._jobs[card.device])

    def _others_mb(self, card: Card) -> float:
        """Return the memory that programs outside esweb hold: all that is used, without what is the jobs' own."""
        own = self._own_processes() if card.process_mb else None
        if own is None:
            return max(0, card.used_mb - sum(needed_mb(job, card) for job in self._jobs[card.device]))
        return max(0, card.used_mb - sum(mb for pid, mb in card.process_mb.items() if pid in own))

    def _own_processes(self) -> Collection[int] | None:
        if not self._has_processes:
            self._processes, self._has_processes = self._read_processes(), True
        return self._processes

    def _missing_reason(self, job: Ticket) -> str:
        shown = f"{len(self._cards)} GPU{'' if len(self._cards) == 1 else 's'}" if self._cards else "none"
        return f"waiting for {_amount(job)}: this machine offers {shown} now"

    def _foreign_reason(self, job: Ticket) -> str:
        card = max(self._cards, key=lambda card: card.memory_mb - self._others_mb(card))
        others, needed = round(self._others_mb(card)), round(needed_mb(job, card))
        text = f"other programs hold {others} of the {card.memory_mb} MB of GPU {card.index}"
        rest = " and more of the others" if len(self._cards) > 1 else ""
        return f"waiting for {needed} MB of GPU memory: {text}{rest}"

    def _busy_reason(self, job: Ticket) -> str:
        # Jobs are counted and not named, because the reader may not be allowed to see their runs.
        used = sum(self._used_share(card) for card in self._cards)
        if not job.shares_gpu:
            used = sum(bool(jobs) for jobs in self._jobs.values())
        return f"waiting for {_amount(job)}: {round(used, 3):g} of {len(self._cards)} in use"


def needed_mb(job: Ticket, card: Card) -> float:
    """Return the memory of this GPU that a job plans to take, in MB; 0 if the GPU's memory is not known.

    A job's share of a GPU includes the part that a plan leaves to the allocator and to other programs.
    """
    if not card.memory_mb:
        return 0
    if not job.gpu_memory_mb and not job.shares_gpu:
        return UNPLANNED_SHARE * card.memory_mb
    return SHARE * (job.gpu_memory_mb or job.gpus * card.memory_mb)


def _limit(card: Card) -> float:
    """Return the memory that there is; of a GPU whose memory is not known, any."""
    return card.memory_mb or float("inf")


def _amount(job: Ticket) -> str:
    return f"{job.gpus:g} of a GPU" if job.shares_gpu else f"{job.gpus:g} GPU{'' if job.gpus == 1 else 's'}"


def own_processes(roots: Iterable[int], reported: Sequence[int]) -> Collection[int] | None:
    """Return those of the reported process ids that are of `roots` and their descendants, or of no process any more.

    None if this machine has none of the reported processes: then the driver numbers them in another way, as it does
    in most containers, and the ids cannot be compared.
    """
    parents = _read_parents()
    if not any(pid in parents for pid in reported):
        return None
    roots = frozenset(roots)
    return {pid for pid in reported if pid not in parents or not roots.isdisjoint(_ancestors(pid, parents))}


def _ancestors(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    """Yield a process and its ancestors, from the inside."""
    seen = set[int]()
    # Processes are not read at one moment, so ids that were used again could form a circle.
    while pid in parents and pid not in seen:
        yield pid
        seen.add(pid)
        pid = parents[pid]


def _read_parents() -> dict[int, int]:
    """Return the id of each process of this machine with that of its parent; none without /proc."""
    parents = {}
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            # The name of the program, in parentheses, may contain anything.
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    return parents
