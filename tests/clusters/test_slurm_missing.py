"""Where no Slurm can be brought up, tests that need one are skipped with the reason."""

from __future__ import annotations

import os

import pytest

from tests.clusters.slurm import missing


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", "/nowhere")
    assert missing().startswith("Slurm is not installed (no slurmctld, slurmd, sbatch")
    assert "slurmdbd" not in missing() and "slurmdbd" in missing(accounting=True)


def test_nobody_but_root_can_make_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert missing() == "a Slurm of one's own needs Linux and root"
