"""Submit a job exactly once, even if a process is killed at any time.

The intent is committed before the cluster is called. From then on the job may exist, so it is searched by its key. It
is submitted again only after the cluster has replied "no such job" for so long that no call can still take effect.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from runs.clusters import cache_of, executor_for, python_of, spelled_gpu_type, submit_host_of, timeouts_of
from runs.launching.code import code_environment, pin, ship, task_folders
from runs.launching.credentials import credentials_environment, write_credentials
from runs.launching.gpu_memory.shares import plan_job_gpu
from runs.launching.resources import check_resources, checkpoint_of, data_folders, find_measured
from runs.launching.submit_pauses import (
    MAX_SUBMITS,
    disk_full_facts,
    end_refused,
    is_waiting,
    postpone,
    unconfirmed_facts,
)
from runs.launching.transitions import begun_at, rows_of, transition, update_facts
from runs.models import Attempt, Cluster, Job
from workers.attempt import CLOSED_EPOCH, is_disk_full, raise_lease, write_json
from workers.config import ConfigError
from workers.config.resources import DATA_PATHS, RUN_CHECKPOINT, RUN_FOLDERS
from workers.executors.base import Ambiguous, DiskFull, Executor, Postponed, Rejected, Spec, Unreachable
from workers.executors.states import State
from workers.memory_plan.limit import limit_environment
from workers.preflight.memory import planner_name

WITHDRAWN = "its sweep was paused before it was on the cluster"


def fence(*jobs: Job) -> None:
    """Fence jobs: any remaining agent stops within a heartbeat after it reads the closed lease. Safe to repeat.

    Raise OSError, and Unreachable if a cluster with its own disk does not reply.
    """
    fenced: dict[Cluster, list[Job]] = {}
    for job in jobs:
        if job.cluster is not None and job.directory.exists():
            raise_lease(job.directory, CLOSED_EPOCH)
            fenced.setdefault(job.cluster, []).append(job)
    for cluster, cluster_jobs in fenced.items():
        submit_host_of(cluster).send(job.directory / "lease.json" for job in cluster_jobs)


def submit_job(job: Job) -> bool:
    """Submit a job to its cluster, or advance its submission by one step. Safe to repeat, also concurrently.

    Return False if the cluster did not reply: then it will probably not reply about the next job either.
    """
    if job.state == State.CREATED.value and not transition(job, State.SUBMITTING, "being submitted to the cluster"):
        return True
    if job.state != State.SUBMITTING.value or is_held_back(job):
        return True
    try:
        prepare(job)
        executor = executor_for(job.cluster)
        observation = executor.find(job.key)
    except DiskFull as error:
        update_facts(job, **disk_full_facts(job, f"the job's files cannot be written on {job.cluster}: {error}"))
    except Unreachable as error:
        update_facts(job, reason=f"{job.cluster} does not reply: {error}", gone_since_at=None)
        return False
    except OSError as error:
        prefix = "disk full: " if is_disk_full(error) else ""
        update_facts(job, reason=f"{prefix}the job's directory cannot be written; retrying: {error}")
    except ConfigError as error:
        transition(job, State.FAILED, f"not submitted: {'; '.join(map(str, error.problems))}")
    else:
        if observation is not None:
            transition(job, State.QUEUED, "found on the cluster", gone_since_at=None, **taken(observation.native_id))
        elif not _may_still_appear(job) and (must_end(job) or not is_waiting(job)):
            return call_cluster(executor, job)
    return True


def must_end(job: Job) -> bool:
    """Return whether the job must not be submitted, because a user cancelled it or paused its sweep."""
    return job.cancel_requested_at is not None or job.is_withdrawn


def is_held_back(job: Job) -> bool:
    """Return whether the job is certainly not on its cluster and need not be looked at: it waits for an obstacle."""
    return job.submit_started_at is None and not must_end(job) and is_waiting(job)


def spec_of(job: Job) -> Spec:
    """Return the spec that the cluster gets. It holds no secret."""
    compute = job.compute
    env = {"ESWEB_CACHE": cache_of(job.cluster)}
    if "HF_HUB_OFFLINE" in os.environ:
        env["HF_HUB_OFFLINE"] = os.environ["HF_HUB_OFFLINE"]
    env[DATA_PATHS] = os.pathsep.join(data_folders(job.cluster))
    if checkpoint := checkpoint_of(job.run.run_config, job.run.created_by):
        # The path is relative, as for --resume: the folder of all runs may have another path on the cluster.
        env[RUN_CHECKPOINT] = os.path.relpath(checkpoint.folder, job.directory)
    if measured := find_measured(job.run.run_config, job.run.created_by):
        env[RUN_FOLDERS] = os.pathsep.join(os.path.relpath(run.root, job.directory) for run in measured)
    if folders := task_folders(job.cluster):
        env["ESWEB_TASK_PATHS"] = os.pathsep.join(folders)
    env |= code_environment(job) | credentials_environment(job)
    if compute.shares_gpu:
        env |= limit_environment(compute.node_gpus, job.gpu_memory_mb)
    return Spec(
        key=job.key,
        directory=job.directory,
        argv=(python_of(job.cluster), "-m", *job.command()),
        nodes=compute.nodes,
        cores=compute.cores,
        gpus=compute.node_gpus,
        gpu_memory_mb=job.gpu_memory_mb or _planned_mb(job),
        runs_concurrently=compute.shares_gpu and planner_name(job.run.run_config) == "native",
        gpu_type=spelled_gpu_type(compute, job.cluster),
        memory_mb=compute.memory_mb,
        time_limit_seconds=compute.time_limit_seconds,
        partition=compute.partition,
        grace_seconds=timeouts_of(job.cluster).grace,
        goes_first=job.goes_first,
        env=env,
    )


def prepare(job: Job) -> None:
    """Write all files that the job needs before the cluster is called. Raise OSError, Unreachable, and ConfigError if
    the run may not be started: it was stored before a rule existed, or its creator has lost a right."""
    if not job.submits:
        # After the first call the cluster may have the job already, which must then be found, not refused.
        check_resources(job.run.run_config, job.run.created_by, job.cluster)
        _store_gpu_share(job)
    job.directory.mkdir(parents=True, exist_ok=True)
    # Only attempts have code, a config and credentials to write: a rebuild reads what they left.
    if isinstance(job, Attempt):
        fence(*job.run.attempts.filter(n__lt=job.n).select_related("run", "cluster"))
        pin(job)
        ship(job)
        write_json(job.directory / "run.json", job.run.config, sync=True)
        if not job.submits:
            # The trainer of an earlier call may have read the first token.
            write_credentials(job)


def _store_gpu_share(job: Job) -> None:
    """Store the share of a GPU that the job gets, and note with auto why it gets that."""
    if not job.compute.shares_gpu:
        return
    planned = plan_job_gpu(job.run.run_config, job.run.created_by, job.cluster)
    if not update_facts(job, gpu_share=planned.share, gpu_memory_mb=planned.limit_mb):
        return
    if planned.reason:
        job.note(f"compute.gpus is auto: takes a whole GPU: {planned.reason}")
    elif job.run.run_config.compute.gpu_share is None:
        share = "a whole GPU" if planned.share == 1 else f"{planned.share:g} of a GPU"
        job.note(f"compute.gpus is auto: takes {share} for {planned.planned_mb} MB of planned memory")


def _planned_mb(job: Job) -> int:
    """Return the memory that a job with whole GPUs of this machine plans to take of each; 0 if that is not known.

    Other programs may hold the rest. Other clusters do not look at it.
    """
    compute = job.compute
    if job.cluster.kind != "local" or not compute.devices or compute.shares_gpu:
        return 0
    return plan_job_gpu(replace(job.run.run_config, compute=compute), job.run.created_by, job.cluster).planned_mb


def _may_still_appear(job: Job) -> bool:
    """Return whether an earlier call may still take effect. Store when the cluster first replied "no such job"."""
    if job.submit_started_at is None:
        return False
    now = timezone.now()
    absent_since = begun_at(job.gone_since_at, now)
    update_facts(job, gone_since_at=absent_since)
    return now - absent_since < timedelta(seconds=timeouts_of(job.cluster).ambiguous)


def call_cluster(executor: Executor, job: Job) -> bool:
    """Submit the job by calling the cluster. Return False if it did not reply whether it accepted the job."""
    if job.cancel_requested_at is not None:
        transition(job, State.CANCELLED, "cancelled before it was on the cluster")
        return True
    if job.is_withdrawn:
        transition(job, State.CANCELLED, WITHDRAWN)
        return True
    if job.submits >= MAX_SUBMITS:
        end_refused(job, job.reason)
        return True
    if not claim_call(job):
        return True
    try:
        native_id = executor.submit(spec_of(job))
    except Postponed as error:
        postpone(job, str(error), error.obstacle)
    except Rejected as error:
        transition(job, State.FAILED, f"{job.cluster} refused it: {error}")
    except (Ambiguous, Unreachable) as error:
        update_facts(job, **unconfirmed_facts(job, str(error), getattr(error, "obstacle", None)))
        return False
    else:
        transition(job, State.QUEUED, f"submitted to {job.cluster}", **taken(native_id))
    return True


def taken(native_id: str) -> dict[str, Any]:
    """Return the facts of a job that its cluster has taken."""
    return {"native_id": native_id, "obstacle": "", "submit_again_at": None}


def claim_call(job: Job) -> bool:
    """Commit the intent to call. Of several simultaneous calls, only one returns True."""
    unclaimed = rows_of(job).filter(
        job.staying, state=State.SUBMITTING.value, submits=job.submits, cancel_requested_at=None
    )
    if not unclaimed.update(submits=F("submits") + 1, submit_started_at=timezone.now(), gone_since_at=None):
        return False
    job.refresh_from_db(fields=["submits", "submit_started_at", "gone_since_at"])
    return True
