"""Executor that runs attempts on this machine: on a number of cores and on GPUs; other jobs wait in a queue.

There is no daemon. `poll` and `submit` also start the jobs that fit, under one lock, so the next call gives a free core
away. Every agent runs in a session of its own and outlives the process that started it. A start may be tried twice, by
two processes or after a crash: the agent's claim lets the program run once. A waiting job reports what it waits for.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from workers.attempt import CLOSED_EPOCH, Process, is_disk_full, owner, raise_lease
from workers.executors.agent_start import write_spec
from workers.executors.base import KEY, NodeShape, Observation, Rejected, Spec, Unreachable
from workers.executors.local.gpu_use import CardUse, GpuUse, own_processes
from workers.executors.local.job_lifecycle import (
    SITE_STOPPED,
    await_ends,
    begin,
    ending_of,
    interrupted,
    kill,
    observe,
    used_cores,
    was_stopped_from_outside,
)
from workers.executors.local.mps_services import MpsServices
from workers.executors.states import State
from workers.executors.tickets import Ticket, Tickets
from workers.gpus import Card

MB = 1024 * 1024
GPU_GONE = "its GPU has disappeared"
DEATH_SECONDS = 5.0
"""SIGKILL takes effect immediately, except for a process that waits for a disk."""


class Local:
    """This machine as a cluster. `root` holds the queue, `cores` and `gpus`, as they are now, are what runs may use.

    `uses_mps`: whether jobs that allow it run concurrently on the GPU that they share, if this machine can.
    """

    trust_running = True

    def __init__(
        self,
        root: Path,
        cores: int,
        gpus: Sequence[Card] = (),
        beat_seconds: float = 1.0,
        niceness: int = 0,
        *,
        uses_mps: bool = True,
    ) -> None:
        self.root, self.cores, self.gpus, self.beat_seconds = root, cores, tuple(gpus), beat_seconds
        self.niceness, self._uses_mps, self._mps = niceness, uses_mps, MpsServices(root)

    def node_shapes(self) -> list[NodeShape]:
        """Return this machine, with the cores and GPUs that runs may use, and its memory."""
        memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB
        return [NodeShape(1, self.cores, memory_mb, len(self.gpus))]

    def find(self, key: str) -> Observation | None:
        """Return the job of that key, or None."""
        with _disk_errors():
            tickets = Tickets(self.root)
            ticket = tickets.get(key)
            return None if ticket is None else self._observe(tickets.open(), [ticket])[key]

    def submit(self, spec: Spec) -> str:
        """Queue the job, start the jobs that fit, and return the key. Raise Rejected if the machine is too small for
        it."""
        self._reject_oversized(spec)
        with self._queue() as tickets:
            if tickets.get(spec.key) is None:
                self._enqueue(tickets, spec)
            self._advance(tickets)
        return spec.key

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """Start the jobs that fit, and return the state of each of these."""
        with self._queue() as tickets:
            open_tickets = self._advance(tickets)
            tickets_by_key = {key: tickets.get(key) for key in keys}
            known = self._observe(open_tickets, [ticket for ticket in tickets_by_key.values() if ticket])
            return {key: known.get(key) for key in tickets_by_key}

    def card_uses(self) -> list[CardUse]:
        """Return the GPUs with the jobs that run on them. Starts nothing, and waits for no lock. Raise Unreachable."""
        with _disk_errors():
            return self._gpu_use([t for t in Tickets(self.root).open() if t.owner]).describe()

    def withdraw(self, keys: Sequence[str]) -> None:
        """Remove those of the jobs from the queue whose agent has not begun. None begins meanwhile: the queue is
        locked."""
        with self._queue() as tickets:
            for ticket in filter(None, map(tickets.get, keys)):
                if not ticket.state and (ticket.owner or owner(ticket.path)) is None:
                    self._close_waiting(tickets, ticket)

    def cancel(self, key: str, grace_seconds: float) -> None:
        """Remove a waiting job from the queue. Ask a running one to stop; if asked again after the grace, kill it."""
        with self._queue() as tickets:
            ticket = tickets.get(key)
            if ticket is None or ticket.state:
                return
            if (agent := ticket.owner or self._close_waiting(tickets, ticket)) is None:
                return
            self._stop(tickets, replace(ticket, owner=agent), grace_seconds)
            self._record_ended(tickets)

    def interrupt(self, grace_seconds: float, reason: str = SITE_STOPPED) -> list[str]:
        """Stop all running jobs because esweb stops, wait for their end, and return their keys. Waiting jobs stay
        queued. `reason` becomes that of the jobs which the stop has ended."""
        with self._queue() as tickets:
            stopped = [tickets.put(interrupted(t, reason)) for t in tickets.open() if was_stopped_from_outside(t)]
            # An agent ends as soon as it has recorded the end of its program, which this stop has not caused.
            await_ends([t for t in tickets.open() if (t.path / "exit.json").exists()], DEATH_SECONDS)
            self._record_ended(tickets)
            running = [interrupted(t, reason) for t in tickets.open() if t.owner]
            for ticket in running:
                self._stop(tickets, ticket, grace_seconds)
            await_ends(running, grace_seconds)
            for ticket in running:
                kill(ticket)
            await_ends(running, DEATH_SECONDS)
            self._record_ended(tickets)
        return sorted({t.key for t in (*stopped, *running)})

    @contextmanager
    def _queue(self) -> Iterator[Tickets]:
        with _disk_errors():
            tickets = Tickets(self.root)
            with tickets.lock():
                yield tickets

    def _reject_oversized(self, spec: Spec) -> None:
        if not KEY.fullmatch(spec.key):
            raise Rejected(f"{spec.key!r} is not a valid key: use only letters, digits, - and _")
        if spec.nodes > 1:
            raise Rejected(f"requests {spec.nodes} nodes; this machine is one")
        # A GPU that is missing now may be one that has disappeared: the job waits for it.
        if spec.cores > self.cores:
            raise Rejected(f"requests {spec.cores} cores; this machine offers runs {self.cores}")

    def _enqueue(self, tickets: Tickets, spec: Spec) -> None:
        write_spec(spec, self.beat_seconds, self.niceness)
        numbers = [t.number for t in tickets.open()]
        number = min(numbers, default=0) - 1 if spec.goes_first else max(numbers, default=0) + 1
        tickets.put(
            Ticket(
                spec.key, number, str(spec.directory), spec.cores, spec.gpus, spec.gpu_memory_mb, spec.runs_concurrently
            )
        )

    def _advance(self, tickets: Tickets) -> list[Ticket]:
        """Record the jobs that ended, start those that fit, strictly in order, and return the queue as it is then.

        A job that waits for GPUs which no other job can release holds back only those that request GPUs, too.
        """
        self._record_ended(tickets)
        holds_gpus_back = False
        for ticket in (t for t in tickets.open() if not t.owner):
            if ticket.cores > self.cores:
                reason = f"requests {ticket.cores} cores; this machine now offers runs {self.cores} cores"
                tickets.end(ticket, State.FAILED, "too big", reason)
                continue
            if ticket.gpus and holds_gpus_back:
                continue
            running = [t for t in tickets.open() if t.owner]
            assignment = self._gpu_use(running).assign(ticket)
            if assignment.is_external:
                holds_gpus_back = True
            elif (
                assignment.reason
                or ticket.cores > self.cores - used_cores(running)
                or not self._begin(tickets, ticket, assignment.devices)
            ):
                break
        return tickets.open()

    def _record_ended(self, tickets: Tickets) -> None:
        for ticket in tickets.open():
            agent = ticket.owner or owner(ticket.path)
            if agent is None:
                continue
            if not agent.is_alive():
                claimed = replace(ticket, owner=agent)
                # Before its program is killed: what comes of that is not how the job ended.
                state, word, reason = ending_of(claimed)
                if state == State.FAILED and self._lacks_gpu_of(claimed):
                    state, reason = State.NODE_LOST, GPU_GONE
                kill(claimed)
                tickets.end(claimed, state, word, reason)
            elif ticket.owner is None:
                tickets.put(replace(ticket, owner=agent))
        # The agent of a job that has no owner yet may be about to claim it.
        self._mps.end_unused({device for t in tickets.open() if t.runs_concurrently for device in t.devices})

    def _lacks_gpu_of(self, ticket: Ticket) -> bool:
        """Return whether a GPU of the job has disappeared."""
        return not all(any(card.is_called(device) for card in self.gpus) for device in ticket.devices)

    def _observe(self, open_tickets: Sequence[Ticket], jobs: Sequence[Ticket]) -> dict[str, Observation]:
        gpu_use = self._gpu_use([t for t in open_tickets if t.owner])
        return {job.key: observe(job, open_tickets, self.cores, gpu_use) for job in jobs}

    def _gpu_use(self, running: Sequence[Ticket]) -> GpuUse:
        def read_processes() -> Collection[int] | None:
            roots = [t.owner.pid for t in running if t.owner]
            reported = [pid for card in self.gpus for pid in card.process_mb]
            return own_processes((*roots, *self._mps.processes()), reported)

        return GpuUse(self.gpus, running, read_processes)

    def _begin(self, tickets: Tickets, ticket: Ticket, devices: tuple[str, ...]) -> bool:
        """Start the job on these GPUs. Return False if that failed and the next call should try again."""
        is_concurrent = ticket.shares_gpu and ticket.runs_concurrently and self._uses_mps
        return begin(tickets, ticket, devices, lambda: self._mps.environment(devices[0]) if is_concurrent else {})

    def _close_waiting(self, tickets: Tickets, ticket: Ticket) -> Process | None:
        """Remove a waiting job from the queue. If an agent has claimed it meanwhile, return that agent instead."""
        ticket.path.mkdir(parents=True, exist_ok=True)
        raise_lease(ticket.path, CLOSED_EPOCH)
        if (agent := owner(ticket.path)) is None:
            tickets.end(ticket, State.CANCELLED, "cancelled", "cancelled while it was queued")
        return agent

    def _stop(self, tickets: Tickets, ticket: Ticket, grace_seconds: float) -> None:
        """Send SIGTERM on every call, since an earlier one may not have been sent; an agent acts only on the first."""
        now = time.monotonic()
        ticket = tickets.put(replace(ticket, asked_at=now if ticket.asked_at is None else ticket.asked_at))
        if ticket.owner:
            ticket.owner.send(signal.SIGTERM)
        if ticket.asked_at is not None and now - ticket.asked_at > grace_seconds:
            kill(ticket)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Raise Unreachable if the disk refuses: that says nothing about any job, and the caller tries again later."""
    try:
        yield
    except OSError as error:
        cause = "disk full: " if is_disk_full(error) else ""
        raise Unreachable(f"{cause}the local queue cannot be used: {error}") from error
