"""Jobs with esweb's names that have no row are listed, and ended only on a user's command."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from runs.models import Experiment
from tests.clusters.scripted_slurm import BUSY, ScriptedSlurm, launch_run, wait_until_started
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until

pytestmark = pytest.mark.soak


def run_orphans_command(*arguments: str) -> str:
    out = StringIO()
    call_command("cluster", "orphans", "far", *arguments, stdout=out)
    return out.getvalue()


def test_orphans_are_listed_and_cancelled_by_command(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = BUSY
    run = launch_run(experiment)
    key = wait_until_started(run).key
    slurm.ask("sbatch", "--job-name=esweb-restored-a1", "--output=/dev/null", "--wrap=sleep 600")
    slurm.ask("sbatch", "--job-name=mine", "--output=/dev/null", "--wrap=sleep 600")
    [line] = run_orphans_command().splitlines()
    assert line.startswith("esweb-restored-a1\t") and key not in line
    with pytest.raises(CommandError, match="Unknown orphan 'mine'; the orphans are: esweb-restored-a1"):
        run_orphans_command("--cancel", "mine")
    run_orphans_command("--cancel", "esweb-restored-a1")
    wait_until(lambda: not run_orphans_command(), "Slurm to end the orphan")
    assert slurm.ask("squeue", "-h", "-o", "%j", "-t", "PD,R").split().count("mine") == 1
    assert slurm.ask("squeue", "-h", "-n", key, "-t", "R", "-o", "%j").strip() == key
