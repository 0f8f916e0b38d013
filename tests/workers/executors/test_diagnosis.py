"""A log tells why a job ended before its program could say it: in a sentence, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.executors.diagnosis import diagnose

LOGS = [
    ("/usr/bin/env: '/opt/none/bin/python': No such file or directory", "the node has no such interpreter"),
    ("/opt/venv/bin/python: Error while finding module specification for 'workers.agent' (ModuleNotFoundError: "
     "No module named 'workers')", "the node does not see esweb's code"),
    ("ModuleNotFoundError: No module named 'torch'", "the Python on the node lacks a package"),
    ("ERROR: Unable to locate a modulefile for 'cuda/99'", "a module of the cluster's config was not loaded"),
    ("esweb job: the module cuda/99 was not loaded", "a module of the cluster's config was not loaded"),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of your processes may have been killed",
     "it used more memory than it had asked for"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "a GPU's memory was full"),
    ("slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 10:00:00 DUE TO TIME LIMIT ***", "it reached the time"),
    ("OSError: [Errno 28] No space left on device", "the disk that holds its directory is full"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "sentence"), LOGS)
def test_a_known_sign_is_named_with_its_line(tmp_path: Path, line: str, sentence: str) -> None:
    log = tmp_path / "slurm.log"
    log.write_text(f"starting\n{line}\nbye\n")
    said = diagnose(tmp_path / "none.log", log)
    assert said.startswith(sentence) and said.endswith(f"(slurm.log: {line})")


def test_a_log_without_a_sign_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "slurm.log").write_bytes(b"all is well\n\xff\x00\n")
    assert diagnose(tmp_path / "slurm.log", tmp_path / "none") == ""
