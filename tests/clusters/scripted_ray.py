"""The tests' Ray as the cluster `far`: small programs instead of the trainer, timeouts of seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runs.models import Cluster
from tests.clusters.ray import RayHead
from tests.clusters.scripted_slurm import QUICK
from tests.workers.attempts import python
from workers.executors.base import Spec
from workers.executors.ray import Ray, Site


class ScriptedRay(Ray):
    """The Ray executor, with one small program for every job. `before_submit` and `after_submit` may raise."""

    before_submit: Callable[[], None] = staticmethod(lambda: None)
    after_submit: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, head: RayHead, root: Path, **site: Any) -> None:
        options = {"dashboard": head.address, "token_file": str(head.token_file), **site}
        super().__init__(Site(**options), root, beat_seconds=QUICK.beat)
        self.program, self.submitted = "pass", list[str]()

    def submit(self, spec: Spec) -> str:
        """Submit the small program."""
        self.submitted.append(spec.key)
        self.before_submit()
        native_id = super().submit(replace(spec, argv=tuple(python(self.program))))
        self.after_submit()
        return native_id


def make_ray_cluster(head: RayHead, **timeouts: float) -> Cluster:
    """Create or update the row of the cluster, with short timeouts."""
    config = {
        "dashboard": head.address,
        "token_file": str(head.token_file),
        "waits": asdict(replace(QUICK, **timeouts)),
    }
    return Cluster.objects.update_or_create(name="far", defaults={"kind": "ray", "config": config})[0]


def ray_status(head: RayHead, key: str) -> str:
    """Return Ray's status of the job; empty if Ray does not know the job."""
    return {job["submission_id"]: str(job["status"]) for job in head.ask("GET", "/api/jobs/")}.get(key, "")
