"""Pin the code of an attempt, delete copies of code that nothing needs, and check the files of users' own tasks.

Code is pinned before an attempt is submitted: it is copied to a folder that never changes. So edits of the code do not
affect runs that wait. An automatic restart runs the code of the attempt before it; an attempt that a user starts runs
the present code. Pinning and deletion take the same database lock, so code that a launch needs is never deleted.
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

from runs.clusters import code_folder, place_of
from runs.models import Attempt, Cluster, Run
from runs.models.job import OPEN
from workers.code import BadBundle, bundle_path, code_of, fingerprint, unpack, unpacked
from workers.code.bundle import SUFFIX
from workers.config import ConfigError, OwnOptions, Problem, RunConfig
from workers.executors.slurm.executor import ARRAYS
from workers.tasks.own import NoSuchTask, find

log = logging.getLogger(__name__)
CODE_LOCK = 0x636F6465
YOUNG_SECONDS = 86400.0
"""Age in seconds below which nothing is deleted."""
PLACE = "task.options.path"


@contextmanager
def code_stays() -> Iterator[None]:
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
        here, all_of_it, needed = fingerprint(), _codes(Attempt.objects.all()), _codes(_not_at_rest())
        return [
            _removed(path)
            for path in _old(Path(settings.DATA_DIR) / "code")
            if path.stem not in ({here} | (all_of_it if path.suffix == SUFFIX else needed))
        ]


def purge_arrays() -> list[str]:
    """Delete the links of Slurm arrays without open tasks; return the arrays' names. Raise OSError."""
    is_open = set(Attempt.objects.open().values_list("key", flat=True))
    folders = _old(Path(settings.RUNS_DIR) / ARRAYS)
    return [_removed(folder) for folder in folders if not is_open & {link.readlink().name for link in folder.iterdir()}]


def _not_at_rest() -> QuerySet[Attempt]:
    """Return all attempts of runs that have not finished, or that will continue automatically with earlier code."""
    waiting = Attempt.objects.filter(Q(state__in=OPEN) | Q(restart_at__isnull=False) | Q(moves_to__isnull=False))
    return Attempt.objects.filter(run__in=Run.objects.filter(pk__in=waiting.values("run")))


def _codes(attempts: QuerySet[Attempt]) -> set[str]:
    """Return the fingerprints of the code that these attempts run."""
    return set(attempts.filter(code__isnull=False).order_by().values_list("code__sha256", flat=True).distinct())


def _old(folder: Path) -> list[Path]:
    """Return the folder's entries that are older than a day, sorted; none if there is no folder."""
    if not folder.is_dir():
        return []
    before = time.time() - YOUNG_SECONDS
    return [path for path in sorted(folder.iterdir()) if path.lstat().st_mtime < before]


def _removed(path: Path) -> str:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    return path.name


def purge_copies() -> None:
    """Delete pinned code and array scripts that nothing needs any more. What cannot be deleted is tried again later."""
    for purge in (purge_code, purge_arrays):
        try:
            log.info("Removed of what nothing needs: %s", purge() or "nothing")
        except OSError:
            log.exception("What nothing needs any more cannot be removed; the next job tries again")


def pin(attempt: Attempt) -> None:
    """Pin the code that the attempt runs, and store a copy of it. Safe to repeat, and to run twice at the same time.

    Raise OSError, also if the code changes at this moment.
    """
    if attempt.code is None:
        with code_stays():
            chosen = _of_the_one_before(attempt) or _here()
            Attempt.objects.filter(pk=attempt.pk, code__isnull=True).update(code=chosen)
        attempt.refresh_from_db(fields=["code"])


def kept_bundle(attempt: Attempt) -> Path | None:
    """Return the file with the attempt's code; None if the attempt has no pinned code or the file does not exist."""
    if attempt.code is None:
        return None
    path = bundle_path(_root(), attempt.code["sha256"])
    return path if path.is_file() else None


def pinned_folder(attempt: Attempt) -> PurePath | None:
    """Return the attempt's folder for PYTHONPATH; None if its cluster has its own code or nothing is pinned."""
    if attempt.code is None or attempt.cluster is None or not _takes_our_code(attempt.cluster):
        return None
    return code_folder(attempt.cluster) / str(attempt.code["sha256"])


def ship(attempt: Attempt) -> None:
    """Copy the attempt's code to its cluster if that does not share our disk. Safe to repeat. Raise Unreachable."""
    if attempt.cluster is None or not attempt.cluster.is_far or not _takes_our_code(attempt.cluster):
        return
    if (kept := kept_bundle(attempt)) is not None:
        place_of(attempt.cluster).ship(kept)


def code_arguments(attempt: Attempt) -> tuple[str, ...]:
    """Return the trainer's command-line arguments for the pinned code, so that the trainer can check its own code.

    Empty if nothing is pinned or the attempt has no cluster.
    """
    if attempt.code is None or attempt.cluster is None:
        return ()
    refuses = attempt.cluster.config.get("other_code") == "refuse"
    return ("--code", attempt.code["sha256"], *(("--other-code", "refuse") if refuses else ()))


def code_environment(attempt: Attempt) -> dict[str, str]:
    """Return PYTHONPATH with the pinned folder before the cluster's own entries; empty if there is no such folder."""
    folder = pinned_folder(attempt)
    if folder is None or attempt.cluster is None:
        return {}
    more = attempt.cluster.config.get("env", {}).get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), more]))}


def _here() -> dict[str, Any]:
    code, folder = code_of(), unpacked(_root())
    if folder.name != code.sha256:
        raise BadBundle("the code was changed while it was pinned: it is tried again")
    return code.to_json()


def _of_the_one_before(attempt: Attempt) -> dict[str, Any] | None:
    if not attempt.is_by_itself:
        return None
    before = attempt.run.attempts.filter(n__lt=attempt.n, code__isnull=False).order_by("-n").first()
    kept = kept_bundle(before) if before else None
    if before is None or kept is None:
        return None
    unpack(kept, _root())
    return before.code


def _takes_our_code(cluster: Cluster) -> bool:
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
        raise ConfigError([Problem(PLACE, _none_allowed(cluster))])
    if cluster.is_far:
        return
    try:
        find(config.task.options.path, [Path(folder) for folder in folders])
    except NoSuchTask as error:
        raise ConfigError([Problem(PLACE, str(error))]) from error


def _none_allowed(cluster: Cluster) -> str:
    said = f"cluster {cluster.name} allows no folder for tasks of your own"
    others = [c.name for c in Cluster.objects.order_by("name") if task_folders(c)]
    if others:
        return f"{said}; these do: {', '.join(others)}"
    return f"{said}, and no other does; an administrator sets task_paths in its config"
