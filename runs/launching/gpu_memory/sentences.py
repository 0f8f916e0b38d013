"""What a launch says about the GPUs of its runs: which they request, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs.launching.budgets import Resources, resources_of
from runs.launching.create import cluster_of
from runs.launching.gpu_memory.default_gpus import GpuDefaults
from runs.launching.gpu_memory.shares import plan_job_gpu
from workers.config import RunConfig
from workers.config.run import AUTO


def planned_resources(config: RunConfig, person: User) -> Resources:
    """Return what a run requests, with the share of a GPU that its submit would plan now if it shares one."""
    requested = resources_of(config.to_json())
    if not config.compute.shares_gpu:
        return requested
    planned = plan_job_gpu(config, person, cluster_of(config))
    return replace(requested, planned_share=planned.share, gpu_memory_mb=planned.limit_mb)


def describe_gpus(configs: Sequence[RunConfig], person: User, *, are_open: bool) -> list[str]:
    """Return sentences about the GPUs of these runs, in the language of the page, each once.

    They say why a launch chooses the GPUs if the settings leave them open, what it would choose in place of a stated 0,
    and why auto takes a whole GPU for a run that cannot be planned. Raise ConfigError for an unknown cluster.
    """
    distinct = {(config.model.path, config.compute): config for config in configs}.values()
    sentences = [*_choices(distinct, person, are_open=are_open), *_whole_gpu_reasons(distinct, person)]
    return list(dict.fromkeys(sentences))


def _choices(configs: Iterable[RunConfig], person: User, *, are_open: bool) -> Iterator[str]:
    defaults = GpuDefaults(person)
    for config in configs:
        choice = defaults.choose(config)
        # A setting that needs a GPU may have decided otherwise.
        if are_open and choice.gpus == config.compute.gpus:
            yield choice.sentence
        elif not are_open and choice.gpus and not config.compute.gpus:
            yield choice.alternative


def _whole_gpu_reasons(configs: Iterable[RunConfig], person: User) -> Iterator[str]:
    for config in configs:
        planned = plan_job_gpu(config, person, cluster_of(config)) if config.compute.gpus == AUTO else None
        if planned is not None and planned.reason:
            reason = planned.reason.rstrip(".")
            yield gettext("auto takes a whole GPU for now: %(reason)s.") % {"reason": reason}
