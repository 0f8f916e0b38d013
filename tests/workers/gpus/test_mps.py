"""The service by which engines share a GPU: a program of CUDA, here a stand-in with its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.gpus.mps_program import CONTROL, put_program
from workers.gpus import mps


def test_service_starts_and_ends_with_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_program(tmp_path, CONTROL, monkeypatch)

    daemon = mps.MpsDaemon("0,3")
    pipe = Path(daemon.environment["CUDA_MPS_PIPE_DIRECTORY"])
    started, running = (pipe / "started").read_text(), daemon._process.poll()
    daemon.stop()
    daemon.stop()

    assert started == "0,3\n"
    assert running is None
    assert daemon._process.poll() == 0, "it has ended by itself, after quit"
    assert not pipe.parent.exists()


def test_service_that_ignores_quit_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_program(tmp_path, CONTROL.replace('touch "$CUDA_MPS_PIPE_DIRECTORY/quit"', ":"), monkeypatch)
    monkeypatch.setattr(mps, "STOP_SECONDS", 0.2)
    daemon = mps.MpsDaemon("0")

    daemon.stop()

    assert daemon._process.poll() == -9


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 3\n", None], ids=["it fails", "there is none"])
def test_machine_without_service_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    if program is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        put_program(tmp_path, program, monkeypatch)
    monkeypatch.setattr(mps.tempfile, "tempdir", str(tmp_path))

    with pytest.raises(OSError, match="nvidia-cuda-mps-control"):
        mps.MpsDaemon("0")

    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("esweb-mps")] == []
