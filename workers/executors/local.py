"""Executor that runs attempts on this machine: a number of cores, one run per GPU; other jobs wait in a queue.

There is no daemon. `poll` and `submit` also start the jobs that fit, under one lock, so the next call gives a free core
away. Every agent runs in a session of its own and outlives the process that started it. A start may be tried twice, by
two processes or after a crash: the agent's claim lets the program run once. A waiting job reports what it waits for.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from workers.attempt import (
    CLOSED_EPOCH,
    DISK_FULL,
    FENCED,
    RESERVE_BYTES,
    Process,
    is_disk_full,
    is_stop,
    owner,
    raise_lease,
    read_json,
)
from workers.executors.agent_start import start_agent, write_spec
from workers.executors.base import KEY, STOPPED_BY_ESWEB, NodeShape, Observation, Rejected, Spec, Unreachable
from workers.executors.states import State
from workers.executors.tickets import Ticket, Tickets

MB = 1024 * 1024
START_TRIES = 10
SITE_STOPPED = "esweb was stopped"
UNRECORDED = "disk full: its program has ended, and its exit record cannot be written to {}; free space"
DEATH_SECONDS = 5.0
"""SIGKILL takes effect immediately, except for a process that waits for a disk."""


class Local:
    """This machine as a cluster. `root` holds the queue, `cores` and `gpus` (device names) are what runs may use."""

    trust_running = True

    def __init__(
        self, root: Path, cores: int, gpus: Sequence[str] = (), beat_seconds: float = 1.0, niceness: int = 0
    ) -> None:
        self.root, self.cores, self.gpus, self.beat_seconds = root, cores, tuple(gpus), beat_seconds
        self.niceness = niceness

    def node_shapes(self) -> list[NodeShape]:
        """Return this machine, with the cores and GPUs that runs may use, and its memory."""
        memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB
        return [NodeShape(1, self.cores, memory_mb, len(self.gpus))]

    def find(self, key: str) -> Observation | None:
        """Return the job of that key, or None."""
        with _disk_errors():
            tickets = Tickets(self.root)
            ticket = tickets.get(key)
            return None if ticket is None else self._observe(ticket, tickets.open())

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
            return {
                key: self._observe(ticket, open_tickets) if ticket else None for key, ticket in tickets_by_key.items()
            }

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
            stopped = [tickets.put(_interrupted(t, reason)) for t in tickets.open() if _was_stopped_from_outside(t)]
            # An agent ends as soon as it has recorded the end of its program, which this stop has not caused.
            _await_ends([t for t in tickets.open() if (t.path / "exit.json").exists()], DEATH_SECONDS)
            self._record_ended(tickets)
            running = [_interrupted(t, reason) for t in tickets.open() if t.owner]
            for ticket in running:
                self._stop(tickets, ticket, grace_seconds)
            _await_ends(running, grace_seconds)
            for ticket in running:
                _kill(ticket)
            _await_ends(running, DEATH_SECONDS)
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
        for requested, offered, unit in ((spec.cores, self.cores, "cores"), (spec.gpus, len(self.gpus), "GPUs")):
            if requested > offered:
                raise Rejected(f"requests {requested} {unit}; this machine offers runs {offered}")

    def _enqueue(self, tickets: Tickets, spec: Spec) -> None:
        write_spec(spec, self.beat_seconds, self.niceness)
        numbers = [t.number for t in tickets.open()]
        number = min(numbers, default=0) - 1 if spec.goes_first else max(numbers, default=0) + 1
        tickets.put(Ticket(spec.key, number, str(spec.directory), spec.cores, spec.gpus))

    def _advance(self, tickets: Tickets) -> list[Ticket]:
        """Record the jobs that ended, start those that fit, strictly in order, and return the queue as it is then."""
        self._record_ended(tickets)
        for ticket in (t for t in tickets.open() if not t.owner):
            if ticket.cores > self.cores or ticket.gpus > len(self.gpus):
                offer = f"{self.cores} cores and {len(self.gpus)} GPUs"
                reason = f"requests {ticket.cores} cores and {ticket.gpus} GPUs; this machine now offers runs {offer}"
                tickets.end(ticket, State.FAILED, "too big", reason)
            elif not self._fits(ticket, tickets.open()) or not self._begin(tickets, ticket):
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
                ending = _ending(claimed)
                _kill(claimed)
                tickets.end(claimed, *ending)
            elif ticket.owner is None:
                tickets.put(replace(ticket, owner=agent))

    def _fits(self, ticket: Ticket, open_tickets: list[Ticket]) -> bool:
        running = [t for t in open_tickets if t.owner]
        cores_left = self.cores - sum(t.cores for t in running)
        return ticket.cores <= cores_left and ticket.gpus <= len(self._free_devices(running))

    def _free_devices(self, running: list[Ticket]) -> list[str]:
        taken = {device for t in running for device in t.devices}
        return [device for device in self.gpus if device not in taken]

    def _begin(self, tickets: Tickets, ticket: Ticket) -> bool:
        """Start the job. Return False if that failed and the next call should try again."""
        devices = tuple(self._free_devices([t for t in tickets.open() if t.owner])[: ticket.gpus])
        ticket = tickets.put(replace(ticket, devices=devices, tries=ticket.tries + 1))
        code, output = start_agent(ticket.path, ticket.cores, devices if self.gpus else None)
        if agent := owner(ticket.path):
            tickets.put(replace(ticket, owner=agent, reason=""))
        elif code == FENCED:
            tickets.end(ticket, State.CANCELLED, "fenced", "cancelled before it started")
        elif code == DISK_FULL:
            reason = f"disk full: {ticket.directory} cannot be written; the job starts once there is space"
            tickets.put(replace(ticket, tries=ticket.tries - 1, reason=reason))
            return False
        elif ticket.tries >= START_TRIES:
            tickets.end(
                ticket, State.FAILED, "not started", f"its agent did not start in {ticket.tries} tries: {output}"
            )
        else:
            reason = f"its agent did not start (try {ticket.tries} of {START_TRIES}): {output}"
            tickets.put(replace(ticket, reason=reason))
            return False
        return True

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
            _kill(ticket)

    def _observe(self, ticket: Ticket, open_tickets: list[Ticket]) -> Observation:
        if ticket.state:
            return Observation(State(ticket.state), ticket.key, ticket.native, ticket.reason)
        if ticket.owner is None:
            return Observation(
                State.QUEUED, ticket.key, "waiting", ticket.reason or self._waiting_reason(ticket, open_tickets)
            )
        if _is_unrecorded(ticket):
            return Observation(State.STOPPING, ticket.key, "ended", UNRECORDED.format(ticket.directory))
        is_stopping = ticket.asked_at is not None
        return Observation(
            State.STOPPING if is_stopping else State.RUNNING, ticket.key, "stopping" if is_stopping else "running"
        )

    def _waiting_reason(self, ticket: Ticket, open_tickets: list[Ticket]) -> str:
        running = [t for t in open_tickets if t.owner]
        jobs_ahead = [t for t in open_tickets if not t.owner and t.number < ticket.number]
        used = sum(t.cores for t in running)
        need = "a core" if ticket.cores == 1 else f"{ticket.cores} cores"
        # Jobs are counted and not named, because the reader may not be allowed to see their runs.
        jobs = "1 job" if len(running) == 1 else f"{len(running)} jobs"
        reason = f"waiting for {need}: {used} of {self.cores} in use by {jobs}"
        if ticket.gpus > (free := len(self._free_devices(running))):
            reason = f"waiting for {ticket.gpus} GPU: {len(self.gpus) - free} of {len(self.gpus)} in use"
        return f"{reason}; {len(jobs_ahead)} ahead in the queue" if jobs_ahead else reason


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Raise Unreachable if the disk refuses: that says nothing about any job, and the caller tries again later."""
    try:
        yield
    except OSError as error:
        cause = "disk full: " if is_disk_full(error) else ""
        raise Unreachable(f"{cause}the local queue cannot be used: {error}") from error


def _kill(ticket: Ticket) -> None:
    """Kill agent and program. On Linux the kernel has mostly killed the program already; on other systems it has
    not."""
    if ticket.owner:
        ticket.owner.send(signal.SIGKILL)
    program = Process.recorded(read_json(ticket.path / "heartbeat.json"))
    if program and program.is_alive():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)


def _await_ends(running: Sequence[Ticket], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(t.owner and t.owner.is_alive() for t in running) and time.monotonic() < deadline:
        time.sleep(0.02)


def _is_unrecorded(ticket: Ticket) -> bool:
    """Return whether the job's program has ended and its agent waits for space to record that."""
    program = Process.recorded(read_json(ticket.path / "heartbeat.json"))
    if program is None or program.is_alive() or (ticket.path / "exit.json").exists():
        return False
    return shutil.disk_usage(ticket.path).free < RESERVE_BYTES


def _interrupted(ticket: Ticket, reason: str) -> Ticket:
    return replace(ticket, interrupted=True, reason=reason)


def _was_stopped_from_outside(ticket: Ticket) -> bool:
    """Return whether something else has stopped the job's agent: a service manager stops esweb and all that it
    started at the same time."""
    ending = read_json(ticket.path / "exit.json")
    return ticket.asked_at is None and ending is not None and bool(ending.get("stopped"))


def _ending(ticket: Ticket) -> tuple[State, str, str]:
    """Return (state, native word, reason) of a job whose agent is gone."""
    ending = read_json(ticket.path / "exit.json")
    if ticket.interrupted and (ending is None or is_stop(ending)):
        return State.INTERRUPTED, STOPPED_BY_ESWEB, ticket.reason or SITE_STOPPED
    if ending is not None:
        code, number = ending.get("code"), ending.get("signal")
        word = f"exit {code}" if number is None else f"signal {number}"
        return (State.SUCCEEDED if code == 0 else State.FAILED), word, ""
    if ticket.owner and not ticket.owner.is_of_this_boot():
        return State.INTERRUPTED, "restarted", "the machine was restarted"
    return State.LOST, "gone", "its agent stopped without an exit record"
