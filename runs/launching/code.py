"""Pin the code of an attempt, delete unneeded copies of code, and check the files of users' own tasks.

Code is pinned before an attempt is submitted: it is copied to a folder that never changes. So edits of the code do not
affect waiting runs. An automatic restart runs the code of the attempt before it; an attempt that a user starts runs the
current code. Pinning and deletion take the same database lock, so code that a launch needs is never deleted.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from runs.clusters import code_folder, submit_host_of
from runs.models import Attempt, Cluster, Job, Run
from runs.models.job import OPEN
from workers.code import BadBundle, bundle_path, code_of, fingerprint, unpack, unpack_package
from workers.code.bundle import SUFFIX
from workers.config import ConfigError, OwnOptions, Problem, RunConfig
from workers.executors.slurm.executor import ARRAYS
from workers.tasks.own import NoSuchTask, find

log = logging.getLogger(__name__)
CODE_LOCK = 0x636F6465
MIN_AGE_SECONDS = 86400.0
"""Age in seconds below which nothing is deleted."""
TASK_PATH_FIELD = "task.options.path"


@contextmanager
def hold_code() -> Iterator[None]:
    """Hold a lock that prevents the deletion of code while code is pinned."""
    with transaction.atomic():
        with connection.cursor() as sql:
            sql.execute("SELECT pg_advisory_xact_lock_shared(%s)", [CODE_LOCK])
        yield


def purge_code() -> list[str]:
    """Delete unpacked code that no unfinished run needs, and bundles that no attempt ran; return their names.

    So a run's code can be downloaded as long as the run exists. Raise OSError.
    """
    with transaction.atomic():
        with connection.cursor() as sql:
            sql.execute("SELECT pg_advisory_xact_lock(%s)", [CODE_LOCK])
        present_code, referenced, needed = (
            fingerprint(),
            _fingerprints(Attempt.objects.all()),
            _fingerprints(_unfinished_attempts()),
        )
        return [
            _remove(path)
            for path in _old_entries(Path(settings.DATA_DIR) / "code")
            if path.stem not in ({present_code} | (referenced if path.suffix == SUFFIX else needed))
        ]


def purge_arrays() -> list[str]:
    """Delete the links of Slurm arrays without open tasks; return the arrays' names. Raise OSError."""
    is_open = set(Attempt.objects.open().values_list("key", flat=True))
    folders = _old_entries(Path(settings.RUNS_DIR) / ARRAYS)
    return [_remove(folder) for folder in folders if not is_open & {link.readlink().name for link in folder.iterdir()}]


def _unfinished_attempts() -> QuerySet[Attempt]:
    """Return all attempts of runs that have not finished, or that will continue automatically with earlier code."""
    waiting = Attempt.objects.filter(Q(state__in=OPEN) | Q(restart_at__isnull=False) | Q(moves_to__isnull=False))
    return Attempt.objects.filter(run__in=Run.objects.filter(pk__in=waiting.values("run")))


def _fingerprints(attempts: QuerySet[Attempt]) -> set[str]:
    """Return the fingerprints of the code that these attempts run."""
    return set(attempts.filter(code__isnull=False).order_by().values_list("code__sha256", flat=True).distinct())


def _old_entries(folder: Path) -> list[Path]:
    """Return the folder's entries that are older than a day, sorted; none if there is no folder."""
    if not folder.is_dir():
        return []
    before = time.time() - MIN_AGE_SECONDS
    return [path for path in sorted(folder.iterdir()) if path.lstat().st_mtime < before]


def _remove(path: Path) -> str:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    return path.name


def purge_copies() -> None:
    """Delete unneeded pinned code and array scripts. The next job retries what could not be deleted."""
    for purge in (purge_code, purge_arrays):
        try:
            log.info("Removed unneeded copies of code and arrays: %s", purge() or "nothing")
        except OSError:
            log.exception("Unneeded copies of code or arrays cannot be removed; the next job retries")


def pin(attempt: Attempt) -> None:
    """Pin the code that the attempt runs, and store a copy of it. Safe to repeat, also concurrently.

    Raise OSError, also if the code changes meanwhile.
    """
    if attempt.code is None:
        with hold_code():
            pinned = _earlier_code(attempt) or _present_code()
            Attempt.objects.filter(pk=attempt.pk, code__isnull=True).update(code=pinned)
        attempt.refresh_from_db(fields=["code"])


def bundle_file(attempt: Attempt) -> Path | None:
    """Return the file with the attempt's code; None if the attempt has no pinned code or the file does not exist."""
    if not attempt.code_sha256:
        return None
    path = bundle_path(_root(), attempt.code_sha256)
    return path if path.is_file() else None


def pinned_folder(job: Job) -> PurePath | None:
    """Return the job's folder for PYTHONPATH; None if its cluster has its own code or nothing is pinned."""
    if not job.code_sha256 or job.cluster is None or not _uses_our_code(job.cluster):
        return None
    return code_folder(job.cluster) / job.code_sha256


def ship(attempt: Attempt) -> None:
    """Copy the attempt's code to its cluster if that does not share our disk. Safe to repeat. Raise Unreachable."""
    if attempt.cluster is None or not attempt.cluster.is_remote or not _uses_our_code(attempt.cluster):
        return
    if (bundle := bundle_file(attempt)) is not None:
        submit_host_of(attempt.cluster).ship(bundle)


def code_environment(job: Job) -> dict[str, str]:
    """Return PYTHONPATH with the pinned folder before the cluster's own entries; empty if there is no such folder."""
    folder = pinned_folder(job)
    if folder is None:
        return {}
    more = job.cluster.config.get("env", {}).get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), more]))}


def _present_code() -> dict[str, Any]:
    code, folder = code_of(), unpack_package(_root())
    if folder.name != code.sha256:
        raise BadBundle("the code changed while it was pinned; retrying")
    return code.to_json()


def _earlier_code(attempt: Attempt) -> dict[str, Any] | None:
    if not attempt.is_automatic:
        return None
    earlier = attempt.run.attempts.filter(n__lt=attempt.n, code__isnull=False).order_by("-n").first()
    bundle = bundle_file(earlier) if earlier else None
    if earlier is None or bundle is None:
        return None
    unpack(bundle, _root())
    return earlier.code


def _uses_our_code(cluster: Cluster) -> bool:
    """Return whether the cluster runs our code: it is local, or its config names no `project`."""
    return cluster.kind == "local" or not cluster.config.get("project")


def _root() -> Path:
    return Path(settings.DATA_DIR) / "code"


def task_folders(cluster: Cluster) -> list[str]:
    """Return the absolute folders in which this cluster allows users' own tasks; none by default."""
    return list(cluster.config.get("task_paths", []))


def check_own_task(config: RunConfig, cluster: Cluster) -> None:
    """Raise ConfigError if the run's own task cannot be on this cluster.

    Only the node reads the task's file. If the cluster's disk is remote, only the node checks that the file exists.
    """
    if not isinstance(config.task.options, OwnOptions):
        return
    folders = task_folders(cluster)
    if not folders:
        raise ConfigError([Problem(TASK_PATH_FIELD, _no_folder_message(cluster))])
    if cluster.is_remote:
        return
    try:
        find(config.task.options.path, [Path(folder) for folder in folders])
    except NoSuchTask as error:
        raise ConfigError([Problem(TASK_PATH_FIELD, str(error))]) from error


def _no_folder_message(cluster: Cluster) -> str:
    message = f"cluster {cluster.name} does not allow custom tasks"
    others = [c.name for c in Cluster.objects.order_by("name") if task_folders(c)]
    if others:
        return f"{message}; these do: {', '.join(others)}"
    command = cluster.set_command("task_paths", ["/srv/tasks"])
    return f"{message}, and no other does; an administrator allows folders of tasks, such as {command}"
