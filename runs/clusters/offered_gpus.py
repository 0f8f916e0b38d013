"""The GPUs that a cluster on this machine offers runs, by its config and the driver."""

from __future__ import annotations

from runs.clusters.settings import LocalSite, site_of
from runs.models import Cluster
from workers.gpus import Card, Offer, describe_offer, offer_cards


def offer_of(cluster: Cluster) -> Offer:
    """Return the GPUs of this machine that runs of the cluster may use now, and why there are no others."""
    if cluster.kind != "local":
        return Offer()
    site: LocalSite = site_of(cluster)
    return offer_cards(None if site.gpus is None else [str(name) for name in site.gpus])


def is_none_wanted(cluster: Cluster) -> bool:
    """Return whether the config of the cluster keeps runs away from the GPUs of this machine."""
    return bool(cluster.kind == "local" and site_of(cluster).gpus == [])


def cards_of(cluster: Cluster) -> tuple[Card, ...]:
    """Return the GPUs of this machine that runs of the cluster may use now; none for a cluster elsewhere."""
    return offer_of(cluster).cards


def describe_gpus() -> list[str]:
    """Return a line for the console for each cluster on this machine: its GPUs, or why runs can use none. Without an
    NVIDIA driver there are no lines."""
    clusters = list(Cluster.objects.filter(kind="local").order_by("name"))
    lines = [(cluster.name, describe_offer(offer_of(cluster))) for cluster in clusters]
    return [f"{line} (cluster {name})" if len(clusters) > 1 else line for name, line in lines if line]
