"""Start of agents on this machine: their spec.json, and a process in a session of its own, without secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from workers.attempt import write_json
from workers.executors.base import Spec

PROJECT = Path(__file__).resolve().parents[2]
PASSED_VARIABLES = ("PATH", "HOME", "LANG", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE")
START_SECONDS = 30.0


def write_spec(spec: Spec, beat_seconds: float, niceness: int = 0) -> None:
    """Create the attempt's directory with the spec.json that its agent reads. Raise OSError.

    `niceness`, as in nice(1), is the program's; the agent itself has none, so that its heartbeats are not late.
    """
    spec.directory.mkdir(parents=True, exist_ok=True)
    job = {
        "key": spec.key,
        "argv": list(spec.argv),
        "env": dict(spec.env or {}),
        "beat_seconds": beat_seconds,
        "niceness": niceness,
        "grace_seconds": spec.grace_seconds,
        "time_limit_seconds": spec.time_limit_seconds,
    }
    write_json(spec.directory / "spec.json", job, sync=True)


def start_agent(
    directory: Path, cores: int, devices: Sequence[str], service: Mapping[str, str]
) -> tuple[int | None, str]:
    """Start an agent. Return (exit code, last output) once it has claimed the attempt or failed to.

    The code is None if no answer came: the agent may still be about to begin. `devices` are the GPUs that the job may
    see. `service`: the variables of the service by which it shares one, if it does.
    """
    argv = [sys.executable, "-m", "workers.agent", str(directory), "--detach"]
    log = directory / "log.txt"
    try:
        with log.open("ab") as out:
            start = out.tell()
            completed = subprocess.run(
                argv,
                cwd=directory,
                env={**environment(cores, devices), **service},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=START_SECONDS,
                start_new_session=True,
                check=False,
            )
        return completed.returncode, log.read_bytes()[start:].decode(errors="replace").strip()[-500:]
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)


def environment(cores: int, devices: Sequence[str]) -> dict[str, str]:
    """Return the whole environment of a job. It has one thread per core: spinning threads would use other runs'
    cores."""
    env = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    env |= {"PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": str(cores), "OMP_WAIT_POLICY": "PASSIVE"}
    return env | {"TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ",".join(devices)}
