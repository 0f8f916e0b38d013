"""Submits attempts of a sweep that may go at the same moment as one array, where their cluster is a Slurm.

One call in place of one for each. What is promised is the same: the intent of every one is committed before the call,
and from then on each is found, cancelled and submitted again by its own key.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from runs.clusters import executor_for
from runs.launching.submit import call, prepare, spec_of, take_turn
from runs.launching.transitions import mark, move
from runs.models import Attempt, Cluster, Job
from workers.config import ConfigError
from workers.executors.base import Ambiguous, Rejected, Unreachable
from workers.executors.slurm import Slurm
from workers.executors.states import State

log = logging.getLogger(__name__)
ON_ITS_WAY = "on its way to the cluster"
NOT_CALLED = (State.CREATED.value, State.SUBMITTING.value)
ARRAY_AT_MOST = 1000
"""Slurm's own limit, where a cluster does not set another one; what a cluster refuses is submitted one by one."""


def submit_together(cluster: Cluster, jobs: Sequence[Job]) -> bool:
    """Submits those jobs of one cluster that belong together; the others, and what is left open, are for `submit`.

    False where the cluster did not answer. Safe to repeat.
    """
    groups = _alike(jobs)
    executor = executor_for(cluster) if groups else None
    return not isinstance(executor, Slurm) or all(_submit(executor, group) for group in groups)


def _alike(jobs: Sequence[Job]) -> list[list[Attempt]]:
    """Attempts of one sweep that have never been submitted and ask for the same, where there are several."""
    groups: dict[tuple[object, ...], list[Attempt]] = {}
    for job in jobs:
        is_new = job.state in NOT_CALLED and job.submits == 0 and job.cancel_requested_at is None
        if isinstance(job, Attempt) and is_new and not job.hold and job.run.sweep_id:
            groups.setdefault((job.run.sweep_id, job.run.run_config.compute), []).append(job)
    return [group[:ARRAY_AT_MOST] for group in groups.values() if len(group) > 1]


def _submit(executor: Slurm, group: Sequence[Attempt]) -> bool:
    mine = [job for job in group if job.state == State.SUBMITTING.value or move(job, State.SUBMITTING, ON_ITS_WAY)]
    try:
        ready = [job for job in mine if _is_prepared(job)]
        # Where the database was restored, the cluster may have them already.
        seen = executor.poll([job.key for job in ready])
    except Unreachable as error:
        return _left_open(mine, f"does not answer: {error}")
    return _call(executor, [job for job in ready if seen[job.key] is None and take_turn(job)])


def _is_prepared(job: Attempt) -> bool:
    """Return whether the job's files are written; if not, `submit` will say why. Raise Unreachable."""
    try:
        prepare(job)
    except (OSError, ConfigError) as error:
        log.warning("%s cannot be prepared: %s", job.key, error)
        return False
    return True


def _call(executor: Slurm, jobs: Sequence[Attempt]) -> bool:
    if not jobs:
        return True
    try:
        numbers = executor.submit_together([spec_of(job) for job in jobs])
    except Rejected as error:
        # It may be the array that is refused, or what they ask for: each is told for itself.
        log.warning("%s refused an array of %d jobs: %s", jobs[0].cluster, len(jobs), error)
        numbers = {}
    except (Ambiguous, Unreachable) as error:
        return _left_open(jobs, f"did not say whether it took the job: {error}")
    said = f"submitted to {jobs[0].cluster}, in one array with {len(numbers) - 1} others of its sweep"
    for job in jobs:
        if job.key in numbers:
            move(job, State.QUEUED, said, native_id=numbers[job.key])
        elif not call(executor, job):
            return False
    return True


def _left_open(jobs: Sequence[Attempt], why: str) -> bool:
    for job in jobs:
        mark(job, reason=f"{job.cluster} {why}")
    return False
