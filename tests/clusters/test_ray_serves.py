"""A scorer is a job of a real Ray: it registers itself, answers, and ends when its run is cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runs.models import Experiment
from tests.clusters.ray import RayHead
from tests.clusters.scorer_job import check_scorer_until_cancelled
from tests.clusters.scripted_ray import make_ray_cluster

pytestmark = pytest.mark.django_db(transaction=True)


def test_ray_folder_is_closed_to_other_users(ray: RayHead) -> None:
    """Ray gives mode 777 to its own folder, which holds code and logs of jobs."""
    assert any(path.stat().st_mode & 0o002 for path in ray.root.iterdir()), "Ray opens its folder no more: simplify"
    assert ray.root.stat().st_mode & 0o777 == 0o700


@pytest.mark.soak
def test_scorer_serves_on_ray_until_cancelled(
    experiment: Experiment, ray: RayHead, live_server: Any, site_disk: Path
) -> None:
    check_scorer_until_cancelled(experiment, make_ray_cluster(ray), live_server.url, site_disk)
