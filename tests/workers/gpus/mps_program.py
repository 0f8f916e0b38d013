"""A stand-in for the program of CUDA's Multi-Process Service, with its command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workers.gpus import mps

CONTROL = """#!/bin/sh
if [ "$1" = -f ]; then
  echo "$CUDA_VISIBLE_DEVICES" > "$CUDA_MPS_PIPE_DIRECTORY/started"
  trap : TERM
  while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/quit" ]; do sleep 0.05; done
  rm "$CUDA_MPS_PIPE_DIRECTORY/started"
  exit 0
fi
read command
test -e "$CUDA_MPS_PIPE_DIRECTORY/started" || exit 1
echo "$command" >> "$CUDA_MPS_PIPE_DIRECTORY/commands"
if [ "$command" = quit ]; then touch "$CUDA_MPS_PIPE_DIRECTORY/quit"; fi
"""


def put_program(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program of this text where the service's is looked for first."""
    program = folder / mps.PROGRAM
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
