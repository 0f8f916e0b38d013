"""Checkpoints that were never saved: rebuild one, stop or delete a rebuild, and open a checkpoint to send it."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from runs import checkpoints
from runs.checkpoints import Archive, Member, Saved, header
from runs.clusters import place_of
from runs.enqueue import on_commit
from runs.launching.cancel import wish_to_end
from runs.launching.create import cluster_of
from runs.launching.resources import check_resources
from runs.models import Rebuild, Run
from runs.models.experiment import UID_LETTERS
from workers.config import ConfigError
from workers.executors.base import Unreachable
from workers.executors.openssh import FarDisk
from workers.executors.states import State

KEPT_A_RUN = 5


class CannotRebuild(ValueError):
    """A checkpoint that cannot be had. The message says why, and names what can."""


def rebuild_refusal(run: Run) -> str:
    """Why the run's checkpoints cannot be rebuilt; empty where they can."""
    if run.is_imported:
        return gettext("It was imported: its checkpoints and its replay log are where it ran.")
    if (newest := run.newest_attempt()) is not None and newest.cluster is not None and newest.cluster.is_far:
        said = gettext(
            "Only what it has saved can be had: its replay log lies on %(cluster)s, whose disk is not seen here."
        )
        return said % {"cluster": newest.cluster.name}
    if run.method == "es":
        return ""
    return gettext(
        "Only what a GRPO run has saved can be had: its steps come from gradients and an optimiser's state, "
        "which no short log can repeat. grpo.save_steps says how often it saves."
    )


def last_step(run: Run) -> int:
    """The last step that the run has reached."""
    reached = run.population_set.aggregate(last=Max("step"))["last"]
    saved = run.checkpoint_set.aggregate(last=Max("step"))["last"]
    return max(reached or 0, saved or 0)


def rebuild_checkpoint(run: Run, step: int, person: User) -> Rebuild:
    """Create and submit the job that rebuilds the checkpoint of a step. Return the present one if it is open or done.

    Two who ask at once get the same. Raise CannotRebuild.
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
            throw_away(present)
        key = f"esweb-{run.uid}-r{step}-" + "".join(secrets.choice(UID_LETTERS) for _ in range(4))
        cluster = cluster_of(run.run_config)
        rebuild = Rebuild.objects.create(run=run, step=step, key=key, cluster=cluster, asked_by=person)
        on_commit("submit_rebuild", rebuild.pk)
    return rebuild


def stop_rebuild(rebuild: Rebuild) -> None:
    """Request the end of a job that rebuilds a checkpoint."""
    with transaction.atomic():
        wish_to_end(rebuild)
        on_commit("cancel_rebuild", rebuild.pk)


def is_ready(rebuild: Rebuild) -> bool:
    """True where its folder can be downloaded."""
    return rebuild.state == State.SUCCEEDED.value and rebuild.folder.is_dir()


def checkpoint_at(run: Run, step: int) -> Path | None:
    """The folder of a step's checkpoint, saved or rebuilt; None where neither is here."""
    if (saved := checkpoints.at_step(run, step)) is not None and not saved.is_far:
        return saved.folder
    rebuilt = run.rebuilds.filter(step=step).first()
    return rebuilt.folder if rebuilt is not None and is_ready(rebuilt) else None


def throw_away(rebuild: Rebuild) -> None:
    """Removes the folder, then the row: a process killed in between leaves a row that the next one finds.

    Raises OSError.
    """
    if rebuild.directory.exists():
        shutil.rmtree(rebuild.directory)
    rebuild.delete()


def throw_away_old(run: Run) -> None:
    """Keeps the newest of the rebuilds that have ended, so that the disk does not fill."""
    ended = run.rebuilds.exclude(pk__in=run.rebuilds.open()).order_by("-ended_at", "-pk")
    for old in ended[KEPT_A_RUN:]:
        throw_away(old)


def _check(run: Run, step: int) -> None:
    if why := rebuild_refusal(run):
        saved = ", ".join(map(str, checkpoints.by_step(run))) or gettext("none yet")
        raise CannotRebuild(f"{why} " + gettext("Saved steps: %(steps)s.") % {"steps": saved})
    last = last_step(run)
    if not 0 <= step <= last:
        said = gettext("step must be a whole number from 0 to %(last)s, the last that %(name)s has reached")
        raise CannotRebuild(said % {"last": last, "name": run.name})
    try:
        check_resources(run.run_config, run.created_by, cluster_of(run.run_config))
    except ConfigError as error:
        raise CannotRebuild("; ".join(map(str, error.problems))) from error


class NotThere(Exception):
    """The checkpoint cannot be sent now. The message says why."""


def open_checkpoint(run: Run, step: int) -> tuple[Archive, str] | None:
    """(its files, what they are called together), to be closed; None where there is none of that step.

    Raises NotThere.
    """
    saved = checkpoints.at_step(run, step)
    folder = saved.folder if saved is not None else checkpoint_at(run, step)
    if folder is None:
        return None
    name = f"{run.uid}-{folder.name}"
    try:
        return (_far(run, saved, name) if saved is not None and saved.is_far else Archive.of(folder, name)), name
    except Unreachable as error:
        said = gettext("It lies on its cluster's own disk, which does not give it now: %(why)s")
        raise NotThere(said % {"why": error}) from error
    except FileNotFoundError as error:
        raise NotThere(gettext("Its folder is no longer there: %(why)s") % {"why": error}) from error


def _far(run: Run, saved: Saved, name: str) -> Archive:
    """Its bytes come while they are sent, and lie on no disk of ours in between. Raises Unreachable."""
    attempt = run.attempts.select_related("cluster").get(n=saved.attempt)
    place = place_of(attempt.cluster) if attempt.cluster is not None else None
    if not isinstance(place, FarDisk):
        raise Unreachable("its cluster is not reached over SSH any more")
    fetched = place.fetch(saved.folder)
    if not fetched.files:
        fetched.close()
        raise FileNotFoundError(f"{place.there(saved.folder)} holds no file")
    return Archive([Member(header(f"{name}/{file}", size), fetched, size) for file, size in fetched.files])
