"""Read the config.json of a run's model, if this machine may read it.

`resources.py` decides which names a run may have; a name that it refuses is looked up nowhere. The hub is never called:
a model of the hub has a config.json here once a run has loaded it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs.launching.resources import check_resources, checkpoint_of, data_folders
from runs.models import Cluster
from workers.config import ConfigError, RunConfig
from workers.config.cache import cache_folder
from workers.config.resources import BUILT_IN_MODELS, HUB_NAME, NAME, RUN_REFERENCE, find
from workers.config.shallow_json import loads

FILE = "config.json"
MAX_BYTES = 1_000_000
COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)


class ModelConfigMissing(Exception):
    """Error if this machine cannot read the model's config.json. Its message is the reason, in the page's language."""


def read_model_config(config: RunConfig, person: User, cluster: Cluster) -> dict[str, Any]:
    """Return the config.json of the model of a run that this user starts on this cluster. Raise ModelConfigMissing."""
    name = config.model.path
    try:
        check_resources(config, person, cluster)
        for folder, root in _folders(config, person, cluster):
            if (model_config := _read(folder / FILE, root)) is not None:
                return model_config
    except (ConfigError, OSError, ValueError) as error:
        # An error of the system names the path on this machine.
        reason = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
        message = gettext("The config.json of %(model)s cannot be read here: %(why)s.")
        raise ModelConfigMissing(message % {"model": name, "why": reason}) from error
    raise ModelConfigMissing(_absence(name, cluster))


def _folders(config: RunConfig, person: User, cluster: Cluster) -> Iterator[tuple[Path, Path]]:
    """Yield (folder of the model, folder that no link in it may leave), in the order in which a trainer looks."""
    name = config.model.path
    if name in BUILT_IN_MODELS:
        root = cache_folder() / "models"
        yield from ((folder, root) for folder in sorted(root.glob(f"{name}-*-*"), key=_changed_at, reverse=True))
    elif RUN_REFERENCE.fullmatch(name):
        saved = checkpoint_of(config, person)
        if saved is not None and not saved.is_remote:
            yield saved.folder, saved.folder
    elif NAME.fullmatch(name):
        allowed = [Path(folder) for folder in data_folders(cluster)]
        if cluster.is_remote and allowed:
            # The name may be a model in one of the cluster's own folders, which take precedence.
            return
        if (folder := find(name, allowed)) is not None:
            yield folder, next(root for root in allowed if folder.is_relative_to(root.resolve()))
        elif HUB_NAME.fullmatch(name):
            yield from _hub_folders(name)


def _hub_folders(name: str) -> Iterator[tuple[Path, Path]]:
    """Yield the newest snapshot of a model of the Hugging Face hub that is in this machine's cache."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    root = Path(os.environ.get("HF_HUB_CACHE") or home / "hub") / f"models--{name.replace('/', '--')}"
    reference = root / "refs" / "main"
    if reference.is_file():
        commit = reference.read_text(encoding="ascii").strip()
        if COMMIT.fullmatch(commit):
            yield root / "snapshots" / commit, root


def _read(path: Path, root: Path) -> dict[str, Any] | None:
    """Return the parsed file; None if it does not exist. Raise ValueError if it is invalid."""
    if not path.is_file():
        return None
    if not path.resolve().is_relative_to(root.resolve()):
        raise ValueError(gettext("it is a link to a file outside its folder"))
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(gettext("it is larger than %(n)s bytes") % {"n": MAX_BYTES})
    try:
        value = loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(gettext("it is not a JSON object"))
    return value


def _changed_at(folder: Path) -> float:
    return folder.stat().st_mtime


def _absence(name: str, cluster: Cluster) -> str:
    if name in BUILT_IN_MODELS:
        return gettext("%(model)s is created by its first run and has no config.json yet.") % {"model": name}
    message = gettext(
        "This machine has no config.json of %(model)s: it is only on the disk of %(cluster)s, or not downloaded yet."
    )
    return message % {"model": name, "cluster": cluster.name}
