"""The fields of a run's config that name files, services or code, and where a trainer finds what they name.

A run started by hand has its caller's rights: a path is a path. A run that a site starts has the site's rights, so its
config holds names only. The site decides which (`runs/launching/resources.py`) and lists in the trainer's environment
the folders that an administrator allowed; here, on the node, each name is looked up in them once more.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workers.config.decode import ConfigError, Problem
from workers.config.fields import ResourceKind, hints, resource_of
from workers.config.run import RunConfig
from workers.config.tasks import SafetyOptions

DATA_PATHS = "ESWEB_DATA_PATHS"
"""The allowed folders. If the variable is set, even to nothing, a site has started the run."""
RUN_CHECKPOINT = "ESWEB_RUN_CHECKPOINT"
"""The folder of the checkpoint that model.path names as run:<uid>@<step>."""
RUN_FOLDERS = "ESWEB_RUN_FOLDERS"
"""The folders of the attempts of the runs that `named_runs` returns; each folder is named by the uid."""
RUN_SITE, RUN_SITE_TOKEN = "ESWEB_RUN_SITE", "ESWEB_RUN_SITE_TOKEN"
"""The address of the site as this machine calls it, and the file in the attempt's directory that holds its token."""
RUN_PUSHES = "ESWEB_RUN_PUSHES"
"""Set if the run pushes its records to the site."""
RUN_SCORER, RUN_SCORER_TOKEN = "ESWEB_RUN_SCORER", "ESWEB_RUN_SCORER_TOKEN"
"""The address of the scorer that a secret named, and the file with the token that it wants, or that is wanted here."""
RUN_HOSTS, RUN_SCORER_HOSTS = "ESWEB_RUN_HOSTS", "ESWEB_RUN_SCORER_HOSTS"
"""The hosts that the addresses in the run's config may have, and those that RUN_SCORER may have: entries of
ESWEB_SCORER_HOSTS as JSON, null for any. `workers.outgoing` reads them."""
BUILT_IN_MODELS = ("tiny", "micro")
NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,95}(/[A-Za-z0-9_][\w.+-]{0,95}){0,9}", re.ASCII)
"""A file or folder under an allowed folder: no part begins with a dot, so that none leads upwards."""
HUB_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,95}(/[A-Za-z0-9_][\w.-]{0,95})?", re.ASCII)
RUN_NAME = re.compile(r"run:([0-9a-z]{10})", re.ASCII)
RUN_REFERENCE = re.compile(r"run:([0-9a-z]{10})@(0|[1-9][0-9]{0,8})", re.ASCII)
FOLDER_AT_STEP = re.compile(r"(.+?)(@(?:0|[1-9][0-9]{0,8}))?", re.ASCII | re.DOTALL)
"""A run that is started by hand names another by the folder of its attempts, with a step after the last @."""


class OutsideFolders(ValueError):
    """A name that leads out of the allowed folders. The message names the link."""


@dataclasses.dataclass(frozen=True)
class NamedResource:
    """A marked field of a config: its path in run.json, its kind and its value."""

    path: str
    kind: ResourceKind
    value: Any


def resources(config: Any, prefix: str = "") -> Iterator[NamedResource]:
    """Yield every marked field of a config and its sections, in the order of the source."""
    for name, kind in _kinds(config.__class__):
        value, path = getattr(config, name), prefix + name
        if kind is not None:
            yield NamedResource(path, kind, value)
        elif dataclasses.is_dataclass(value):
            yield from resources(value, f"{path}.")
        elif isinstance(value, tuple):
            sections = ((number, item) for number, item in enumerate(value) if dataclasses.is_dataclass(item))
            for number, item in sections:
                yield from resources(item, f"{path}.{number}.")


def named_runs(config: RunConfig) -> tuple[str, ...]:
    """Return the names of the runs that a config names in fields of kind `run` and `runs`, in the order of the source.

    The checkpoint of model.path is not among them.
    """
    named = (resource for resource in resources(config) if resource.kind in ("run", "runs"))
    names = ([resource.value] if resource.kind == "run" else resource.value for resource in named)
    return tuple(name for group in names for name in group if name)


@functools.cache
def _kinds(section: type) -> tuple[tuple[str, ResourceKind | None], ...]:
    """Return each field of a section with the kind of resource that it names, or None."""
    return tuple((field.name, resource_of(hints(section)[field.name])) for field in dataclasses.fields(section))


def is_started_by_site(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a site started this process, which then has the site's rights."""
    return DATA_PATHS in environment


def connect(config: RunConfig, environment: Mapping[str, str] = os.environ) -> RunConfig:
    """Return the config with what a site gives the runs that it starts: its own address and token, and the scorer's.

    Tokens are in files of the attempt's directory, and those in no config. Without a site, the config stays as it is.
    """
    site, site_token = environment.get(RUN_SITE, ""), environment.get(RUN_SITE_TOKEN, "")
    scorer, scorer_token = environment.get(RUN_SCORER, ""), environment.get(RUN_SCORER_TOKEN, "")
    if not is_started_by_site(environment):
        return config
    # A run of a site calls no address, and reads no token, that only a run started by hand may name.
    values: dict[str, str] = {resource.path: "" for resource in resources(config) if resource.kind == "by_hand"}
    if environment.get(RUN_PUSHES):
        values |= {"tracking.push_url": site, "tracking.token_file": site_token}
    if config.scorer is not None:
        values |= {"scorer.site": site, "scorer.site_token_file": site_token, "scorer.token_file": scorer_token}
    if isinstance(config.task.options, SafetyOptions) and scorer:
        values |= {"task.options.scorer": scorer, "task.options.scorer_token_file": scorer_token}
    elif isinstance(config.task.options, SafetyOptions):
        values |= {"task.options.scorer_site": site, "task.options.scorer_site_token_file": site_token}
    if config.es is not None and config.es.adapter_server is not None:
        values |= {"es.adapter_server.site": site, "es.adapter_server.site_token_file": site_token}
    return _replace(config, values)


def find(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file or folder of that name in the first allowed folder that has it, or None.

    Raise OutsideFolders if it, or a file in it, is a link that leads out of all of them.
    """
    roots = [folder.resolve() for folder in folders]
    for root in roots:
        path = root / name
        if not path.exists():
            continue
        for part in (path, *(path.iterdir() if path.is_dir() else ())):
            if not any(part.resolve().is_relative_to(root) for root in roots):
                raise OutsideFolders(f"{part.name} in {name} is a link to a path outside the allowed folders")
        return path
    return None


def locate(config: RunConfig, environment: Mapping[str, str] = os.environ) -> RunConfig:
    """Return the config with each name of a model or a file replaced by its path on this machine.

    Without a site, paths are the caller's own and stay. Raise ConfigError for what is not there.
    """
    folders = environment.get(DATA_PATHS)
    allowed = None if folders is None else [Path(part) for part in folders.split(os.pathsep) if part]
    parts = environment.get(RUN_FOLDERS, "").split(os.pathsep)
    run_folders = {Path(part).name: part for part in parts if part}
    problems: list[Problem] = []
    paths: dict[str, str | list[str]] = {}
    for resource in resources(config):
        if resource.kind in ("model", "score_model", "data", "run", "runs") and resource.value:
            try:
                if resource.kind == "run":
                    paths[resource.path] = _locate_run(resource.value, allowed, run_folders)
                elif resource.kind == "runs":
                    paths[resource.path] = _locate_runs(resource.value, allowed, run_folders)
                else:
                    paths[resource.path] = _locate(resource, allowed, environment.get(RUN_CHECKPOINT, ""))
            except ValueError as error:
                problems.append(Problem(resource.path, str(error)))
    if problems:
        raise ConfigError(problems)
    return _replace(config, paths)


def _locate(resource: NamedResource, folders: Sequence[Path] | None, checkpoint: str) -> str:
    """Return the path of one name. Raise ValueError with what is wrong."""
    name: str = resource.value
    if RUN_REFERENCE.fullmatch(name):
        if not checkpoint:
            raise ValueError(f"names {name}, which only its site can find; give the checkpoint's folder instead")
        folder = Path(checkpoint).resolve()
        # The trainer rebuilds a checkpoint that was deleted, if it is one of ES.
        may_be_rebuilt = folder.parent.name == "checkpoints" and folder.parent.parent.is_dir()
        if not (folder.is_dir() or may_be_rebuilt):
            raise ValueError(f"names {name}, but this checkpoint is not on this machine: {checkpoint} is not a folder")
        return str(folder)
    if folders is None or (resource.kind != "data" and name in BUILT_IN_MODELS):
        return name
    path = find(name, folders) if NAME.fullmatch(name) else None
    if path is not None:
        return str(path)
    if resource.kind != "data" and HUB_NAME.fullmatch(name):
        return name
    listing = ", ".join(map(str, folders)) or "none; an administrator can set data_paths in the cluster's config"
    raise ValueError(f"{name!r} is not in an allowed folder. Allowed folders: {listing}")


def _locate_run(name: str, folders: Sequence[Path] | None, run_folders: Mapping[str, str]) -> str:
    """Return the folder of a run's attempts. Raise ValueError with what is wrong."""
    if run := RUN_NAME.fullmatch(name):
        if run[1] not in run_folders:
            raise ValueError(f"names {name}, which only its site can find; give the folder of its attempts instead")
        name = run_folders[run[1]]
    elif folders is not None:
        raise ValueError(f"must be run:<uid>, not {name!r}")
    if not Path(name).is_dir():
        raise ValueError(f"names a run with attempts in {name}, which is not a folder on this machine")
    return str(Path(name).resolve())


def _locate_runs(names: Sequence[str], folders: Sequence[Path] | None, run_folders: Mapping[str, str]) -> list[str]:
    """Return <folder of the attempts> of each run, or <folder>@<step>. Raise ValueError with what is wrong in each."""
    located, wrong = [], []
    for name in names:
        try:
            located.append(_locate_step(name, folders, run_folders))
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError("; ".join(wrong))
    return located


def _locate_step(name: str, folders: Sequence[Path] | None, run_folders: Mapping[str, str]) -> str:
    run = FOLDER_AT_STEP.fullmatch(name)
    if run is None:
        raise ValueError("names a run by an empty text; give the folder of its attempts")
    if folders is not None and not RUN_NAME.fullmatch(run[1]):
        raise ValueError(f"must be run:<uid> or run:<uid>@<step>, not {name!r}")
    return _locate_run(run[1], folders, run_folders) + (run[2] or "")


def _replace(config: RunConfig, values: Mapping[str, str | list[str]]) -> RunConfig:
    """Return the config with these values at these dotted paths."""
    data = config.to_json()
    for path, value in values.items():
        *sections, name = path.split(".")
        section: Any = data
        for part in sections:
            section = section[int(part) if part.isdigit() else part]
        section[name] = value
    return RunConfig.from_json(data)
