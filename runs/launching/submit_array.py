"""Submit attempts of a sweep that can start together as one array, if their cluster is a Slurm.

This makes one call in place of one per attempt, with the same guarantees: the intent of each attempt is committed
before the call, and from then on each is found, cancelled and submitted again by its own key.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from runs.clusters import executor_for
from runs.launching.submit import call_cluster, claim_call, is_held_back, prepare, spec_of, taken
from runs.launching.submit_pauses import forget_call, unconfirmed_facts
from runs.launching.transitions import transition, update_facts
from runs.models import Cluster, Job
from workers.config import ConfigError
from workers.executors.base import Ambiguous, Rejected, Unreachable
from workers.executors.slurm import Slurm
from workers.executors.states import State

log = logging.getLogger(__name__)
SUBMITTING_REASON = "being submitted to the cluster"
NOT_SUBMITTED = (State.CREATED.value, State.SUBMITTING.value)
MAX_ARRAY_SIZE = 1000
"""Slurm's default limit of an array. Jobs of an array that a cluster refuses are submitted one by one."""


def submit_together(cluster: Cluster, jobs: Sequence[Job]) -> bool:
    """Submit those jobs of one cluster that form arrays; `submit` handles the others, and those that remain open.

    Return False if the cluster did not reply. Safe to repeat.
    """
    groups = _group_alike(jobs)
    executor = executor_for(cluster) if groups else None
    if not isinstance(executor, Slurm):
        return True
    # A refusal of one group may concern the next, so each is looked at when its turn comes.
    return all(is_held_back(group[0]) or _submit(executor, group) for group in groups)


def _group_alike(jobs: Sequence[Job]) -> list[list[Job]]:
    """Group the attempts that were never submitted by sweep and requested resources. Return groups of several only.

    A run on several nodes is a job of its own: an array has only jobs of one node.
    """
    groups: dict[tuple[object, ...], list[Job]] = {}
    for job in jobs:
        is_new = job.state in NOT_SUBMITTED and job.submits == 0 and job.cancel_requested_at is None
        if not (job.executes_run and is_new and not job.is_withdrawn and job.run.sweep_id):
            continue
        if (compute := job.compute).nodes == 1:
            groups.setdefault((job.run.sweep_id, compute), []).append(job)
    return [group[:MAX_ARRAY_SIZE] for group in groups.values() if len(group) > 1]


def _submit(executor: Slurm, group: Sequence[Job]) -> bool:
    submitting = [
        job
        for job in group
        if job.state == State.SUBMITTING.value or transition(job, State.SUBMITTING, SUBMITTING_REASON)
    ]
    try:
        ready = _of_equal_requests([job for job in submitting if _is_prepared(job)])
        # If the database was restored, the cluster may have the jobs already.
        observations = executor.poll([job.key for job in ready])
    except Unreachable as error:
        return _note_open(submitting, f"does not reply: {error}")
    return _call(executor, [job for job in ready if observations[job.key] is None and claim_call(job)])


def _of_equal_requests(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that request what the first one does: with compute.gpus auto, that is planned by then.

    `submit` handles the others.
    """
    return [job for job in jobs if job.compute == jobs[0].compute]


def _is_prepared(job: Job) -> bool:
    """Return whether the job's files are written; if not, `submit` reports the reason. Raise Unreachable."""
    try:
        prepare(job)
    except (OSError, ConfigError) as error:
        log.warning("Array submission skips job %s, whose files cannot be written: %s", job.key, error)
        return False
    return True


def _call(executor: Slurm, jobs: Sequence[Job]) -> bool:
    if not jobs:
        return True
    try:
        native_ids = executor.submit_together([spec_of(job) for job in jobs])
    except Rejected as error:
        # The cluster may refuse the array or the requested resources, so each job is submitted alone.
        log.warning(
            "Cluster %s refused an array of %d jobs; submitting each alone: %s", jobs[0].cluster, len(jobs), error
        )
        native_ids = {}
        for job in jobs:
            forget_call(job)
    except (Ambiguous, Unreachable) as error:
        for job in jobs:
            update_facts(job, **unconfirmed_facts(job, str(error), getattr(error, "obstacle", None)))
        return False
    reason = f"submitted to {jobs[0].cluster}, in one array with {len(native_ids) - 1} others of its sweep"
    for job in jobs:
        if job.key in native_ids:
            transition(job, State.QUEUED, reason, **taken(native_ids[job.key]))
        elif not is_held_back(job) and not call_cluster(executor, job):
            return False
    return True


def _note_open(jobs: Sequence[Job], reason: str) -> bool:
    for job in jobs:
        update_facts(job, reason=f"{job.cluster} {reason}")
    return False
