"""Whether a cluster has the GPUs that a config needs, and the config adapted to the GPUs that it has."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.launching.config_form import LaunchForm, initial_from
from runs.launching.create import cluster_of
from runs.launching.gpu_memory.hardware import ClusterGpus, describe_lack, find_gpus
from runs.models import Cluster
from workers.config import ConfigError, Preset, PresetNeeds, Problem, RunConfig, presets
from workers.preflight.adapt import CannotAdapt, Change, adapt

OTHER_SHORTAGE = _("Cluster %(cluster)s has the GPUs, but less of something else that the config requests.")


@dataclass(frozen=True)
class Adaptation:
    """A config adapted to a cluster. `sentence`: what its GPUs lack.

    If no change makes the config fit, `refusal` is the reason, and `tiny` a preset that needs no GPU.
    """

    cluster: str
    sentence: str
    config: RunConfig | None = None
    changes: list[Change] = field(default_factory=list)
    refusal: str = ""
    tiny: Preset | None = None


def find_adaptation(config: RunConfig, preset: Preset | None) -> Adaptation | None:
    """Return how the config is adapted to its cluster, or why it cannot be; None if nothing has to change.

    Raise ConfigError for an unknown cluster.
    """
    cluster = cluster_of(config)
    available = find_gpus(config.compute, cluster) if config.compute.devices else None
    if available is None or (config.compute.shares_gpu and available.gpus):
        return None
    needs = preset.needs if preset is not None and _has_model_of(config, preset) else None
    if not available.gpus and (needs is None or not needs.gpus):
        # The model may train without GPUs; that the cluster has none is a problem of compute.gpus.
        return None
    sentence = _describe_shortage(config, needs, available, cluster)
    try:
        adapted, changes = adapt(
            config, gpus=available.gpus, card_gb=available.card_gb, nodes=available.nodes, cores=available.cores,
            has_gpu_type=available.has_gpu_type, needs=needs,
        )  # fmt: skip
    except CannotAdapt as error:
        tiny = presets().get(preset.tiny_name) if preset is not None else None
        return Adaptation(cluster.name, sentence, refusal=gettext(error.template) % error.values, tiny=tiny)
    return Adaptation(cluster.name, sentence, adapted, changes) if changes else None


def adapt_to_cluster(config: RunConfig, preset: Preset | None) -> tuple[RunConfig, list[Change]]:
    """Return the config adapted to its cluster, and its changes; none if it already fits.

    Raise ConfigError if no change makes it fit, or if the cluster is unknown.
    """
    adaptation = find_adaptation(config, preset)
    if adaptation is None:
        return config, []
    if adaptation.config is None:
        raise ConfigError([Problem("compute.gpus", f"{adaptation.sentence} {adaptation.refusal}")])
    return adaptation.config, adaptation.changes


def find_form_adaptation(form: LaunchForm) -> Adaptation | None:
    """Return how the config of a form as sent is adapted to its cluster; None if nothing has to change, or the form
    was not valid before its runs were checked.

    An unknown cluster becomes a problem of its field, unless a check of the runs has reported it.
    """
    is_valid = form.is_valid()
    if not form.configs:
        return None
    try:
        return find_adaptation(form.configs[0], presets().get(form.cleaned_data.get("preset", "")))
    except ConfigError as error:
        if is_valid:
            form.add_problems(error.problems)
        return None


def fill_form(form: LaunchForm, config: RunConfig) -> LaunchForm:
    """Return a form with the values of this config, and with the preset, seeds and name of the valid form."""
    typed = {name: form.cleaned_data[name] for name in ("preset", "seeds", "name")}
    return LaunchForm(initial={**initial_from(config.to_json()), **typed}, cloned=form.cloned)


def _has_model_of(config: RunConfig, preset: Preset) -> bool:
    """Return whether the run trains the preset's model, of which the preset states the memory."""
    return bool(config.model.path == preset.config.get("model", {}).get("path"))


def _describe_shortage(config: RunConfig, needs: PresetNeeds | None, available: ClusterGpus, cluster: Cluster) -> str:
    """Return a sentence about what the config needs and what the cluster has."""
    compute = config.compute
    params: dict[str, object] = {"gpus": compute.devices, "cluster": cluster.name, "most": available.gpus}
    if not available.gpus:
        params["why"] = describe_lack(cluster)
        message = gettext(
            "GPUs per node: the config needs %(gpus)s, and cluster %(cluster)s has none for this run%(why)s."
        )
    elif compute.nodes > available.nodes:
        params |= {"nodes": compute.nodes, "most": available.nodes}
        message = gettext("Nodes: the config needs %(nodes)s with GPUs, and cluster %(cluster)s has %(most)s.")
    elif needs is not None and needs.gpu_memory_gb and available.card_gb is not None:
        return _describe_memory_shortage(config, needs, available, params)
    elif compute.devices > available.gpus:
        message = gettext("GPUs per node: the config needs %(gpus)s, and cluster %(cluster)s has %(most)s.")
    else:
        message = gettext(OTHER_SHORTAGE)
    return message % params


def _describe_memory_shortage(
    config: RunConfig, needs: PresetNeeds, available: ClusterGpus, params: dict[str, object]
) -> str:
    """Return a sentence about the number of GPUs and their memory, which must be known."""
    compute, preset_gpus = config.compute, needs.gpus * needs.nodes
    params |= {"needed": f"{needs.gpu_memory_gb:g}", "card": f"{available.card_gb:.3g}"}
    if compute.devices > available.gpus or (available.card_gb or 0) < needs.gpu_memory_gb:
        message = gettext(
            "GPUs per node: the config needs %(gpus)s of %(needed)s GB, and cluster %(cluster)s has %(most)s of "
            "%(card)s GB."
        )
    elif config.grpo is not None and compute.devices * compute.nodes < preset_gpus:
        params |= {"all": preset_gpus, "own": compute.devices * compute.nodes}
        message = gettext(
            "GPUs of the run: the preset has %(all)s of %(needed)s GB, and the config has %(own)s of %(card)s GB."
        )
    else:
        message = gettext(OTHER_SHORTAGE)
    return message % params
