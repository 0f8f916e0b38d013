"""Decide a job's next state from observed facts. Pure functions: no database, files or clock.

The node's files decide how a program ended; the cluster's reply decides whether it may still be running. What the
program recorded comes before a request to end it: a run that was done, or had failed, was not cancelled.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from runs.clusters import Timeouts
from runs.launching.reconcile.attempt_files import Ending, Traces
from runs.models import Job
from workers.attempt import RESUMABLE
from workers.config import ConfigError
from workers.executors.base import Observation
from workers.executors.states import State

REQUESTED = "a cancel had been requested"
CLUSTER_CAUSES = (State.TIMEOUT, State.PREEMPTED, State.OOM, State.NODE_LOST, State.INTERRUPTED)


@dataclass(frozen=True)
class JobFacts:
    """Input of the rules. `observation` is None if the cluster replied that it has no such job."""

    job: Job
    observation: Observation | None
    traces: Traces
    timeouts: Timeouts
    trust_running: bool
    now: datetime

    def has_passed(self, since: datetime | None, seconds: float) -> bool:
        """Return whether `since` is at least `seconds` ago; False for None."""
        return since is not None and self.now - since >= timedelta(seconds=seconds)

    def is_silent_for(self, seconds: float) -> bool:
        """Return whether no heartbeat was ever seen, or none for `seconds` by this machine's clock."""
        return self.job.heartbeat_seen_at is None or self.has_passed(self.job.heartbeat_seen_at, seconds)

    @property
    def is_cancelled(self) -> bool:
        """Return whether the end of the job was requested."""
        return self.job.cancel_requested_at is not None


@dataclass(frozen=True)
class Decision:
    """The job's next state, and the reason. `updates` are other fields that are set with it; `remark` is put after all
    that explains the reason."""

    state: State
    reason: str
    updates: dict[str, Any] = field(default_factory=dict)
    remark: str = ""
    must_withdraw: bool = False
    """True if the job still waits on the cluster and must leave it. An automatic restart would wait in the same way."""

    @property
    def must_fence(self) -> bool:
        """Return whether the agent may still run unseen, or begin. It must be fenced before anything else runs."""
        return self.state in (State.LOST, State.NODE_LOST) or self.must_withdraw


def decide(facts: JobFacts) -> Decision | None:
    """Return the decision of the first rule that applies; None if there is none yet."""
    ending, observation = facts.traces.ending, facts.observation
    if ending is not None:
        cluster_agrees = observation is None or observation.state.is_final
        if cluster_agrees or facts.has_passed(facts.job.final_since_at, facts.timeouts.settle):
            return _decide_recorded(facts, ending)
    if observation is None:
        return _decide_absent(facts)
    return _decide_unrecorded(facts, observation) if observation.state.is_final else _decide_going(facts, observation)


def decide_by_record(job: Job, ending: Ending, now: datetime) -> Decision:
    """Return the state of a job of which only the exit record is known, as of one that no cluster knows."""
    facts = JobFacts(job, None, Traces(ending=ending), Timeouts(), trust_running=False, now=now)
    return _decide_recorded(facts, ending)


def _decide_recorded(facts: JobFacts, ending: Ending) -> Decision:
    """Decide the state of a job with an exit record."""
    state, reason = _cause(facts, ending)
    times = {"started_at": ending.started_at, "ended_at": ending.ended_at}
    updates = {
        "exit_code": ending.code,
        "exit_signal": ending.signal,
        **{name: at for name, at in times.items() if at is not None},
    }
    has_other_cause = facts.is_cancelled and state not in (State.CANCELLED, State.SUCCEEDED)
    return Decision(state, reason, updates, REQUESTED if has_other_cause else "")


def _cause(facts: JobFacts, ending: Ending) -> tuple[State, str]:
    saved = ending.code == RESUMABLE
    if ending.code == 0:
        return State.SUCCEEDED, "done before the requested cancel took effect" if facts.is_cancelled else "done"
    if facts.is_cancelled and _is_by_cancel(facts, ending):
        return State.CANCELLED, "cancelled; a checkpoint was saved" if saved else "cancelled"
    if facts.observation is not None and facts.observation.state in CLUSTER_CAUSES:
        return facts.observation.state, facts.observation.reason or facts.observation.native
    if ending.signal == signal.SIGKILL and facts.traces.was_refused:
        return State.LOST, _restart_reason(facts)
    if ending.timed_out and ending.is_stop:
        return State.TIMEOUT, f"reached {_time_limit(facts.job)}" + ("; a checkpoint was saved" if saved else "")
    if saved:
        return State.INTERRUPTED, "was stopped and saved a checkpoint"
    if ending.stopped and ending.is_stop:
        return State.INTERRUPTED, "was stopped from outside"
    if ending.is_out_of_memory:
        return State.OOM, describe_failure(ending)
    return State.FAILED, describe_failure(ending)


def _time_limit(job: Job) -> str:
    try:
        return f"its time limit of {job.compute.time_limit_seconds} s"
    except ConfigError:
        return "its time limit"


def _is_by_cancel(facts: JobFacts, ending: Ending) -> bool:
    """Return whether the requested cancel ended the program, and nothing else did before."""
    seen = facts.observation.state if facts.observation is not None else None
    was_killed = ending.signal == signal.SIGKILL
    if ending.timed_out or ending.is_out_of_memory or (was_killed and seen == State.OOM):
        return False
    return ending.is_stop or (was_killed and seen in (State.CANCELLED, State.LOST))


def _restart_reason(facts: JobFacts) -> str:
    """Return the reason for a job that its cluster ended as unknown and started again; the new agent was refused."""
    return f"{facts.job.cluster} lost its record of the job and started it again"


def describe_failure(ending: Ending) -> str:
    """Return in words how a program ended that was not done."""
    if ending.is_out_of_memory:
        return f"killed by signal 9 for lack of memory: oom_kill of its control group rose by {ending.oom_kills}"
    if ending.signal == signal.SIGKILL:
        return "killed by signal 9"
    if ending.signal is not None:
        return f"killed by signal {ending.signal} ({signal.Signals(ending.signal).name})"
    return f"ended with exit code {ending.code}"


def _decide_unrecorded(facts: JobFacts, observation: Observation) -> Decision | None:
    """Decide the state of a job that ended on its cluster without an exit record. Files may arrive later."""
    if facts.traces.is_behind:
        return None
    never_began = not facts.traces.is_claimed and observation.state in (State.CANCELLED, State.FAILED)
    is_certain = (never_began and not _failed_to_launch(facts, observation)) or observation.state == State.INTERRUPTED
    if not is_certain and not facts.has_passed(facts.job.final_since_at, facts.timeouts.exit_record):
        return None
    reason = observation.reason or observation.native
    if facts.is_cancelled and observation.state == State.OOM:
        return Decision(State.OOM, reason, remark=REQUESTED)
    if facts.is_cancelled:
        return Decision(State.CANCELLED, reason)
    if observation.state == State.SUCCEEDED:
        return Decision(State.FAILED, "the cluster reports that it finished, but there is no exit record")
    if observation.state == State.FAILED and facts.traces.was_refused:
        return Decision(State.LOST, f"{_restart_reason(facts)}: {reason}")
    if _failed_to_launch(facts, observation):
        return Decision(State.NODE_LOST, f"the node did not start it: {reason}")
    if observation.state == State.CANCELLED and never_began and facts.job.is_withdrawn:
        return Decision(State.CANCELLED, "left the queue, because its sweep was paused")
    if observation.state == State.CANCELLED:
        return Decision(State.CANCELLED, f"cancelled from outside: {reason}")
    return Decision(observation.state, reason)


def _failed_to_launch(facts: JobFacts, observation: Observation) -> bool:
    """Return whether the job was cancelled with a node assigned, and its agent never began.

    A node that cannot launch a job returns it to the queue, or cancels it if the job must not be requeued.
    """
    return observation.state == State.CANCELLED and bool(observation.nodes) and not facts.traces.is_claimed


def _decide_going(facts: JobFacts, observation: Observation) -> Decision | None:
    """Decide the state of a job that waits or runs, by the cluster's reply and its heartbeat."""
    if observation.never_starts and facts.has_passed(facts.job.stuck_since_at, facts.timeouts.never):
        return Decision(
            State.FAILED,
            f"cancelled after {facts.timeouts.never:g} s because it cannot start: {observation.reason}",
            must_withdraw=True,
        )
    if observation.state not in (State.RUNNING, State.STOPPING):
        return Decision(observation.state, observation.reason)
    heard_at = facts.job.heartbeat_seen_at or facts.job.started_at
    if not facts.trust_running and facts.has_passed(heard_at, facts.timeouts.beat_lost):
        return Decision(State.LOST, f"no heartbeat for {facts.timeouts.beat_lost:g} s")
    if facts.has_passed(heard_at, facts.timeouts.beat_stale):
        native_state = observation.native or observation.state.value
        return Decision(
            observation.state, f"no heartbeat since {heard_at:%H:%M:%S} UTC; {facts.job.cluster} reports {native_state}"
        )
    return Decision(observation.state, observation.reason)


def _decide_absent(facts: JobFacts) -> Decision | None:
    """Decide the state of a job that its cluster does not know: it ends after a long time without heartbeat."""
    is_gone = facts.has_passed(facts.job.gone_since_at, facts.timeouts.gone)
    if not is_gone or not facts.is_silent_for(facts.timeouts.gone):
        return None
    if facts.is_cancelled:
        return Decision(State.CANCELLED, "cancelled; the cluster no longer knows it")
    return Decision(State.LOST, f"{facts.job.cluster} has reported no such job for {facts.timeouts.gone:g} s")
