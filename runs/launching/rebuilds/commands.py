"""Rebuild checkpoints that were never saved, stop or delete a rebuild, and open a checkpoint to send it."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from runs import checkpoints
from runs.checkpoints import Archive, Member, SavedCheckpoint, header
from runs.clusters import submit_host_of
from runs.enqueue import on_commit
from runs.launching.cancel import request_end
from runs.launching.create import cluster_of
from runs.launching.resources import check_resources
from runs.models import Rebuild, Run
from runs.models.experiment import UID_LETTERS
from workers.checkpoint_folders import REBUILT
from workers.config import ConfigError
from workers.config.methods import method_of
from workers.executors.base import Unreachable
from workers.executors.openssh import RemoteDisk
from workers.executors.states import State

MAX_REBUILDS_PER_RUN = 5


class CannotRebuild(ValueError):
    """Error for a checkpoint that cannot be rebuilt. The message is the reason, and names the saved steps."""


def rebuild_refusal(run: Run) -> str:
    """Return why the run's checkpoints cannot be rebuilt; an empty text if they can."""
    if refusal := run.kind.rebuild_refusal:
        return gettext(refusal)
    if (newest := run.newest_attempt()) is not None and newest.cluster is not None and newest.cluster.is_remote:
        message = gettext(
            "Only saved checkpoints are available, because the replay log is on %(cluster)s, and this machine cannot "
            "read its disk."
        )
        return message % {"cluster": newest.cluster.name}
    if method_of(run.method).is_replayed:
        return ""
    return gettext(
        "Only saved checkpoints of a GRPO run are available: its steps depend on gradients and an optimiser's state, "
        "which a short log cannot replay. grpo.save_steps sets how often it saves."
    )


def rebuild_checkpoint(run: Run, step: int, person: User) -> Rebuild:
    """Create and submit the job that rebuilds the checkpoint of a step. Return the existing one if it is open or done.

    Two simultaneous calls return the same job. Raise CannotRebuild.
    """
    _check(run, step)
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)
        present = run.rebuilds.filter(step=step).first()
        if present is not None and (present.is_open or is_ready(present)):
            if present.state == State.CREATED.value:
                on_commit("submit_rebuild", present.pk)
            return present
        if present is not None:
            delete_rebuild(present)
        key = f"esweb-{run.uid}-r{step}-" + "".join(secrets.choice(UID_LETTERS) for _ in range(4))
        cluster = cluster_of(run.run_config)
        rebuild = Rebuild.objects.create(run=run, step=step, key=key, cluster=cluster, asked_by=person)
        on_commit("submit_rebuild", rebuild.pk)
    return rebuild


def stop_rebuild(rebuild: Rebuild) -> None:
    """Request the end of a job that rebuilds a checkpoint."""
    with transaction.atomic():
        request_end(rebuild)
        on_commit("cancel_rebuild", rebuild.pk)


def is_ready(rebuild: Rebuild) -> bool:
    """Return whether the folder of the rebuild can be downloaded."""
    return rebuild.state == State.SUCCEEDED.value and rebuild.folder.is_dir()


def checkpoint_at(run: Run, step: int) -> Path | None:
    """Return the folder of a step's checkpoint on this disk, saved or rebuilt; None if there is none."""
    if (saved := checkpoints.at_step(run, step)) is not None and not saved.is_remote:
        return saved.folder
    rebuilt = run.rebuilds.filter(step=step).first()
    if rebuilt is not None and is_ready(rebuilt):
        return rebuilt.folder
    # A run that reads a deleted checkpoint rebuilds it itself.
    folder = run.root / REBUILT / f"step-{step:06d}"
    return folder if folder.is_dir() else None


def delete_rebuild(rebuild: Rebuild) -> None:
    """Delete the folder, then the row: a process killed in between leaves a row that the next call finds.

    Raise OSError.
    """
    if rebuild.directory.exists():
        shutil.rmtree(rebuild.directory)
    rebuild.delete()


def delete_old_rebuilds(run: Run) -> None:
    """Delete all but the newest ended rebuilds of the run, so that the disk does not fill."""
    ended = run.rebuilds.exclude(pk__in=run.rebuilds.open()).order_by("-ended_at", "-pk")
    for old in ended[MAX_REBUILDS_PER_RUN:]:
        delete_rebuild(old)


def _check(run: Run, step: int) -> None:
    if refusal := rebuild_refusal(run):
        saved = ", ".join(map(str, checkpoints.by_step(run))) or gettext("none yet")
        raise CannotRebuild(f"{refusal} " + gettext("Saved steps: %(steps)s.") % {"steps": saved})
    last = run.reached_step()
    if not 0 <= step <= last:
        message = gettext("step must be a whole number from 0 to %(last)s, the last step that %(name)s has reached")
        raise CannotRebuild(message % {"last": last, "name": run.name})
    try:
        check_resources(run.run_config, run.created_by, cluster_of(run.run_config))
    except ConfigError as error:
        raise CannotRebuild("; ".join(map(str, error.problems))) from error


class CheckpointUnavailable(Exception):
    """Error for a checkpoint that cannot be sent now. The message is the reason."""


def open_checkpoint(run: Run, step: int) -> tuple[Archive, str] | None:
    """Return (archive of the checkpoint's files, its name); the caller closes the archive. None if there is none.

    Raise CheckpointUnavailable.
    """
    saved = checkpoints.at_step(run, step)
    folder = saved.folder if saved is not None else checkpoint_at(run, step)
    if folder is None:
        return None
    name = f"{run.uid}-{folder.name}"
    try:
        return (
            _remote_archive(run, saved, name)
            if saved is not None and saved.is_remote
            else Archive.from_folder(folder, name)
        ), name
    except Unreachable as error:
        message = gettext("The checkpoint is on its cluster's own disk and cannot be copied now: %(why)s")
        raise CheckpointUnavailable(message % {"why": error}) from error
    except FileNotFoundError as error:
        raise CheckpointUnavailable(
            gettext("The folder of the checkpoint no longer exists: %(why)s") % {"why": error}
        ) from error


def _remote_archive(run: Run, saved: SavedCheckpoint, name: str) -> Archive:
    """Return an archive that is copied over SSH while it is sent, without a local copy. Raise Unreachable."""
    attempt = run.attempts.select_related("cluster").get(n=saved.attempt)
    disk = submit_host_of(attempt.cluster) if attempt.cluster is not None else None
    if not isinstance(disk, RemoteDisk):
        raise Unreachable("its cluster is no longer reached over SSH")
    fetched = disk.fetch(saved.folder)
    if not fetched.files:
        fetched.close()
        raise FileNotFoundError(f"{disk.cluster_path(saved.folder)} contains no files")
    return Archive([Member(header(f"{name}/{file}", size), fetched, size) for file, size in fetched.files])
