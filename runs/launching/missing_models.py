"""Say which built-in model a run must make before it trains: it is made once on each machine, and then cached."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.clusters import cache_of
from runs.models import Cluster
from workers.config import RunConfig

BUILD_TIMES = {"tiny": _("about a minute on two cores"), "micro": _("a few seconds")}
"""Built-in model -> time to make it, from the manifests of models on two cores: 51 s and 75 s; 4 s and 7 s."""


def missing_model_notes(configs: Iterable[RunConfig]) -> list[str]:
    """Return a sentence for each built-in model of these runs that their cluster does not have yet.

    Nothing is said about a cluster with its own disk, which is not read from here.
    """
    needed = {
        (config.compute.cluster, config.model.path)
        for config in configs
        if config.needs_torch and config.model.path in BUILD_TIMES
    }
    clusters = Cluster.objects.in_bulk({cluster for cluster, _model in needed}, field_name="name")
    message = gettext("The first run also makes the %(model)s model, once: %(time)s.")
    return [
        message % {"model": model, "time": gettext(BUILD_TIMES[model])}
        for name, model in sorted(needed)
        if (cluster := clusters.get(name)) is not None and not _exists(model, cluster)
    ]


def _exists(model: str, cluster: Cluster) -> bool:
    return cluster.is_remote or any((Path(cache_of(cluster)) / "models").glob(f"{model}-*-*/config.json"))
