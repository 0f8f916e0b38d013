"""Checkpoints that were never saved: asks for one to be made again, throws away those that nobody needs any more."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from runs import checkpoints
from runs.enqueue import on_commit
from runs.launch.cancelling import wish_to_end
from runs.launch.creating import cluster_of
from runs.launch.resources import check_resources
from runs.models import Rebuild, Run
from runs.models.experiment import UID_LETTERS
from workers.config import ConfigError
from workers.executors.states import State

KEPT_A_RUN = 5


class CannotRebuild(ValueError):
    """A checkpoint that cannot be had. The message says why, and names what can."""


def refusal(run: Run) -> str:
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


def rebuild(run: Run, step: int, person: User) -> Rebuild:
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
    if why := refusal(run):
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
