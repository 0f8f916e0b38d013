"""Read the config.json of a run's model and the heads of its weights, if this machine may read them.

`resources.py` decides which names a run may have; a name that it refuses is looked up nowhere. The hub is never called:
a model of the hub has a config.json here once a run has loaded it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.launching.resources import check_resources, checkpoint_of, data_folders
from runs.models import Cluster
from workers.config import ConfigError, RunConfig
from workers.config.resources import BUILT_IN_MODELS, NAME, RUN_REFERENCE, find
from workers.preflight.model_files import CONFIG, ModelFiles, ModelUnreadable, find_cached_model, read_model_files

REASONS = (
    _("it is not a JSON object"),
    _("it is larger than %(n)s bytes"),
    _("%(file)s is not a safetensors file, or lists too many tensors"),
    _("%(file)s does not list its tensors"),
    _("there are more than %(n)s files of weights"),
)
"""Messages of `ModelUnreadable`, marked for translation."""


class ModelConfigMissing(Exception):
    """Error if this machine cannot read the model's config.json. Its message is the reason, in the page's language."""


def read_model(config: RunConfig, person: User, cluster: Cluster) -> ModelFiles:
    """Return the files of the model of a run that this user starts on this cluster. Raise ModelConfigMissing."""
    name = config.model.path
    try:
        check_resources(config, person, cluster)
        for folder, root in _folders(config, person, cluster):
            if _check_link(folder / CONFIG, root) and (files := read_model_files(folder, partial(_is_inside, root))):
                return files
    except (ConfigError, OSError, ValueError) as error:
        reason = _describe(error)
        message = gettext("The config.json of %(model)s cannot be read here: %(why)s.")
        raise ModelConfigMissing(message % {"model": name, "why": reason}) from error
    raise ModelConfigMissing(_absence(name, cluster))


def _folders(config: RunConfig, person: User, cluster: Cluster) -> Iterator[tuple[Path, Path]]:
    """Yield (folder of the model, folder that no link in it may leave), in the order in which a trainer looks."""
    name = config.model.path
    if name in BUILT_IN_MODELS:
        # Where runs of this machine make it. One that a remote cluster has made has the same sizes.
        root = Path(settings.CACHE_DIR) / "models"
        yield from ((folder, root) for folder in sorted(root.glob(f"{name}-*-*"), key=_changed_at, reverse=True))
    elif RUN_REFERENCE.fullmatch(name):
        saved = checkpoint_of(config, person)
        if saved is not None and not saved.is_remote:
            # The checkpoints of a run have equal sizes: one that is there stands for one that is to be rebuilt.
            folders = sorted(saved.folder.parent.glob("step-*")) if saved.is_deleted else [saved.folder]
            yield from ((folder, folder) for folder in folders)
    elif NAME.fullmatch(name):
        allowed = [Path(folder) for folder in data_folders(cluster)]
        if cluster.is_remote and allowed:
            # The name may be a model in one of the cluster's own folders, which take precedence.
            return
        if (folder := find(name, allowed)) is not None:
            yield folder, next(root for root in allowed if folder.is_relative_to(root.resolve()))
        elif (snapshot := find_cached_model(name, environment=_hub_environment(cluster))) is not None:
            # Its files are links into the folder of the model in the cache.
            yield snapshot, snapshot.parents[1]


def _hub_environment(cluster: Cluster) -> Mapping[str, str]:
    """Return the variables that name the hub's cache: those of the cluster's jobs, else those of this process."""
    variables: Mapping[str, str] = cluster.config.get("env") or {}
    return variables if {"HF_HOME", "HF_HUB_CACHE"} & variables.keys() else os.environ


def _check_link(path: Path, root: Path) -> bool:
    """Return whether the file exists. Raise ValueError for a link to a file outside `root`."""
    if path.is_file() and not _is_inside(root, path):
        raise ValueError(gettext("it is a link to a file outside its folder"))
    return path.is_file()


def _is_inside(root: Path, path: Path) -> bool:
    """Return whether the path is a file, and no link that leads out of `root`."""
    return path.is_file() and path.resolve().is_relative_to(root.resolve())


def _describe(error: Exception) -> str:
    """Return the reason in the language of the page. An error of the system names the path on this machine."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, ModelUnreadable):
        return gettext(error.template) % error.values
    return str(error).partition("\n")[0]


def _changed_at(folder: Path) -> float:
    return folder.stat().st_mtime


def _absence(name: str, cluster: Cluster) -> str:
    if name in BUILT_IN_MODELS:
        return gettext("%(model)s is created by its first run and has no config.json yet.") % {"model": name}
    message = gettext(
        "This machine has no config.json of %(model)s: it is only on the disk of %(cluster)s, or not downloaded yet."
    )
    return message % {"model": name, "cluster": cluster.name}
