"""A scorer is a job of a real Slurm: it registers itself, answers, and goes when its run is cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runs.models import Experiment
from tests.clusters.far_slurm import cluster_of
from tests.clusters.served_scorer import serves_until_it_is_cancelled
from tests.clusters.slurm import SlurmCluster

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_scorer_serves_on_slurm_until_it_is_cancelled(
    experiment: Experiment, slurm: SlurmCluster, live_server: Any, our_disk: Path
) -> None:
    cluster = cluster_of(slurm_conf=str(slurm.conf))
    serves_until_it_is_cancelled(experiment, cluster, live_server.url, our_disk)
