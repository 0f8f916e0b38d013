"""Opens a checkpoint to be sent: from this disk, or, while it is sent, from a cluster's own over SSH."""

from __future__ import annotations

from django.utils.translation import gettext

from runs import checkpoints
from runs.checkpoints import Archive, Member, Saved, header
from runs.launch.places import place_of
from runs.launch.rebuilding import checkpoint_at
from runs.models import Run
from workers.executors.base import Unreachable
from workers.executors.openssh import FarDisk


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
