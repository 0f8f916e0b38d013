"""Jobs of our names that no row knows are listed, and ended only where a person says so."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from runs.models import Experiment
from tests.clusters.far_slurm import BUSY, Far, run_far, started
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until


def said(*words: str) -> str:
    out = StringIO()
    call_command("cluster", "orphans", "far", *words, stdout=out)
    return out.getvalue()


def test_what_nobody_waits_for_is_told_and_ended_by_a_person(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    far.program = BUSY
    run = run_far(experiment)
    key = started(run).key
    slurm.ask("sbatch", "--job-name=esweb-restored-a1", "--output=/dev/null", "--wrap=sleep 600")
    slurm.ask("sbatch", "--job-name=mine", "--output=/dev/null", "--wrap=sleep 600")
    [line] = said().splitlines()
    assert line.startswith("esweb-restored-a1\t") and key not in line
    with pytest.raises(CommandError, match="There is no orphan 'mine'; there are: esweb-restored-a1"):
        said("--cancel", "mine")
    said("--cancel", "esweb-restored-a1")
    wait_until(lambda: not said(), "Slurm to end the orphan")
    assert slurm.ask("squeue", "-h", "-o", "%j", "-t", "PD,R").split().count("mine") == 1
    assert slurm.ask("squeue", "-h", "-n", key, "-t", "R", "-o", "%j").strip() == key
