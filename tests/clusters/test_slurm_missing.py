"""Tests that need a Slurm are skipped with the reason if none can be started."""

from __future__ import annotations

import os

import pytest

from tests.clusters.slurm import missing


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", "/nowhere")
    assert missing().startswith("Slurm is not installed (no slurmctld, slurmd, sbatch")
    assert "slurmdbd" not in missing() and "slurmdbd" in missing(accounting=True)


def test_slurm_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert missing() == "a Slurm of one's own needs Linux and root"
