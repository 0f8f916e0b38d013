"""The GPUs of runs whose config does not state how many: one for a large model where the cluster has one, else none.

A config that states `compute.gpus` is left alone, also if it states 0. A stored config always states it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs.launching.create import cluster_of
from runs.launching.gpu_memory.hardware import describe_lack, find_gpus
from runs.launching.gpu_memory.model_config import ModelConfigMissing, read_model
from runs.launching.request import value_at
from runs.launching.resources import find_run
from runs.models import Cluster
from workers.config import ConfigError, RunConfig, presets
from workers.config.resources import BUILT_IN_MODELS, resources
from workers.config.run import ComputeConfig
from workers.preflight import PLANNERS
from workers.preflight.memory import planner_name

MIN_PARAMETERS = 100_000_000
"""Parameters from which a model trains on a GPU by default. Tiny and micro have less than a hundredth of them."""
STATED_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,3})?)[ _-]?([mb])(?![a-z0-9])", re.IGNORECASE)
"""The parameters in the name of a model, such as 135M or 0.5B."""
UNITS = {"m": 10**6, "b": 10**9}
MAX_PARENTS = 20
"""Runs in a row of which each starts from a checkpoint of the next."""

Gpus = float | Literal["auto"]


@dataclass(frozen=True)
class GpuChoice:
    """The `compute.gpus` of a run that does not state it, and the reason as a clause in the page's language."""

    gpus: Gpus
    reason: str

    @property
    def sentence(self) -> str:
        """Return the choice with its reason."""
        return gettext("compute.gpus is %(gpus)s: %(reason)s.") % {"gpus": self.gpus, "reason": self.reason}

    @property
    def alternative(self) -> str:
        """Return what a run on cores would get if its settings left that open."""
        message = gettext(
            "compute.gpus is 0, so the run trains on cores. Left empty, it would be %(gpus)s: %(reason)s."
        )
        return message % {"gpus": self.gpus, "reason": self.reason}


class GpuDefaults:
    """The default GPUs of the runs of one launch. Each model and each cluster is read once.

    `settled`: model.path and cluster -> GPUs of the earlier runs of the same sweep, which further runs have too.
    """

    def __init__(self, person: User, settled: Mapping[tuple[str, str], Gpus] | None = None) -> None:
        self._person = person
        self._settled = settled or {}
        self._parameters: dict[tuple[str, str], int | None] = {}
        self._has_gpus: dict[ComputeConfig, bool] = {}
        self._clusters: dict[str, Cluster] = {}
        self._latest: Gpus = 0

    def decode(self, data: Mapping[str, Any]) -> RunConfig:
        """Return the config of a launch, with the default GPUs if `data` does not state them. Raise ConfigError.

        A config that is not valid with the default, such as one with `compute.gpu_type` for a small model, gets the
        number with which it is valid.
        """
        if not _is_open(data):
            return RunConfig.from_json(data)
        config = self._decode_first(data)
        assumed = config.compute.gpus
        try:
            self._latest = self._gpus_of(config)
            return config if self._latest == assumed else RunConfig.from_json(_with_gpus(data, self._latest))
        except ConfigError:
            # The cluster is unknown, which the check of the launch reports, or the default is not valid.
            return config

    def _decode_first(self, data: Mapping[str, Any]) -> RunConfig:
        """Return the config with GPUs with which it is valid. Raise ConfigError.

        The runs of a sweep mostly have the same GPUs, so that most configs are decoded once.
        """
        assumed: Gpus = 1 if _requests_gpu(data) else self._latest
        for gpus in dict.fromkeys((assumed, 1)) if assumed else ():
            with contextlib.suppress(ConfigError):
                return RunConfig.from_json(_with_gpus(data, gpus))
        return RunConfig.from_json(_with_gpus(data, 0))

    def choose(self, config: RunConfig) -> GpuChoice:
        """Return the default GPUs of a run, whatever its config states. Raise ConfigError for an unknown cluster."""
        cluster = self._cluster_of(config)
        if config.model.device == "cpu":
            return GpuChoice(0, gettext("model.device is cpu"))
        if config.es is not None and config.es.backend == "adapter_server":
            return GpuChoice(0, gettext("the adapter server answers"))
        name, parameters = self._largest_model(config, cluster)
        if parameters is not None and parameters < MIN_PARAMETERS:
            message = gettext("%(model)s has fewer than %(least)s M parameters, and trains on cores")
            return GpuChoice(0, message % {"model": name, "least": MIN_PARAMETERS // 10**6})
        if not self._cluster_has_gpus(config.compute, cluster):
            message = gettext("cluster %(cluster)s has no GPU for this run%(why)s")
            return GpuChoice(0, message % {"cluster": cluster.name, "why": describe_lack(cluster)})
        return GpuChoice(_share_or_whole(config, cluster), _size_reason(name, parameters))

    def _gpus_of(self, config: RunConfig) -> Gpus:
        settled = self._settled.get((config.model.path, config.compute.cluster))
        return self.choose(config).gpus if settled is None else settled

    def _cluster_of(self, config: RunConfig) -> Cluster:
        name = config.compute.cluster
        if name not in self._clusters:
            self._clusters[name] = cluster_of(config)
        return self._clusters[name]

    def _largest_model(self, config: RunConfig, cluster: Cluster) -> tuple[str, int | None]:
        """Return a model that the run loads, and its parameters, None if they are unknown: the first one that is large
        or unknown, else the last one."""
        name = ""
        parameters: int | None = 0
        for name in _model_names(config):
            parameters = self._parameters_of(self._base_model(name), config, cluster)
            if parameters is None or parameters >= MIN_PARAMETERS:
                break
        return name, parameters

    def _base_model(self, name: str) -> str:
        """Return the model from which a run of this name was trained; another name as it is, and an empty text for a
        run that the user does not see."""
        for _ in range(MAX_PARENTS):
            if not name.startswith("run:"):
                return name
            run = find_run(name.partition("@")[0], self._person)
            name = str(value_at(run.config, "model.path") or "") if run is not None else ""
        return ""

    def _parameters_of(self, model: str, config: RunConfig, cluster: Cluster) -> int | None:
        if model in BUILT_IN_MODELS:
            return 0
        key = (model, cluster.name)
        if model and key not in self._parameters:
            self._parameters[key] = self._read_parameters(model, config, cluster)
        return self._parameters.get(key)

    def _read_parameters(self, model: str, config: RunConfig, cluster: Cluster) -> int | None:
        try:
            named = replace(config, model=replace(config.model, path=model))
            return read_model(named, self._person, cluster).parameters or _stated_parameters(model)
        except ModelConfigMissing:
            return _preset_parameters().get(model) or _stated_parameters(model)

    def _cluster_has_gpus(self, compute: ComputeConfig, cluster: Cluster) -> bool:
        """Return whether the cluster is known to have a GPU for the run, and its limits allow one."""
        one = replace(compute, gpus=1)
        if one not in self._has_gpus:
            available = find_gpus(one, cluster)
            self._has_gpus[one] = available is not None and available.gpus > 0 and _allows_gpus(cluster)
        return self._has_gpus[one]


def _is_open(data: Mapping[str, Any]) -> bool:
    """Return whether a config leaves its GPUs to the site. One whose compute is no object is refused as it is."""
    compute = data.get("compute", {})
    return isinstance(compute, Mapping) and "gpus" not in compute


def _requests_gpu(data: Mapping[str, Any]) -> bool:
    """Return whether a config has a setting that is valid in runs with GPUs only."""
    return bool(value_at(data, "compute.gpu_type")) or value_at(data, "grpo.vllm") is not None


def _with_gpus(data: Mapping[str, Any], gpus: Gpus) -> dict[str, Any]:
    return {**data, "compute": {**data.get("compute", {}), "gpus": gpus}}


def _model_names(config: RunConfig) -> Iterator[str]:
    """Yield the names of the models and runs whose weights the run loads."""
    for resource in resources(config):
        if resource.kind == "runs":
            yield from resource.value
        elif resource.value and resource.kind in ("score_model", "run", *(["model"] if config.needs_torch else [])):
            yield resource.value


def _share_or_whole(config: RunConfig, cluster: Cluster) -> Gpus:
    """Return auto for a training in one process whose memory is planned, on this machine, whose cards are known; else a
    whole GPU."""
    has_plan = config.is_training and planner_name(config) in PLANNERS and not config.uses_vllm
    is_one_process = config.processes == 1 and (config.es is None or config.es.engines <= 1)
    return "auto" if has_plan and is_one_process and cluster.kind == "local" else 1


def _allows_gpus(cluster: Cluster) -> bool:
    limits: Mapping[str, int] = cluster.config.get("limits", {})
    return min(limits.get("gpus", 1), limits.get("total_gpus", 1)) >= 1


@cache
def _preset_parameters() -> dict[str, int]:
    """Return model -> parameters, as the presets with these models state them."""
    stated = ((p.config.get("model", {}).get("path"), p.needs.parameters_billions) for p in presets().values())
    return {model: round(billions * 10**9) for model, billions in stated if billions}


def _stated_parameters(name: str) -> int | None:
    """Return the parameters that the name of a model states, or None."""
    stated = STATED_SIZE.search(name.rpartition("/")[2])
    return round(float(stated[1]) * UNITS[stated[2].lower()]) if stated else None


def _size_reason(name: str, parameters: int | None) -> str:
    params = {"model": name, "least": MIN_PARAMETERS // 10**6}
    if parameters is None:
        return gettext("how many parameters %(model)s has is not known here") % params
    message = gettext("%(model)s has %(size)s parameters, and models from %(least)s M on train on a GPU")
    return message % {**params, "size": size_text(parameters)}


def size_text(parameters: int) -> str:
    """Return a number of parameters with two or three digits, such as 135 M or 7.6 B."""
    unit, sign = (10**9, "B") if parameters >= 10**9 else (10**6, "M")
    return f"{parameters / unit:.3g} {sign}"
