"""Removes copies that nothing needs any more: code that attempts ran, and the links of arrays.

What a launch needs is noted, and what nobody needs is removed, under one lock of the database: no launch finds its code
gone.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from runs.models import Attempt, Run
from runs.models.job import OPEN
from workers.code import fingerprint
from workers.code.bundle import SUFFIX
from workers.executors.slurm.executor import ARRAYS

log = logging.getLogger(__name__)
CODE_LOCK = 0x636F6465
YOUNG_SECONDS = 86400.0
"""What is younger is left where it is."""


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
