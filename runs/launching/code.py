"""Which code an attempt runs, where files of users' own tasks may lie, and the removal of copies that nothing needs.

Code is noted before an attempt is submitted, and kept in a folder that nobody changes afterwards. So a run that waits
is not changed by somebody who edits the code meanwhile. An attempt that follows by itself runs what the one before it
ran; one that a person asks for runs what is there now. What a launch needs is noted, and what nobody needs is removed,
under one lock of the database: no launch finds its code gone.
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
"""What is younger is left where it is."""
PLACE = "task.options.path"


@contextmanager
def code_stays() -> Iterator[None]:
    """While code is chosen and noted, none is removed."""
    with transaction.atomic():
        with connection.cursor() as sql:
            sql.execute("SELECT pg_advisory_xact_lock_shared(%s)", [CODE_LOCK])
        yield


def purge_code() -> list[str]:
    """Removes unpacked code that only runs need which have ended, and bundles that no attempt ran; returns the names.

    So what a run ran can be downloaded as long as there is the run. Raises OSError.
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
    """Removes the links of arrays of which no task is open; returns the arrays' names. Raises OSError."""
    is_open = set(Attempt.objects.open().values_list("key", flat=True))
    folders = _old(Path(settings.RUNS_DIR) / ARRAYS)
    return [_removed(folder) for folder in folders if not is_open & {link.readlink().name for link in folder.iterdir()}]


def _not_at_rest() -> QuerySet[Attempt]:
    """All attempts of runs that have not ended, or will go on by themselves with the code of an earlier attempt."""
    waiting = Attempt.objects.filter(Q(state__in=OPEN) | Q(restart_at__isnull=False) | Q(moves_to__isnull=False))
    return Attempt.objects.filter(run__in=Run.objects.filter(pk__in=waiting.values("run")))


def _codes(attempts: QuerySet[Attempt]) -> set[str]:
    """The fingerprints of what they ran, or are to run."""
    return set(attempts.filter(code__isnull=False).order_by().values_list("code__sha256", flat=True).distinct())


def _old(folder: Path) -> list[Path]:
    """What lies in it since longer than a day."""
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
    """Notes what the attempt is to run, and keeps that. Safe to repeat, and to run twice at once.

    Raises OSError, also where the code is changed at this very moment.
    """
    if attempt.code is None:
        with code_stays():
            chosen = _of_the_one_before(attempt) or _here()
            Attempt.objects.filter(pk=attempt.pk, code__isnull=True).update(code=chosen)
        attempt.refresh_from_db(fields=["code"])


def kept_bundle(attempt: Attempt) -> Path | None:
    """The file that holds what the attempt is to run; None where it was not launched here."""
    if attempt.code is None:
        return None
    path = bundle_path(_root(), attempt.code["sha256"])
    return path if path.is_file() else None


def pinned_folder(attempt: Attempt) -> PurePath | None:
    """What goes on PYTHONPATH for the attempt; None where its cluster has code of its own, or nothing is pinned."""
    if attempt.code is None or attempt.cluster is None or not _takes_our_code(attempt.cluster):
        return None
    return code_folder(attempt.cluster) / str(attempt.code["sha256"])


def ship(attempt: Attempt) -> None:
    """Brings what the attempt is to run to a cluster that does not see our disk. Safe to repeat. Raises Unreachable."""
    if attempt.cluster is None or not attempt.cluster.is_far or not _takes_our_code(attempt.cluster):
        return
    if (kept := kept_bundle(attempt)) is not None:
        place_of(attempt.cluster).ship(kept)


def code_arguments(attempt: Attempt) -> tuple[str, ...]:
    """What the trainer is told, so that it can see for itself."""
    if attempt.code is None or attempt.cluster is None:
        return ()
    refuses = attempt.cluster.config.get("other_code") == "refuse"
    return ("--code", attempt.code["sha256"], *(("--other-code", "refuse") if refuses else ()))


def code_environment(attempt: Attempt) -> dict[str, str]:
    """The pinned folder before whatever else the cluster's config has on that path."""
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
    """True where nodes see the data folder or are sent what is in it, and nobody has said that their code is other."""
    return cluster.kind == "local" or not cluster.config.get("project")


def _root() -> Path:
    return Path(settings.DATA_DIR) / "code"


def task_folders(cluster: Cluster) -> list[str]:
    """The folders that this cluster allows, absolute; none by default."""
    return list(cluster.config.get("task_paths", []))


def check_own_task(config: RunConfig, cluster: Cluster) -> None:
    """Raises ConfigError where the run's task cannot be on this cluster. What is in its file only the node looks at; on
    a disk that is not seen here, also whether it is there."""
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
