"""Decide which files, models, scorers and trainer arguments a run that this site starts may name.

The site's trainers run with the site's rights. A config that a user sends therefore names no path: each field that
`workers.config.resources` marks takes names that are looked up in folders that an administrator allowed. Only this
module decides, and every start calls it: a launch, a sweep, a resume, a restart, a move, a rebuild, a submit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from runs import access, checkpoints, service_registry
from runs.checkpoints import SavedCheckpoint
from runs.kinds import kind_of
from runs.launching.credentials import site_url_of
from runs.launching.request import value_at
from runs.models import Attempt, Cluster, Run, ScorerSecret
from workers.config import ConfigError, Problem, RunConfig, config_fields
from workers.config.fields import ResourceKind
from workers.config.grpo import LAUNCHABLE_EXTRA
from workers.config.methods import EXAMINABLE_METHODS, EXAMINABLE_TEXT
from workers.config.resources import (
    BUILT_IN_MODELS,
    HUB_NAME,
    NAME,
    RUN_NAME,
    RUN_REFERENCE,
    NamedResource,
    OutsideFolders,
    find,
    named_runs,
    resources,
)
from workers.config.tasks import EMBEDDED

CHECKPOINT_PATH = re.compile(r".*/esweb-([0-9a-z]{10})-a\d+/checkpoints/step-0*((?!0)\d+|0)/?")
RUN_FOLDER_PATH = re.compile(r".*/([0-9a-z]{10})/?(@\d+)?")
WORD = re.compile(r"[A-Za-z0-9_]{1,60}", re.ASCII)
MAX_NAMED_STEPS = 20
SCORER_SECRET = "runs that this site starts use the token of a scorer's secret (Settings, Secrets)"  # noqa: S105
REPLACEMENTS = {
    "tracking.push_url": "this site creates the token for pushing, if the cluster's config sets site_url",
    "tracking.wandb_key_file": "runs that this site starts use the login (wandb login) of the cluster's account",
    "grpo.vllm.server": "runs that this site starts generate in their own processes: set grpo.vllm.mode to colocate",
    "tracking.token_file": "this site creates the token for pushing, if the cluster's config sets site_url",
    "task.options.scorer_token_file": f"{SCORER_SECRET}: give its name as task.options.scorer",
    "task.options.scorer_site": "this site looks up registered scorers by name",
    "task.options.scorer_site_token_file": "this site looks up registered scorers by name",
    "scorer.address": "scorers that this site starts are called at their machine's name and port",
    "scorer.token_file": f"{SCORER_SECRET}: give its name as scorer.secret",
    "scorer.site": "scorers that this site starts register here, if the cluster's config sets site_url",
    "scorer.site_token_file": "scorers that this site starts register here, if the cluster's config sets site_url",
    "es.adapter_server.folder": "runs that this site starts write adapters into their own directory",
    "es.adapter_server.token_file": "runs that this site starts read no token; serve without --api-key in its network",
    "es.adapter_server.site": "this site looks up registered servers by name",
    "es.adapter_server.site_token_file": "this site looks up registered servers by name",
}
"""Field that only a manually started run may set -> the site's replacement for it."""
OPTIONAL_MODELS = {
    field.path
    for field in config_fields(RunConfig)
    if field.resource in ("model", "score_model") and field.default == ""
}
"""Fields of a model that may be empty: they are so by default."""
PRIOR_TASK = re.compile(r"evaluate\.prior_tasks\.\d+\.")
PRIOR_TASK_REPLACEMENT = "a prior task of a run that this site starts calls no scorer; use the embedded one"


class _Launch:
    """A launch to be checked: its user, its cluster and its config."""

    def __init__(self, person: User, cluster: Cluster, config: RunConfig) -> None:
        self.person, self.cluster, self.config = person, cluster, config
        self.folders = [Path(folder) for folder in data_folders(cluster)]

    def model(self, resource: NamedResource) -> str:
        """Return why the model may not be named so, or an empty text."""
        name: str = resource.value
        if name in BUILT_IN_MODELS or (not name and resource.path in OPTIONAL_MODELS):
            return ""
        if RUN_REFERENCE.fullmatch(name) and resource.kind == "model":
            return self._checkpoint(name)
        if not NAME.fullmatch(name):
            return f"{self._model_choices(resource)}, not {name!r}{self._name_hint(name)}"
        try:
            is_usable = self._is_in_folders(name) or HUB_NAME.fullmatch(name)
        except (OutsideFolders, OSError) as error:
            return f"names {name!r}, and {error}"
        return "" if is_usable else f"{self._model_choices(resource)}, not {name!r}{self._name_hint(name)}"

    def evaluated_run(self, resource: NamedResource) -> str:
        """Return why this run may not be evaluated, or an empty text."""
        name: str = resource.value
        if not name:
            return ""
        if not RUN_NAME.fullmatch(name):
            folder = RUN_FOLDER_PATH.fullmatch(name)
            hint = f"; this one may be run:{folder[1]}" if folder else ""
            return f"must be run:<uid>, the uid of a run of method {EXAMINABLE_TEXT}, not {name!r}{hint}"
        run = find_run(name, self.person)
        return self._training_refusal(run, name)

    def examined_runs(self, resource: NamedResource) -> str:
        """Return why one or more of these runs may not be examined, or an empty text."""
        return "; ".join(filter(None, map(self._step_refusal, resource.value)))

    def _step_refusal(self, name: str) -> str:
        """Return why the run, or the step of it, may not be examined, or an empty text."""
        if not (RUN_NAME.fullmatch(name) or RUN_REFERENCE.fullmatch(name)):
            folder = RUN_FOLDER_PATH.fullmatch(name)
            hint = f"; this one may be run:{folder[1]}{folder[2] or ''}" if folder else ""
            return (
                f"must be run:<uid> or run:<uid>@<step>, with the uid of a run of method {EXAMINABLE_TEXT}, "
                f"not {name!r}{hint}"
            )
        run, step = _parse(name, self.person)
        if refusal := self._training_refusal(run, name):
            return refusal
        if run is None or run.is_open or step is None or step <= (last := run.reached_step()):
            return ""
        return f"names {name}, but the last step of that run is {last}"

    def _training_refusal(self, run: Run | None, name: str) -> str:
        """Return why no weights of the run can be read, or an empty text. `name`: the text that names it."""
        if run is None:
            return f"names {name}, but you see no such run"
        if not run.kind.runs_here:
            return f"names {name}, but {_elsewhere_reason(run)}"
        if run.method not in EXAMINABLE_METHODS:
            return f"names {name}, which has method {run.method}; it must be a run of method {EXAMINABLE_TEXT}"
        return self._attempts_refusal(run, name)

    def data(self, resource: NamedResource) -> str:
        """Return why the file may not be named so, or an empty text."""
        name: str = resource.value
        if not name:
            return ""
        if not NAME.fullmatch(name):
            return f"must be the name of a file in {self._folder_text()}, not {name!r}{self._name_hint(name)}"
        try:
            is_usable = self._is_in_folders(name)
            hint = self._name_hint(name)
            return "" if is_usable else f"names {name!r}, which is not in {self._folder_text()}{hint}"
        except (OutsideFolders, OSError) as error:
            return f"names {name!r}, and {error}"

    def scorer(self, resource: NamedResource) -> str:
        """Return why the scorer may not be called, or an empty text."""
        name: str = resource.value
        if name.startswith(("http://", "https://")):
            return (
                ""
                if access.may_call(self.person, name)
                else f"{access.host_refusal(name)} Or give the name of a secret instead"
            )
        if name == EMBEDDED:
            return ""
        if (secret := access.find_secret(self.person, name)) and secret.address:
            return "" if access.may_call(secret.owner, secret.address) else access.host_refusal(secret.address)
        if site_url_of(self.cluster):
            return service_registry.launch_refusal(self.person, service_registry.SCORER, name)
        return (
            f"must be {EMBEDDED}, an address, the name of one of your scorers' secrets (Settings, Secrets) or of a "
            f"registered scorer, not {name!r}: you have no such secret, and cluster {self.cluster.name} has no "
            "site_url by which its nodes could find registered scorers"
        )

    def adapter_server(self, resource: NamedResource) -> str:
        """Return why the server of adapters may not be called, or an empty text. An address needs an allowed host, like
        a scorer's: the server reads a file of the run's, and its responses decide the rewards."""
        name: str = resource.value
        if name.startswith(("http://", "https://")):
            return "" if access.may_call(self.person, name) else access.service_refusal(name)
        if site_url_of(self.cluster):
            server = self.config.es_section().adapter_server
            return service_registry.launch_refusal(self.person, server.kind if server else "", name)
        return (
            f"must be an address, not {name!r}: cluster {self.cluster.name} has no site_url by which its nodes could "
            "find registered servers"
        )

    def scorer_secret(self, resource: NamedResource) -> str:
        """Return why the scorer may not want this secret's token, or an empty text."""
        own = ScorerSecret.objects.filter(owner_id=self.person.pk).order_by("name").values_list("name", flat=True)
        if not resource.value or resource.value in own:
            return ""
        return f"must be one of your own secrets (Settings, Secrets): {', '.join(own) or 'you have no secrets'}"

    def trainer_arguments(self, resource: NamedResource) -> str:
        """Return why these arguments may not be passed on, or an empty text."""
        arguments: Mapping[str, Any] = resource.value
        if unknown := sorted(arguments.keys() - set(LAUNCHABLE_EXTRA)):
            return (
                f"sets {', '.join(unknown)}, which runs that this site starts may not set: they are unknown, or name "
                f"files, hosts, repositories or code. Allowed are {', '.join(LAUNCHABLE_EXTRA)}"
            )
        if wrong := sorted(name for name, value in arguments.items() if not _is_plain(value)):
            return f"must contain numbers, true, false, null, single words, or lists or objects of numbers, in {wrong}"
        return ""

    def wandb_project(self, resource: NamedResource) -> str:
        """Return why metrics and config may not leave for this project, or an empty text."""
        allowed = [project.rpartition("/")[2] for project in wandb_projects(self.cluster)]
        return self._wandb_refusal(resource.value, allowed)

    def wandb_entity(self, resource: NamedResource) -> str:
        """Return why metrics and config may not leave for projects of this owner, or an empty text."""
        return self._wandb_refusal(resource.value, [p.rpartition("/")[0] for p in wandb_projects(self.cluster)])

    def _wandb_refusal(self, name: str, allowed: Sequence[str]) -> str:
        if not name or name in allowed:
            return ""
        projects = ", ".join(wandb_projects(self.cluster)) or "none"
        return (
            f"is {name}, to which runs of cluster {self.cluster.name} may not send metrics; allowed projects are: "
            f"{projects}. An administrator lists them, such as "
            f"{self.cluster.set_command('wandb_projects', ['team/project'])}"
        )

    def by_hand(self, resource: NamedResource) -> str:
        """Return why the field may not be set, or an empty text."""
        return f"must be empty: {_replacement(resource.path)}" if resource.value else ""

    def code(self, resource: NamedResource) -> str:
        """Return an empty text: `runs.launching.code` checks the file of a user's own task."""
        return ""

    def _checkpoint(self, reference: str) -> str:
        run, step = _parse(reference, self.person)
        if run is None or step is None:
            return f"names {reference}, but you see no such run"
        if not run.kind.runs_here:
            return f"names {reference}, but {_elsewhere_reason(run)}"
        saved = checkpoints.readable(run, step)
        if saved is None:
            steps = [str(step) for step in list(checkpoints.by_step(run))[:MAX_NAMED_STEPS]]
            return f"names {reference}, but that run did not save this step; it saved {', '.join(steps) or 'none'}"
        attempt = run.attempts.select_related("cluster").get(n=saved.attempt)
        if not self._can_read(attempt):
            return f"names {reference}, which is on the disk of {attempt.cluster}; {self.cluster} cannot read it"
        return ""

    def _attempts_refusal(self, run: Run, name: str) -> str:
        """Return why no attempt of the run can be read on this cluster, or an empty text."""
        started = run.attempts.filter(started_at__isnull=False, cluster__isnull=False).select_related("cluster")
        attempts = list(started.order_by("n"))
        if not attempts:
            return f"names {name}, but no attempt of that run has started on a cluster of this site"
        if not any(map(self._can_read, attempts)):
            disks = ", ".join(dict.fromkeys(str(attempt.cluster) for attempt in attempts))
            return f"names {name}, which is on the disk of {disks}; {self.cluster} cannot read it"
        return ""

    def _can_read(self, attempt: Attempt) -> bool:
        """Return whether this launch's cluster has the disk with the attempt's files."""
        is_local = attempt.cluster is None or not attempt.cluster.is_remote
        return attempt.cluster == self.cluster or (is_local and not self.cluster.is_remote)

    def _is_in_folders(self, name: str) -> bool:
        """Return whether an allowed folder has the name. On a remote disk, the trainer looks. Raise OutsideFolders."""
        if self.cluster.is_remote:
            return bool(self.folders)
        return find(name, self.folders) is not None

    def _folder_text(self) -> str:
        if not self.folders:
            return "a folder that an administrator allows"
        return f"a folder that cluster {self.cluster.name} allows ({', '.join(map(str, self.folders))})"

    def _model_choices(self, resource: NamedResource) -> str:
        own = ", run:<uid>@<step> for a checkpoint of a run" if resource.kind == "model" else ""
        built_in = "tiny or micro" if resource.kind == "model" else "tiny"
        return (
            f"must be {built_in}, a name on the Hugging Face hub{own}, or the name of a model in {self._folder_text()}"
        )

    def _name_hint(self, path: str) -> str:
        """Return a hint with the name to use in place of this path, if there is one."""
        if checkpoint := CHECKPOINT_PATH.fullmatch(path):
            return f"; this one is run:{checkpoint[1]}@{checkpoint[2]}"
        for folder in self.folders:
            if ".." not in Path(path).parts and Path(path).is_relative_to(folder) and Path(path) != folder:
                return f"; this one is {Path(path).relative_to(folder)}"
        return self._allow_hint(Path(path))

    def _allow_hint(self, path: Path) -> str:
        """Return a hint with the command by which an administrator allows the folder that has this path, or any; empty
        for a name that the allowed folders do not have."""
        _root, *parts = path.parts or ("",)
        if path.is_absolute() and len(parts) > 1 and all(map(NAME.fullmatch, parts)):
            command = self.cluster.set_command("data_paths", [*map(str, self.folders), str(path.parent)])
            return f"; an administrator allows {path.parent} with {command}, and the name is then {path.name}"
        if self.folders:
            return ""
        command = self.cluster.set_command("data_paths", ["/srv/models"])
        return f"; cluster {self.cluster.name} allows none: an administrator sets data_paths, such as {command}"


RULES: Mapping[ResourceKind, Callable[[_Launch, NamedResource], str]] = {
    "model": _Launch.model,
    "score_model": _Launch.model,
    "run": _Launch.evaluated_run,
    "runs": _Launch.examined_runs,
    "data": _Launch.data,
    "scorer": _Launch.scorer,
    "scorer_secret": _Launch.scorer_secret,
    "adapter_server": _Launch.adapter_server,
    "trainer_arguments": _Launch.trainer_arguments,
    "wandb_project": _Launch.wandb_project,
    "wandb_entity": _Launch.wandb_entity,
    "by_hand": _Launch.by_hand,
    "code": _Launch.code,
}


def data_folders(cluster: Cluster) -> list[str]:
    """Return the absolute folders in which runs of this cluster may name models and files; none by default."""
    return list(cluster.config.get("data_paths", []))


def wandb_projects(cluster: Cluster) -> list[str]:
    """Return the projects at Weights & Biases, as entity/project, to which runs may send metrics; none by default."""
    return list(cluster.config.get("wandb_projects", []))


def check_resources(config: RunConfig, person: User, cluster: Cluster) -> None:
    """Raise ConfigError with every field that names a resource which this user may not use on this cluster."""
    launch = _Launch(person, cluster, config)
    reasons = ((resource.path, RULES[resource.kind](launch, resource)) for resource in resources(config))
    if problems := [Problem(path, reason) for path, reason in reasons if reason]:
        raise ConfigError(problems)


def by_hand_problems(config: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each field of a stored config that only a manually started run may set."""
    prior_tasks = value_at(config, "evaluate.prior_tasks")
    prior_paths = [
        f"evaluate.prior_tasks.{number}.{path}"
        for number in range(len(prior_tasks) if isinstance(prior_tasks, list | tuple) else 0)
        for path in REPLACEMENTS
        if path.startswith("task.options.")
    ]
    prior_paths = [path.replace(".task.options.", ".options.") for path in prior_paths]
    values = ((path, value_at(config, path)) for path in (*REPLACEMENTS, *prior_paths))
    return [Problem(path, f"{value!r}: {_replacement(path)}") for path, value in values if value]


def _elsewhere_reason(run: Run) -> str:
    """Return why this site has no weights of a run that was imported, or that a program elsewhere reports."""
    return f"that run {run.kind.location_text}: no attempt of that run has started on a cluster of this site"


def _replacement(path: str) -> str:
    """Return the site's replacement for a field that only a manually started run may set."""
    return PRIOR_TASK_REPLACEMENT if PRIOR_TASK.match(path) else REPLACEMENTS[path]


def checkpoint_of(config: RunConfig, person: User) -> SavedCheckpoint | None:
    """Return the checkpoint that model.path names as run:<uid>@<step>, which the trainer may have to rebuild; None if
    it names none that the user may see."""
    if not RUN_REFERENCE.fullmatch(config.model.path):
        return None
    run, step = _parse(config.model.path, person)
    return checkpoints.readable(run, step) if run is not None and step is not None else None


def find_parent(config: RunConfig, person: User) -> tuple[Run | None, int | None]:
    """Return the first run that a config names, and its step if it names one. A run that examines a model alone has the
    run of model.path.

    Both are None if the config names no run that the user may see.
    """
    if names := named_runs(config):
        return _parse(names[0], person)
    return _parse(config.model.path, person) if kind_of(config.method).examination else (None, None)


def find_measured(config: RunConfig, person: User) -> list[Run]:
    """Return the runs that a config names and that the user may see, each once, in their order."""
    runs = [_parse(name, person)[0] for name in named_runs(config)]
    return list(dict.fromkeys(run for run in runs if run is not None))


def find_run(name: str, person: User) -> Run | None:
    """Return the run with the name run:<uid>; None for another name, and if the user sees no such run."""
    named = RUN_NAME.fullmatch(name)
    return Run.objects.visible_to(person).filter(uid=named[1]).first() if named else None


def _parse(name: str, person: User) -> tuple[Run | None, int | None]:
    """Return the run of run:<uid> or run:<uid>@<step>, and the step; both are None if the user sees no such run."""
    run = find_run(name.partition("@")[0], person)
    is_step = run is not None and RUN_REFERENCE.fullmatch(name)
    return run, int(name.partition("@")[2]) if is_step else None


def _is_plain(value: Any) -> bool:
    """Return whether a value names no resource: a number, a boolean, a word, or a list or object of numbers."""
    if isinstance(value, str):
        return WORD.fullmatch(value) is not None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(isinstance(element, int | float) or element is None for element in inner)
