"""Clusters as JSON."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from runs.api.shapes.words import Input
from runs.launch.trying_clusters import report_steps
from runs.models import Cluster, ClusterTest


class NewCluster(Input):
    """What a cluster is to be. What `config` may hold depends on the kind; it names files, and holds no secret."""

    kind: Literal["local", "slurm", "ray"]
    config: dict[str, Any]


class ClusterOut(Schema):
    """A cluster. `config` is null for whoever is no admin. `answered_at` is when it last replied, null until it has;
    `unreachable_since_at` is set while it does not reply. `ticked_at` is when its jobs were last looked after."""

    name: str
    kind: str
    answered_at: datetime | None
    ticked_at: datetime | None
    unreachable_since_at: datetime | None
    config: dict[str, Any] | None

    @classmethod
    def of(cls, cluster: Cluster, with_config: bool) -> ClusterOut:
        """As one person may see it."""
        return cls(
            name=cluster.name, kind=cluster.kind, answered_at=cluster.answered_at, ticked_at=cluster.ticked_at,
            unreachable_since_at=cluster.unreachable_since_at, config=cluster.config if with_config else None,
        )  # fmt: skip


class ClusterTestStep(Schema):
    """One step of a test. `message` says what it found, why it failed and what to do, or what it waits for."""

    name: str
    state: Literal["done", "failed", "going", "waiting"]
    message: str


class ClusterTestOut(Schema):
    """A test of a cluster with a small real job. `person` is null if no user began it."""

    id: int
    cluster: str
    state: Literal["going", "passed", "failed"]
    person: str | None
    started_at: datetime
    ended_at: datetime | None
    steps: list[ClusterTestStep]

    @classmethod
    def of(cls, test: ClusterTest) -> ClusterTestOut:
        """Return the test with all its steps in order, also those that have not begun."""
        steps = [ClusterTestStep(**asdict(report)) for report in report_steps(test)]
        person = test.asked_by.get_username() if test.asked_by else None
        return cls.model_validate(
            {"id": test.pk, "cluster": test.cluster.name, "state": test.state, "person": person,
             "started_at": test.started_at, "ended_at": test.ended_at, "steps": steps}
        )  # fmt: skip


class ClustersOut(Schema):
    """All clusters, by name."""

    items: list[ClusterOut]
