"""The GPUs of this machine with what runs on each, for the page of a cluster and the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from runs.clusters.executors import executor_for
from runs.clusters.offered_gpus import offer_of
from runs.models import Attempt, Cluster, Run
from workers.executors.base import Unreachable
from workers.executors.local import CardUse, Local

GB, MB = 10**9, 2**20


@dataclass(frozen=True)
class GpuUse:
    """A GPU: its number, its name (empty if the driver does not give it), and in GB of 10⁹ bytes its memory (None if
    unknown), what is used, and what programs outside esweb hold. `share` of it is taken by jobs; `runs` are those of
    them that the viewer may see, and `others` counts the other jobs."""

    index: int
    name: str
    memory_gb: float | None
    used_gb: float
    others_gb: float
    share: float
    runs: Sequence[Run] = ()
    others: int = 0

    @property
    def jobs(self) -> int:
        """Return the number of jobs on the GPU."""
        return len(self.runs) + self.others


@dataclass(frozen=True)
class GpuReport:
    """The GPUs that runs of a cluster may use now. `reason` says why there are no others; it is empty if there are
    none."""

    gpus: Sequence[GpuUse] = ()
    reason: str = ""


def report_gpus(cluster: Cluster, person: User) -> GpuReport:
    """Return the GPUs of this machine with the jobs on each, as this person may see them; nothing for a cluster
    elsewhere."""
    if cluster.kind != "local":
        return GpuReport()
    executor = executor_for(cluster)
    try:
        uses = executor.card_uses() if isinstance(executor, Local) else []
    except Unreachable as error:
        return GpuReport(reason=str(error))
    runs = _visible_runs([key for use in uses for key in use.keys], person)
    return GpuReport([_gpu_use(use, runs) for use in uses], offer_of(cluster).reason)


def _visible_runs(keys: Sequence[str], person: User) -> dict[str, Run]:
    """Return job's key -> run, of those jobs whose runs this person may see."""
    if not keys:
        return {}
    attempts = Attempt.objects.filter(key__in=keys, run__in=Run.objects.visible_to(person)).select_related("run")
    return {attempt.key: attempt.run for attempt in attempts}


def _gpu_use(use: CardUse, visible: dict[str, Run]) -> GpuUse:
    card = use.card
    runs = [visible[key] for key in use.keys if key in visible]
    memory_gb = _gb(card.memory_mb) if card.memory_mb else None
    others = len(use.keys) - len(runs)
    return GpuUse(card.index, card.name, memory_gb, _gb(card.used_mb), _gb(use.others_mb), use.share, runs, others)


def _gb(mb: float) -> float:
    return round(mb * MB / GB, 3)
