"""`esweb launch` and `esweb sweep` print why no nodes of a cluster can run a launch."""

from __future__ import annotations

import pytest

from esweb_client.cli.errors import BAD_INPUT
from runs.models import Cluster, Experiment, Run
from tests.cli.conftest import RunCli
from tests.runs.clusters.stored_inventories import make_clusters
from tests.runs.launching.impossible_launches import IMPOSSIBLE


@pytest.mark.usefixtures("runs_dir")
def test_impossible_launch_is_refused_in_a_sentence(run_cli: RunCli, experiment: Experiment, local: Cluster) -> None:
    make_clusters()
    for compute, path, sentence in IMPOSSIBLE:
        settings = [word for name, value in compute.items() for word in ("--set", f"compute.{name}={value}")]
        code, _, printed = run_cli("launch", experiment.name, "--preset", "es-micro", *settings)
        assert (code, path in printed, sentence in printed) == (BAD_INPUT, True, True), printed
    assert not Run.objects.exists()
