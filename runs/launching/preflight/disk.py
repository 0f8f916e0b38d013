"""The disk that the checkpoints of a launch will take, and the free space if this machine has that disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.launching.create import cluster_of
from runs.launching.gpu_memory import ModelConfigMissing, Models
from workers.config import RunConfig
from workers.config.methods import METHODS
from workers.preflight import DiskPlan, plan_disk

PARTS = {
    "weights": _("weights"),
    "master": _("float32 master"),
    "adapter": _("adapter"),
    "optimizer": _("optimizer"),
    "others": _("tokenizer and settings"),
}
"""Field of `CheckpointBytes` -> label."""


@dataclass(frozen=True)
class LaunchDisk:
    """The checkpoints of all runs of a launch: `total` bytes at most at once, `left` after the end. `largest`: the run
    whose checkpoints take most, None without any.

    `reason`: why the bytes of one or more runs are unknown. `free`: free bytes on the disk of the runs, None if it is
    not the disk of this machine.
    """

    largest: DiskPlan | None = None
    total: int = 0
    left: int = 0
    free: int | None = None
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Return whether the checkpoints fit on the disk, as far as it is known."""
        return self.free is None or self.total <= self.free

    @property
    def parts(self) -> list[tuple[str, int]]:
        """Return (part in words, bytes) of the newest checkpoint of the largest run, without empty parts."""
        sizes = asdict(self.largest.checkpoint) if self.largest else {}
        return [(gettext(words), sizes[part]) for part, words in PARTS.items() if sizes.get(part)]


def plan_launch_disk(configs: Sequence[RunConfig], models: Models) -> LaunchDisk:
    """Return the disk of the checkpoints of these runs. Raise ConfigError for an unknown cluster."""
    plans, reasons = [], []
    for config in configs:
        if not config.is_training:
            if METHODS[config.method].saves_weights:
                message = gettext("The checkpoints of method %(method)s are not planned.")
                reasons.append(message % {"method": config.method})
            continue
        try:
            plan = plan_disk(config, models.read(config))
        except ModelConfigMissing as missing:
            reasons.append(str(missing))
            continue
        if plan is None:
            message = gettext("The config.json of %(model)s states invalid sizes.")
            reasons.append(message % {"model": config.model.path})
        else:
            plans.append(plan)
    largest = max(plans, key=lambda plan: plan.total, default=None)
    is_here = not any(cluster_of(config).is_remote for config in _one_per_cluster(configs))
    total, left = sum(plan.total for plan in plans), sum(plan.left for plan in plans)
    return LaunchDisk(largest, total, left, _free_bytes() if is_here else None, reasons[0] if reasons else "")


def _one_per_cluster(configs: Iterable[RunConfig]) -> Iterable[RunConfig]:
    return {config.compute.cluster: config for config in configs}.values()


def _free_bytes() -> int | None:
    """Return the free bytes on the disk of the runs; its folder is created with the first run."""
    folder = Path(settings.RUNS_DIR)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
