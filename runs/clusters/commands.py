"""Add and change clusters, for page, API and command line. The caller checks the user's rights."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from runs.clusters.settings import KEYS, config_errors
from runs.models import Cluster
from workers.config import ConfigError, Problem

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")
INVENTORY_FIELDS = ("inventory", "inventory_at", "inventory_tried_at")
KINDS = [kind for kind, _ in Cluster.KINDS]


def add_cluster(name: str, kind: str, config: Any) -> Cluster:
    """Create a cluster. Raise ConfigError with every problem, each at its key."""
    problems = list(_name_problems(name))
    if kind not in KINDS:
        raise ConfigError([*problems, _problem("kind", gettext("must be one of %(kinds)s"), kinds=", ".join(KINDS))])
    if problems := [*problems, *problems_of(config, kind)]:
        raise ConfigError(problems)
    with transaction.atomic():
        cluster, is_new = Cluster.objects.get_or_create(name=name, defaults={"kind": kind, "config": config})
    if not is_new:
        raise ConfigError([_taken_problem(name)])
    return cluster


def change_cluster(cluster: Cluster, config: Any) -> None:
    """Give a cluster another config, under which it has not replied yet and its nodes are unknown.

    Name and kind stay: runs refer to them.

    Raise ConfigError.
    """
    if problems := problems_of(config, cluster.kind):
        raise ConfigError(problems)
    if config == cluster.config:
        return
    cluster.config, cluster.answered_at, cluster.unreachable_since_at = config, None, None
    cluster.inventory, cluster.inventory_at, cluster.inventory_tried_at = [], None, None
    cluster.save(update_fields=["config", "answered_at", "unreachable_since_at", *INVENTORY_FIELDS])


def problems_of(config: Any, kind: str) -> list[Problem]:
    """Return every problem of a config, each at the key with which its message begins."""
    return [Problem(_key(message, kind), message) for message in config_errors(config, kind)]


def _key(message: str, kind: str) -> str:
    word = re.split(r"[ :]", message, maxsplit=1)[0]
    return word if word in KEYS[kind] else "config"


def _name_problems(name: str) -> list[Problem]:
    if not NAME.fullmatch(name):
        return [_problem("name", gettext("must be 1 to 50 letters, digits, - and _, and begin with a letter or digit"))]
    return [_taken_problem(name)] if Cluster.objects.filter(name=name).exists() else []


def _taken_problem(name: str) -> Problem:
    return _problem("name", gettext("is taken: there is already a cluster %(name)s"), name=name)


def _problem(path: str, message: str, **params: str) -> Problem:
    return Problem(path, message % params)
