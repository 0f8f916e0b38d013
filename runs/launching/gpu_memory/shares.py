"""The share of a GPU that a job gets: the one that its config states, or with auto one by its planned memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.contrib.auth.models import User

from runs.clusters import cards_of, divides_gpus
from runs.launching.gpu_memory.hardware import find_gpus
from runs.launching.gpu_memory.plan import Models, plan_on_card
from runs.models import Cluster
from workers.config import RunConfig
from workers.memory_plan import GB, CardPlan, claimed_bytes, share_of_card

MB = 2**20


@dataclass(frozen=True)
class JobGpu:
    """What a job gets of each of its GPUs.

    `share`: the fraction that it shares with others, 1 for a whole GPU with auto; None for whole GPUs and for none.
    `limit_mb`: the memory that it may take, 0 for all that its share is. `planned_mb`: the memory that it plans to
    take, 0 if that is not known. `reason`: why auto takes a whole GPU without a plan, as a clause.
    """

    share: float | None = None
    limit_mb: int = 0
    planned_mb: int = 0
    reason: str = ""


def plan_job_gpu(config: RunConfig, person: User, cluster: Cluster) -> JobGpu:
    """Return what a job with this config of this user gets of each of its GPUs on this cluster."""
    compute = config.compute
    if not compute.devices or (compute.shares_gpu and compute.gpu_share is not None):
        return JobGpu(compute.gpu_share if compute.shares_gpu else None)
    if compute.shares_gpu and not divides_gpus(cluster, compute):
        return _whole(config, f"Slurm does not divide the GPUs of {cluster.name} into shards")
    cards = _card_sizes(config, cluster)
    if not cards:
        return _whole(config, "the memory of the cluster's GPUs is not known")
    models = Models(person)
    plans = [plan_on_card(config, models, gb) for gb in cards]
    known = [plan for plan in plans if isinstance(plan, CardPlan)]
    if not known:
        return _whole(config, str(plans[0]))
    # A larger GPU may take larger batches: the share is enough on every one.
    plan = max(known, key=claimed_bytes)
    planned_mb = claimed_bytes(plan) // MB
    if not compute.shares_gpu:
        return JobGpu(planned_mb=planned_mb)
    if not all(plan.fits for plan in known) or config.uses_vllm:
        return JobGpu(1, planned_mb=planned_mb)
    share = share_of_card(replace(plan, card=int(min(cards) * GB)))
    limit_mb = int(share * min(cards) * GB) // MB if share < 1 else 0
    return JobGpu(share, limit_mb, limit_mb or planned_mb)


def _card_sizes(config: RunConfig, cluster: Cluster) -> list[float]:
    """Return the GB of each size of GPU that the job may get; none if they are not known."""
    if own := [card.memory_mb for card in cards_of(cluster)]:
        return [mb * MB / GB for mb in sorted(set(own))] if all(own) else []
    available = find_gpus(config.compute, cluster)
    return [] if available is None or available.card_gb is None else [available.card_gb]


def _whole(config: RunConfig, reason: str) -> JobGpu:
    return JobGpu(1, reason=reason) if config.compute.shares_gpu else JobGpu()
