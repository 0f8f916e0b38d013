"""A scorer is launched like a run, is found by its name once it serves, and ends when its run is cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from runs.models import Cluster, Experiment
from tests.clusters.scorer_job import check_scorer_until_cancelled

pytestmark = pytest.mark.django_db(transaction=True)


def test_launched_scorer_serves_until_cancelled(
    experiment: Experiment, local: Cluster, live_server: Any, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    check_scorer_until_cancelled(experiment, local, live_server.url, tmp_path)
