"""The life of a job on this machine: its start, its state as esweb shows it, and its end."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from workers.attempt import DISK_FULL, FENCED, RESERVE_BYTES, Process, is_stop, owner, read_json
from workers.executors.agent_start import start_agent
from workers.executors.base import STOPPED_BY_ESWEB, Observation
from workers.executors.local.gpu_use import GpuUse
from workers.executors.states import State
from workers.executors.tickets import Ticket, Tickets

START_TRIES = 10
SITE_STOPPED = "esweb was stopped"
UNRECORDED = "disk full: its program has ended, and its exit record cannot be written to {}; free space"


def begin(
    tickets: Tickets, ticket: Ticket, devices: tuple[str, ...], start_service: Callable[[], Mapping[str, str]]
) -> bool:
    """Start the job on these GPUs. Return False if that failed and the next call should try again.

    `start_service` returns the variables of the service by which the job shares its GPU, if it does. The ticket names
    the GPUs before that: a service of a GPU that no ticket names is ended. Call under the lock.
    """
    ticket = tickets.put(replace(ticket, devices=devices, tries=ticket.tries + 1))
    code, output = start_agent(ticket.path, ticket.cores, devices, start_service())
    if agent := owner(ticket.path):
        tickets.put(replace(ticket, owner=agent, reason=""))
    elif code == FENCED:
        tickets.end(ticket, State.CANCELLED, "fenced", "cancelled before it started")
    elif code == DISK_FULL:
        reason = f"disk full: {ticket.directory} cannot be written; the job starts once there is space"
        tickets.put(replace(ticket, tries=ticket.tries - 1, reason=reason))
        return False
    elif ticket.tries >= START_TRIES:
        tickets.end(ticket, State.FAILED, "not started", f"its agent did not start in {ticket.tries} tries: {output}")
    else:
        reason = f"its agent did not start (try {ticket.tries} of {START_TRIES}): {output}"
        tickets.put(replace(ticket, reason=reason))
        return False
    return True


def observe(job: Ticket, open_tickets: Sequence[Ticket], cores: int, gpu_use: GpuUse) -> Observation:
    """Return the state of a job on a machine with so many cores for runs."""
    if job.state:
        return Observation(State(job.state), job.key, job.native, job.reason)
    if job.owner is None:
        reason = job.reason or _waiting_reason(job, open_tickets, cores, gpu_use)
        return Observation(State.QUEUED, job.key, "waiting", reason)
    if is_unrecorded(job):
        return Observation(State.STOPPING, job.key, "ended", UNRECORDED.format(job.directory))
    is_stopping = job.asked_at is not None
    return Observation(
        State.STOPPING if is_stopping else State.RUNNING, job.key, "stopping" if is_stopping else "running"
    )


def used_cores(running: Sequence[Ticket]) -> int:
    """Return the cores that these jobs have."""
    return sum(job.cores for job in running)


def _waiting_reason(job: Ticket, open_tickets: Sequence[Ticket], cores: int, gpu_use: GpuUse) -> str:
    running = [t for t in open_tickets if t.owner]
    jobs_ahead = [t for t in open_tickets if not t.owner and t.number < job.number]
    need = "a core" if job.cores == 1 else f"{job.cores} cores"
    # Jobs are counted and not named, because the reader may not be allowed to see their runs.
    jobs = "1 job" if len(running) == 1 else f"{len(running)} jobs"
    reason = f"waiting for {need}: {used_cores(running)} of {cores} in use by {jobs}"
    reason = gpu_use.assign(job).reason or reason
    return f"{reason}; {len(jobs_ahead)} ahead in the queue" if jobs_ahead else reason


def kill(ticket: Ticket) -> None:
    """Kill agent and program. On Linux the kernel has mostly killed the program already; on other systems it has
    not."""
    if ticket.owner:
        ticket.owner.send(signal.SIGKILL)
    program = Process.recorded(read_json(ticket.path / "heartbeat.json"))
    if program and program.is_alive():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)


def await_ends(running: Sequence[Ticket], seconds: float) -> None:
    """Return once the agents of these jobs have ended, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while any(t.owner and t.owner.is_alive() for t in running) and time.monotonic() < deadline:
        time.sleep(0.02)


def is_unrecorded(ticket: Ticket) -> bool:
    """Return whether the job's program has ended and its agent waits for space to record that."""
    program = Process.recorded(read_json(ticket.path / "heartbeat.json"))
    if program is None or program.is_alive() or (ticket.path / "exit.json").exists():
        return False
    return shutil.disk_usage(ticket.path).free < RESERVE_BYTES


def interrupted(ticket: Ticket, reason: str) -> Ticket:
    """Return the ticket of a job that is stopped because esweb stops."""
    return replace(ticket, interrupted=True, reason=reason)


def was_stopped_from_outside(ticket: Ticket) -> bool:
    """Return whether something else has stopped the job's agent: a service manager stops esweb and all that it
    started at the same time."""
    ending = read_json(ticket.path / "exit.json")
    return ticket.asked_at is None and ending is not None and bool(ending.get("stopped"))


def ending_of(ticket: Ticket) -> tuple[State, str, str]:
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
