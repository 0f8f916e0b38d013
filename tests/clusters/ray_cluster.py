"""A Ray of our own as the cluster `far`: small programs in the trainer's place, patience of seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runs.models import Cluster
from tests.clusters.far_slurm import QUICK
from tests.clusters.ray import RayHead
from tests.workers.attempts import python
from workers.executors.base import Spec
from workers.executors.ray import Ray, Site


class OnRay(Ray):
    """The executor, with one small program for every job. `before_submit` and `after_submit` may die."""

    before_submit: Callable[[], None] = staticmethod(lambda: None)
    after_submit: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, head: RayHead, root: Path, **site: Any) -> None:
        said = {"dashboard": head.address, "token_file": str(head.token_file), **site}
        super().__init__(Site(**said), root, beat_seconds=QUICK.beat)
        self.program, self.submitted = "pass", list[str]()

    def submit(self, spec: Spec) -> str:
        """Submits the small program."""
        self.submitted.append(spec.key)
        self.before_submit()
        native_id = super().submit(replace(spec, argv=tuple(python(self.program))))
        self.after_submit()
        return native_id


def cluster_of(head: RayHead, **waits: float) -> Cluster:
    """Its row, quick."""
    config = {"dashboard": head.address, "token_file": str(head.token_file), "waits": asdict(replace(QUICK, **waits))}
    return Cluster.objects.update_or_create(name="far", defaults={"kind": "ray", "config": config})[0]


def word_of(head: RayHead, key: str) -> str:
    """What Ray calls the job's state; empty where it knows none."""
    return {job["submission_id"]: str(job["status"]) for job in head.ask("GET", "/api/jobs/")}.get(key, "")
