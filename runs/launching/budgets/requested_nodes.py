"""The nodes, GPUs and cores that a run requests, as numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext

from runs.models import Job
from runs.models.experiment import config_count, config_section
from workers.config.run import AUTO, ComputeConfig


@dataclass(frozen=True)
class Resources(ComputeConfig):
    """Nodes that a run requests, in words.

    `planned_share` is the share of a GPU that was planned for a run with `auto`, None before it is submitted.
    `gpu_memory_mb` is the memory that its processes may take of a GPU that they share; 0 is no limit.
    """

    planned_share: float | None = None
    gpu_memory_mb: int = 0

    def __str__(self) -> str:
        """Return the GPUs in words, or the cores of a run without any, such as "2 nodes × 4 GPUs (h100)"."""
        if self.devices:
            text = self._describe_gpus()
        else:
            text = ngettext("%(n)s core", "%(n)s cores", self.cores) % {"n": self.cores}
        if self.devices and self.gpu_type:
            text = f"{text} ({self.gpu_type})"
        if self.nodes == 1:
            return text
        return gettext("%(nodes)s nodes × %(each)s") % {"nodes": self.nodes, "each": text}

    @property
    def gpu_share(self) -> float | None:
        """Return the fraction of each of its GPUs that the run has; None for auto, until it is planned."""
        return self.planned_share if super().gpu_share is None else super().gpu_share

    @property
    def node_gpus(self) -> float:
        """Return the number of GPUs of each node, or the fraction of one; 1 for auto, until it is planned."""
        return super().node_gpus if self.gpu_share is None or not self.shares_gpu else self.gpu_share

    @property
    def sharing(self) -> str:
        """Return a sentence about a GPU that the run shares; empty if it has whole ones, or none."""
        share, gb = self.gpu_share, self.gpu_memory_mb * 2**20 / 10**9
        if share is None or share == 1:
            return ""
        if gb:
            message = gettext(
                "The run has %(share)s of a GPU, which other runs may share: at most %(gb)s GB of its memory."
            )
        else:
            message = gettext("The run has %(share)s of a GPU, which other runs may share.")
        return message % {"share": f"{share:g}", "gb": f"{gb:.1f}"}

    def _describe_gpus(self) -> str:
        share = self.gpu_share
        if share is None:
            return gettext("part of a GPU (auto)")
        if share < 1:
            return gettext("%(share)s of a GPU") % {"share": f"{share:g}"}
        return ngettext("%(n)s GPU", "%(n)s GPUs", self.devices) % {"n": self.devices}


def resources_of(config: Mapping[str, Any], job: Job | None = None) -> Resources:
    """Return what a run's config requests, with what was planned for `job` if it is given.

    Configs of earlier versions are of one node.
    """
    return Resources(
        nodes=config_count(config, "compute", "nodes", 1),
        gpus=_gpus(config_section(config, "compute").get("gpus"), config),
        cores=config_count(config, "compute", "cores", 1),
        gpu_type=str(config_section(config, "compute").get("gpu_type", "")),
        planned_share=job.gpu_share if job else None,
        gpu_memory_mb=job.gpu_memory_mb if job else 0,
    )


def _gpus(value: object, config: Mapping[str, Any]) -> Any:
    """Return the GPUs of a config: auto, a fraction, or else a whole number from 0."""
    is_fraction = isinstance(value, float) and 0 < value < 1
    return value if value == AUTO or is_fraction else config_count(config, "compute", "gpus")
