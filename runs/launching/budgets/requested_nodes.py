"""The nodes, GPUs and cores that a run requests, as numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext

from runs.models.experiment import config_count, config_section
from workers.config.run import ComputeConfig


@dataclass(frozen=True)
class Resources(ComputeConfig):
    """Nodes that a run requests, in words."""

    def __str__(self) -> str:
        """Return the GPUs in words, or the cores of a run without any, such as "2 nodes × 4 GPUs (h100)"."""
        if self.gpus:
            text = ngettext("%(n)s GPU", "%(n)s GPUs", self.gpus) % {"n": self.gpus}
        else:
            text = ngettext("%(n)s core", "%(n)s cores", self.cores) % {"n": self.cores}
        if self.gpus and self.gpu_type:
            text = f"{text} ({self.gpu_type})"
        if self.nodes == 1:
            return text
        return gettext("%(nodes)s nodes × %(each)s") % {"nodes": self.nodes, "each": text}


def resources_of(config: Mapping[str, Any]) -> Resources:
    """Return what a run's config requests. Configs of earlier versions are of one node."""
    return Resources(
        nodes=config_count(config, "compute", "nodes", 1),
        gpus=config_count(config, "compute", "gpus"),
        cores=config_count(config, "compute", "cores", 1),
        gpu_type=str(config_section(config, "compute").get("gpu_type", "")),
    )
