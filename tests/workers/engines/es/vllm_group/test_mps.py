"""The service by which engines share a GPU: a program of CUDA, here a stand-in with its command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workers.engine_nodes import mps

CONTROL = """#!/bin/sh
if [ "$1" = -f ]; then
  echo "$CUDA_VISIBLE_DEVICES" > "$CUDA_MPS_PIPE_DIRECTORY/started"
  trap : TERM
  while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/quit" ]; do sleep 0.05; done
  exit 0
fi
read command
test -e "$CUDA_MPS_PIPE_DIRECTORY/started" || exit 1
echo "$command" >> "$CUDA_MPS_PIPE_DIRECTORY/commands"
if [ "$command" = quit ]; then touch "$CUDA_MPS_PIPE_DIRECTORY/quit"; fi
"""


def put_program(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / mps.PROGRAM
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


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
