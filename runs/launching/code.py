"""Which code an attempt runs, and where the files of users' own tasks may lie.

Code is noted before an attempt is submitted, and kept in a folder that nobody changes afterwards. So a run that waits
is not changed by somebody who edits the code meanwhile. An attempt that follows by itself runs what the one before it
ran; one that a person asks for runs what is there now.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings

from runs.clusters import code_folder, place_of
from runs.launching.purge import code_stays
from runs.models import Attempt, Cluster
from workers.code import BadBundle, bundle_path, code_of, unpack, unpacked
from workers.config import ConfigError, OwnOptions, Problem, RunConfig
from workers.tasks.own import NoSuchTask, find

PLACE = "task.options.path"


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
