"""Submits a job once, whoever is killed when.

The intent is committed before the cluster is called. From then on the job may exist, so it is looked for by its key,
and called for again only after the cluster has answered "no such job" for so long that nothing can be on its way still.
"""

from __future__ import annotations

import os
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from runs.clusters import cache_of, executor_for, place_of, python_of, waits_of
from runs.launching.code import code_arguments, code_environment, pin, ship, task_folders
from runs.launching.credentials import credentials_environment, write_credentials
from runs.launching.resources import check_resources, checkpoint_of, data_folders
from runs.launching.transitions import mark, move, since
from runs.models import Attempt, Cluster, Job, Rebuild
from workers.attempt import CLOSED_EPOCH, is_disk_full, raise_lease, write_json
from workers.config import ConfigError
from workers.config.resources import DATA_PATHS, RUN_CHECKPOINT
from workers.executors.base import Ambiguous, Executor, Rejected, Spec, Unreachable
from workers.executors.states import State


def shut_out(*jobs: Job) -> None:
    """Whatever is left of them stops within a beat of the moment it sees this. Safe to repeat.

    Raises OSError, and Unreachable where a cluster that has a disk of its own does not answer.
    """
    closed: dict[Cluster, list[Job]] = {}
    for job in jobs:
        if job.cluster is not None and job.directory.exists():
            raise_lease(job.directory, CLOSED_EPOCH)
            closed.setdefault(job.cluster, []).append(job)
    for cluster, its in closed.items():
        place_of(cluster).send(job.directory / "lease.json" for job in its)


def submit_job(job: Job) -> bool:
    """Brings a job to its cluster, or one step nearer. Safe to repeat and to run twice at once.

    False where the cluster did not answer: then it will hardly answer about the next job either.
    """
    if isinstance(job, Attempt) and job.hold:
        return True
    if job.state == State.CREATED.value and not move(job, State.SUBMITTING, "on its way to the cluster"):
        return True
    if job.state != State.SUBMITTING.value:
        return True
    try:
        prepare(job)
        executor = executor_for(job.cluster)
        found = executor.find(job.key)
    except Unreachable as error:
        mark(job, reason=f"{job.cluster} does not answer: {error}", gone_since_at=None)
        return False
    except OSError as error:
        why = "disk full: " if is_disk_full(error) else ""
        mark(job, reason=f"{why}the job's directory cannot be written, so it is tried again: {error}")
    except ConfigError as error:
        move(job, State.FAILED, f"not submitted: {'; '.join(map(str, error.problems))}")
    else:
        if found is not None:
            move(job, State.QUEUED, "found on the cluster", native_id=found.native_id, gone_since_at=None)
        elif not _may_still_appear(job):
            return call(executor, job)
    return True


def spec_of(job: Job) -> Spec:
    """Return the spec that the cluster gets. It holds no secret."""
    compute = job.run.run_config.compute
    env = {"ESWEB_CACHE": cache_of(job.cluster)}
    if "HF_HUB_OFFLINE" in os.environ:
        env["HF_HUB_OFFLINE"] = os.environ["HF_HUB_OFFLINE"]
    env[DATA_PATHS] = os.pathsep.join(data_folders(job.cluster))
    if checkpoint := checkpoint_of(job.run.run_config, job.run.created_by):
        # Relative, as --resume is: the cluster may call the folder of all runs by another name.
        env[RUN_CHECKPOINT] = os.path.relpath(checkpoint.folder, job.directory)
    if folders := task_folders(job.cluster):
        env["ESWEB_TASK_PATHS"] = os.pathsep.join(folders)
    if isinstance(job, Attempt):
        env |= code_environment(job) | credentials_environment(job)
    return Spec(
        key=job.key,
        directory=job.directory,
        argv=(python_of(job.cluster), "-m", *(_rebuilding(job) if isinstance(job, Rebuild) else _training(job))),
        cores=compute.cores,
        gpus=compute.gpus if isinstance(job, Attempt) else 0,
        memory_mb=compute.memory_mb,
        time_limit_seconds=compute.time_limit_seconds if isinstance(job, Attempt) else 0,
        partition=compute.partition if isinstance(job, Attempt) else "",
        grace_seconds=waits_of(job.cluster).grace,
        env=env,
    )


def _training(job: Job) -> tuple[str, ...]:
    checkpoint = job.resumed_from if isinstance(job, Attempt) else None
    # Seen from its own directory, since the cluster may call the folder of all runs by another name.
    start = ("--resume", os.path.relpath(checkpoint, job.directory)) if checkpoint else ()
    pinned = code_arguments(job) if isinstance(job, Attempt) else ()
    return ("workers.train", "run.json", "--out", ".", *pinned, *start)


def _rebuilding(rebuild: Rebuild) -> tuple[str, ...]:
    # Noise is the same on every device, so a rebuild leaves the GPUs to training.
    where = ("--step", str(rebuild.step), "--out", rebuild.folder.name, "--device", "cpu")
    return ("workers.engines.es.replay", str(rebuild.run.root), *where)


def prepare(job: Job) -> None:
    """Write everything that must be on disk before the cluster is asked. Raise OSError, Unreachable, and ConfigError if
    the run may not be started as it is: it was stored before a rule, or its creator has lost a right."""
    if not job.submits:
        # Later on the cluster may have the job already, and it must be found.
        check_resources(job.run.run_config, job.run.created_by, job.cluster)
    job.directory.mkdir(parents=True, exist_ok=True)
    if isinstance(job, Attempt):
        shut_out(*job.run.attempts.filter(n__lt=job.n).select_related("run", "cluster"))
        pin(job)
        ship(job)
        write_json(job.directory / "run.json", job.run.config, sync=True)
        if not job.submits:
            # The trainer of an earlier call may have read the first token.
            write_credentials(job)


def _may_still_appear(job: Job) -> bool:
    """True while a call may yet turn out to have worked. Notes when the cluster first answered "no such job"."""
    if job.submit_started_at is None:
        return False
    now = timezone.now()
    absent_since = since(job.gone_since_at, now)
    mark(job, gone_since_at=absent_since)
    return now - absent_since < timedelta(seconds=waits_of(job.cluster).ambiguous)


def call(executor: Executor, job: Job) -> bool:
    """Has the cluster take the job. False where it did not say whether it did."""
    if job.cancel_requested_at is not None:
        move(job, State.CANCELLED, "cancelled before it was on the cluster")
        return True
    if not take_turn(job):
        return True
    try:
        native_id = executor.submit(spec_of(job))
    except Rejected as error:
        move(job, State.FAILED, f"{job.cluster} refused it: {error}")
    except (Ambiguous, Unreachable) as error:
        mark(job, reason=f"{job.cluster} did not say whether it took the job: {error}")
        return False
    else:
        move(job, State.QUEUED, f"submitted to {job.cluster}", native_id=native_id)
    return True


def take_turn(job: Job) -> bool:
    """Commits the intent to call. Of several who try at once, one may."""
    mine = type(job)._default_manager.filter(
        pk=job.pk, state=State.SUBMITTING.value, submits=job.submits, cancel_requested_at=None
    )
    if not mine.update(submits=F("submits") + 1, submit_started_at=timezone.now(), gone_since_at=None):
        return False
    job.refresh_from_db(fields=["submits", "submit_started_at", "gone_since_at"])
    return True
