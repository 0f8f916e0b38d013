"""The needs of a launch that are known on the site: its models, and the services that its runs call by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs.access import find_secret
from runs.launching.create import cluster_of
from runs.launching.gpu_memory import ModelConfigMissing, Models
from runs.launching.missing_models import missing_model_notes
from runs.models import Cluster
from runs.service_registry import SCORER, find_service
from workers.config import RunConfig
from workers.config.resources import BUILT_IN_MODELS
from workers.config.tasks import SafetyOptions
from workers.preflight.model_files import NATIVE_MODEL_TYPES

State = Literal["ok", "missing", "unknown"]


@dataclass(frozen=True)
class LaunchNeed:
    """A need: its name and a sentence about it, in the language of the page. unknown: the run itself will find out."""

    name: str
    state: State
    sentence: str


def check_launch_needs(configs: Sequence[RunConfig], person: User, models: Models) -> list[LaunchNeed]:
    """Return the needs of these runs, each once. The configs are those that a launch accepts."""
    rights = gettext("You may use the cluster, models, files and services that the settings name.")
    needs = [LaunchNeed(gettext("Rights"), "ok", rights)]
    for config in _one_per_model(configs):
        needs += _model_needs(config, cluster_of(config), models)
    if any(config.compute.devices and not config.is_training for config in configs):
        message = gettext("GPU memory is planned for runs that train only.")
        needs.append(LaunchNeed(gettext("GPU memory"), "unknown", message))
    for kind, name in dict.fromkeys(use for config in configs for use in _named_services(config)):
        needs += _service_needs(kind, name, person)
    return needs


def _one_per_model(configs: Iterable[RunConfig]) -> list[RunConfig]:
    uses = {(c.model.path, c.compute.cluster, c.es.backend if c.es else ""): c for c in configs if c.reads_model}
    return list(uses.values())


def _model_needs(config: RunConfig, cluster: Cluster, models: Models) -> Iterator[LaunchNeed]:
    name, title = config.model.path, gettext("Model")
    if name in BUILT_IN_MODELS:
        notes = missing_model_notes([config])
        yield LaunchNeed(title, "ok", notes[0] if notes else gettext("%(model)s is here.") % {"model": name})
        return
    try:
        model = models.read(config)
    except ModelConfigMissing:
        message = gettext(
            "This machine does not have %(model)s: it is on the disk of %(cluster)s, or the run downloads it. A gated "
            "model also needs a token of the Hugging Face hub there."
        )
        yield LaunchNeed(title, "unknown", message % {"model": name, "cluster": cluster.name})
        return
    yield LaunchNeed(title, "ok", gettext("%(model)s is here.") % {"model": name})
    if config.es and config.es.backend == "native" and model.architecture not in NATIVE_MODEL_TYPES:
        message = gettext(
            "The native decoder does not know models of type %(type)s: transformers answers one member after another."
        )
        yield LaunchNeed(gettext("Architecture"), "unknown", message % {"type": model.architecture or "–"})


def _named_services(config: RunConfig) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of the services that the run looks up by name."""
    options = config.task.options
    if isinstance(options, SafetyOptions) and options.is_scorer_registered:
        yield SCORER, options.scorer
    server = config.es.adapter_server if config.es else None
    if server is not None and server.is_registered:
        yield server.kind, server.server


def _service_needs(kind: str, name: str, person: User) -> Iterator[LaunchNeed]:
    """Yield whether the service is registered. A secret with an address is a scorer that is in no registry."""
    if kind == SCORER and (secret := find_secret(person, name)) is not None and secret.address:
        return
    title = gettext("Scorer") if kind == SCORER else gettext("Adapter server")
    if find_service(person, kind, name) is not None:
        yield LaunchNeed(title, "ok", gettext("%(name)s is registered and sends heartbeats.") % {"name": name})
        return
    message = gettext("%(name)s is not registered as a live service of kind %(kind)s: the runs wait until it is.")
    yield LaunchNeed(title, "missing", message % {"name": name, "kind": kind})
