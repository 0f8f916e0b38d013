"""Add and end imports of folders of this server, for page and API. The caller checks that an admin calls."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from runs.importing.server_folders.paths import resolve_path
from runs.models import Cluster, Experiment, ServerFolder
from workers.config import ConfigError, Problem

MAX_ACTIVE = 100
"""Folders that may be followed at the same time: each is listed every few seconds."""


@dataclass(frozen=True)
class NewServerFolder:
    """A path of this server to import: once, or again while it grows. Its runs join an experiment of this name."""

    cluster: str
    path: str
    experiment_name: str
    experiment: Experiment | None = None
    follows: bool = True


def add_server_folder(new: NewServerFolder, person: User) -> tuple[ServerFolder, bool]:
    """Return (the folder to be read, whether it is new). A path that is being read already is returned unchanged.

    Raise ConfigError with every problem, each at its field.
    """
    cluster = Cluster.objects.filter(name=new.cluster).first()
    if cluster is None:
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True)[:20]) or "–"
        raise ConfigError([Problem("cluster", gettext("must be one of %(names)s") % {"names": names})])
    path = str(resolve_path(cluster, new.path))
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person.pk)
        active = ServerFolder.objects.active().filter(path=path, person=person, experiment_name=new.experiment_name)
        if (existing := active.first()) is not None:
            return existing, False
        if ServerFolder.objects.active().count() >= MAX_ACTIVE:
            message = gettext("cannot be added: %(n)s folders are being read; stop one of them first")
            raise ConfigError([Problem("path", message % {"n": MAX_ACTIVE})])
        folder = ServerFolder.objects.create(
            cluster=cluster, path=path, person=person, experiment=new.experiment,
            experiment_name=new.experiment_name, follows=new.follows,
        )  # fmt: skip
    return folder, True


def stop_server_folder(folder: ServerFolder) -> None:
    """Read the folder no more. Its runs stay. Safe to repeat."""
    ServerFolder.objects.filter(pk=folder.pk).update(next_look_at=None)
