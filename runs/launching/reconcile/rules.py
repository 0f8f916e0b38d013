"""What follows from what is known. No database, no files, no clock: all that matters comes in.

What the node wrote decides how a program ended; what the cluster says decides whether it may still be running.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from runs.clusters import Waits
from runs.launching.reconcile.attempt_files import Ending, Traces
from runs.models import Job
from workers.attempt import RESUMABLE
from workers.executors.base import Observation
from workers.executors.states import State

NAMED_BY_THE_CLUSTER = (State.TIMEOUT, State.PREEMPTED, State.OOM, State.NODE_LOST, State.INTERRUPTED)


@dataclass(frozen=True)
class Known:
    """Everything a rule may look at. `seen` is None where the cluster answered that it has no such job."""

    job: Job
    seen: Observation | None
    traces: Traces
    waits: Waits
    trust_running: bool
    now: datetime

    def has_passed(self, since: datetime | None, seconds: float) -> bool:
        """True where that is at least so long ago."""
        return since is not None and self.now - since >= timedelta(seconds=seconds)

    def is_silent_for(self, seconds: float) -> bool:
        """True where the heart was never heard, or not for so long by this machine's clock."""
        return self.job.heartbeat_seen_at is None or self.has_passed(self.job.heartbeat_seen_at, seconds)

    @property
    def is_cancelled(self) -> bool:
        """Somebody asked for its end."""
        return self.job.cancel_requested_at is not None


@dataclass(frozen=True)
class Verdict:
    """The state that the job is in, and why. `facts` are other fields that are known with it."""

    state: State
    why: str
    facts: dict[str, Any] = field(default_factory=dict)
    must_withdraw: bool = False
    """It waits on the cluster still, and must leave it. What follows by itself would wait in the same way."""

    @property
    def must_fence(self) -> bool:
        """True where its agent may live on unseen, or begin: before anything else runs, it must be shut out."""
        return self.state in (State.LOST, State.NODE_LOST) or self.must_withdraw


def decide(known: Known) -> Verdict | None:
    """The first rule that fits; None where there is nothing to say yet."""
    ending, seen = known.traces.ending, known.seen
    if ending is not None:
        cluster_agrees = seen is None or seen.state.is_final
        if cluster_agrees or known.has_passed(known.job.final_since_at, known.waits.settle):
            return _recorded(known, ending)
    if seen is None:
        return _absent(known)
    return _unrecorded(known, seen) if seen.state.is_final else _going_on(known, seen)


def _recorded(known: Known, ending: Ending) -> Verdict:
    """The exit record is there."""
    state, why = _cause(known, ending)
    facts = {
        "exit_code": ending.code,
        "exit_signal": ending.signal,
        "started_at": ending.started_at,
        "ended_at": ending.ended_at,
    }
    return Verdict(state, why, facts)


def _cause(known: Known, ending: Ending) -> tuple[State, str]:
    saved = ending.code == RESUMABLE
    if known.is_cancelled:
        return State.CANCELLED, "cancelled; a checkpoint was saved" if saved else "cancelled"
    if known.seen is not None and known.seen.state in NAMED_BY_THE_CLUSTER:
        return known.seen.state, known.seen.reason or known.seen.native
    if ending.signal == signal.SIGKILL and known.traces.was_refused:
        return State.LOST, _started_again(known)
    if ending.timed_out:
        limit = known.job.run.run_config.compute.time_limit_seconds
        return State.TIMEOUT, f"reached its time limit of {limit} s" + ("; a checkpoint was saved" if saved else "")
    if saved:
        return State.INTERRUPTED, "was told to stop and saved a checkpoint"
    if ending.stopped:
        return State.INTERRUPTED, "was told to stop from outside"
    if ending.code == 0:
        return State.SUCCEEDED, "done"
    return State.FAILED, _failure(ending)


def _started_again(known: Known) -> str:
    """Its cluster ends what it does not know of, and the agent that it starts next finds the attempt taken."""
    return f"{known.job.cluster} forgot that it ran and started it again"


def _failure(ending: Ending) -> str:
    if ending.signal == signal.SIGKILL:
        return "killed by signal 9 (out of memory?)"
    if ending.signal is not None:
        return f"killed by signal {ending.signal} ({signal.Signals(ending.signal).name})"
    return f"ended with exit code {ending.code}"


def _unrecorded(known: Known, seen: Observation) -> Verdict | None:
    """The cluster says that it has ended, and nothing was written down. Files may lag behind."""
    if known.traces.is_behind:
        return None
    never_began = not known.traces.is_claimed and seen.state in (State.CANCELLED, State.FAILED)
    is_certain = (never_began and not _failed_to_launch(known, seen)) or seen.state == State.INTERRUPTED
    if not is_certain and not known.has_passed(known.job.final_since_at, known.waits.exit_record):
        return None
    why = seen.reason or seen.native
    if known.is_cancelled:
        return Verdict(State.CANCELLED, why)
    if seen.state == State.SUCCEEDED:
        return Verdict(State.FAILED, "the cluster calls it done, but it left no exit record")
    if seen.state == State.FAILED and known.traces.was_refused:
        return Verdict(State.LOST, f"{_started_again(known)}: {why}")
    if _failed_to_launch(known, seen):
        return Verdict(State.NODE_LOST, f"its node did not start it: {why}")
    if seen.state == State.CANCELLED:
        return Verdict(State.CANCELLED, f"cancelled from outside: {why}")
    return Verdict(seen.state, why)


def _failed_to_launch(known: Known, seen: Observation) -> bool:
    """True where it was cancelled with a place on a node, and its agent never began.

    A node that cannot launch a job gives it back to the queue, or cancels it where the job must not be requeued.
    """
    return seen.state == State.CANCELLED and bool(seen.nodes) and not known.traces.is_claimed


def _going_on(known: Known, seen: Observation) -> Verdict | None:
    """It waits or runs: the cluster's word is taken, and the heart listened to."""
    if seen.never_starts and known.has_passed(known.job.stuck_since_at, known.waits.never):
        return Verdict(State.FAILED, f"given up after {known.waits.never:g} s: {seen.reason}", must_withdraw=True)
    if seen.state not in (State.RUNNING, State.STOPPING):
        return Verdict(seen.state, seen.reason)
    heard_at = known.job.heartbeat_seen_at or known.job.started_at
    if not known.trust_running and known.has_passed(heard_at, known.waits.beat_lost):
        return Verdict(State.LOST, f"no heartbeat for {known.waits.beat_lost:g} s")
    if known.has_passed(heard_at, known.waits.beat_stale):
        word = seen.native or seen.state.value
        return Verdict(seen.state, f"no heartbeat since {heard_at:%H:%M:%S} UTC; {known.job.cluster} says {word}")
    return Verdict(seen.state, seen.reason)


def _absent(known: Known) -> Verdict | None:
    """The cluster has no such job. Only long and silent absence is an end."""
    is_gone = known.has_passed(known.job.gone_since_at, known.waits.gone)
    if not is_gone or not known.is_silent_for(known.waits.gone):
        return None
    if known.is_cancelled:
        return Verdict(State.CANCELLED, "cancelled; the cluster no longer knows it")
    return Verdict(State.LOST, f"{known.job.cluster} has not known it for {known.waits.gone:g} s")
