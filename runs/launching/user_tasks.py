"""Tasks of users' own: where their files may lie on a cluster. An administrator says so in the cluster's config."""

from __future__ import annotations

from pathlib import Path

from runs.models import Cluster
from workers.config import ConfigError, OwnOptions, Problem, RunConfig
from workers.tasks.own import NoSuchTask, find

PLACE = "task.options.path"


def task_folders(cluster: Cluster) -> list[str]:
    """The folders that this cluster allows, absolute; none by default."""
    return list(cluster.config.get("task_paths", []))


def check_own_task(config: RunConfig, cluster: Cluster) -> None:
    """Raises ConfigError where the run's task cannot be on this cluster. What is in its file only the node looks at; on
    a disk that is not seen here, also whether it is there."""
    if not isinstance(config.task.options, OwnOptions):
        return
    folders = task_folders(cluster)
    if not folders:
        raise ConfigError([Problem(PLACE, _none_allowed(cluster))])
    if cluster.is_far:
        return
    try:
        find(config.task.options.path, [Path(folder) for folder in folders])
    except NoSuchTask as error:
        raise ConfigError([Problem(PLACE, str(error))]) from error


def _none_allowed(cluster: Cluster) -> str:
    said = f"cluster {cluster.name} allows no folder for tasks of your own"
    others = [c.name for c in Cluster.objects.order_by("name") if task_folders(c)]
    if others:
        return f"{said}; these do: {', '.join(others)}"
    return f"{said}, and no other does; an administrator sets task_paths in its config"
