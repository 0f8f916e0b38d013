"""A scorer is a job of a real Slurm: it registers itself, answers, and ends when its run is cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runs.models import Experiment
from tests.clusters.scorer_job import check_scorer_until_cancelled
from tests.clusters.scripted_slurm import make_slurm_cluster
from tests.clusters.slurm import SlurmCluster

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak]


def test_scorer_serves_on_slurm_until_cancelled(
    experiment: Experiment, slurm: SlurmCluster, live_server: Any, site_disk: Path
) -> None:
    cluster = make_slurm_cluster(slurm_conf=str(slurm.conf))
    check_scorer_until_cancelled(experiment, cluster, live_server.url, site_disk)
