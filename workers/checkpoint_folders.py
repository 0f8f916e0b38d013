"""Addresses of checkpoints, what a checkpoint's folder holds, and how one is deleted while nobody reads it.

A checkpoint of an attempt is `<attempt>/checkpoints/step-000020`. One that was deleted and is rebuilt because somebody
reads it is `<root>/rebuilt/step-000020`, where the root holds the run's attempts, or is the only attempt itself.

A reader leaves an empty file `<folder>-readers/step-000020@<host>@<pid>` next to the folder of checkpoints until its
process ends. It does so before it looks for the checkpoint; `delete_unread` renames the checkpoint before it looks for
readers, so that one of both sees the other.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from workers.attempt import REPLAY_LOG, read_json

CHECKPOINTS, REBUILT = "checkpoints", "rebuilt"
MASTER = "master/model.safetensors"
"""The float32 weights of ES, beside weights in 16 bits."""
TRAINER = "trainer"
"""Folder in a checkpoint of GRPO with what a resume needs: optimiser, schedule, random streams, float32 weights."""
ES_STATE = "es-state.json"
ATTEMPT = re.compile(r"(.+)-a(\d+)")
STEP = re.compile(r"step-(\d+)")
READER_SECONDS = 24 * 3600
"""Age from which the mark of a reader counts no more: its process was killed."""
EVALUATION_DUE = "evaluation-due"
"""An empty file in a checkpoint whose evaluation was cut short: a run that resumes from it does that evaluation
first."""
LOGGED_START = re.compile(rb'\{"start":(\d+),"lineage":"([0-9a-f]+)"')
LOGGED_UPDATE = re.compile(rb'\{"step":(\d+),"parent":"([0-9a-f]+)","lineage":"([0-9a-f]+)"')


def is_address(path: Path) -> bool:
    """Return whether a path is the address of a checkpoint, whether the checkpoint is there or not."""
    return bool(STEP.fullmatch(path.name)) and path.parent.name in (CHECKPOINTS, REBUILT) and len(path.parts) > 2


def root_of(checkpoint: Path) -> Path:
    """Return the folder of the run's attempts, or the directory of its only attempt, from a checkpoint's address."""
    folder = checkpoint.parent.parent
    is_attempt = checkpoint.parent.name == CHECKPOINTS and ATTEMPT.fullmatch(folder.name)
    return folder.parent if is_attempt else folder


def rebuilt_address(checkpoint: Path) -> Path:
    """Return the address at which a checkpoint is rebuilt if it is not at its own."""
    return root_of(checkpoint) / REBUILT / checkpoint.name


def lacks_master(checkpoint: Path) -> bool:
    """Return whether a checkpoint of ES was saved without its float32 weights, so that none resumes from it directly.
    Raise OSError, and ValueError for a damaged file."""
    file = checkpoint / ES_STATE
    if not file.is_file() or (checkpoint / MASTER).is_file():
        return False
    origin = json.loads(file.read_bytes())["origin"]
    return origin["dtype"] != "float32" and origin["lora"] is None


def hold(checkpoint: Path) -> None:
    """Keep a checkpoint from being deleted until this process ends, where this process may write next to it."""
    readers = _readers(checkpoint)
    if not os.access(readers.parent, os.W_OK):
        return
    readers.mkdir(exist_ok=True)
    mark = readers / f"{checkpoint.name}@{socket.gethostname()}@{os.getpid()}"
    if not mark.exists():
        mark.touch()
        atexit.register(_release, mark, os.getpid())


def is_read(checkpoint: Path) -> bool:
    """Return whether another process reads the checkpoint."""
    marks = _readers(checkpoint).glob(f"{checkpoint.name}@*")
    return any(_is_valid(mark) for mark in marks)


def delete_unread(checkpoint: Path, part: str = "") -> bool:
    """Delete a checkpoint, or the `part` of it, unless another process reads it. Return whether it is gone. Raise
    OSError."""
    whole = checkpoint / part if part else checkpoint
    leaving = whole.with_name(f".{whole.name}.deleted")
    shutil.rmtree(leaving, ignore_errors=True)
    if not whole.is_dir():
        return True
    whole.rename(leaving)
    if is_read(checkpoint):
        leaving.rename(whole)
        return False
    shutil.rmtree(leaving)
    return True


def _readers(checkpoint: Path) -> Path:
    return checkpoint.parent.with_name(f"{checkpoint.parent.name}-readers")


def _release(mark: Path, pid: int) -> None:
    """Remove the mark at the end of the process that left it, and not of one that it forked."""
    if os.getpid() == pid:
        mark.unlink(missing_ok=True)


def _is_valid(mark: Path) -> bool:
    _, host, pid = mark.name.split("@")
    if host == socket.gethostname() and (pid == str(os.getpid()) or not Path(f"/proc/{pid}").exists()):
        return False
    try:
        return time.time() - mark.stat().st_mtime < READER_SECONDS
    except FileNotFoundError:
        return False


def has_trainer_state(checkpoint: Path) -> bool:
    """Return whether a checkpoint of GRPO holds what a resume needs, as this or an earlier version wrote it."""
    folders = (checkpoint / TRAINER, checkpoint / "adapter", checkpoint)
    return any((folder / "trainer_state.json").is_file() for folder in folders)


def logged_weights(attempts: Sequence[Path]) -> dict[int, str]:
    """Return step -> lineage of its latest weights, as far as the replay logs of a run's attempts, given in their
    order, lead there from the base model.

    Only the beginning of each line is read. What else a rebuild refuses, such as noise of another version, is not
    checked.
    """
    steps: dict[int, str] = {}
    reached: set[bytes] = set()
    for log in (attempt / REPLAY_LOG for attempt in attempts):
        for line in log.read_bytes().splitlines() if log.is_file() else ():
            if not line.endswith(b"}"):
                continue
            if (start := LOGGED_START.match(line)) and int(start[1]) == 0:
                reached.add(start[2])
            elif (update := LOGGED_UPDATE.match(line)) and update[2] in reached:
                reached.add(update[3])
                steps[int(update[1])] = update[3].decode()
    return steps


def is_logged(checkpoint: Path, weights: Mapping[int, str]) -> bool:
    """Return whether a checkpoint of ES holds exactly what `logged_weights` names for its step, and owes nothing."""
    state = read_json(checkpoint / ES_STATE) or {}
    step, lineage = state.get("step"), state.get("lineage")
    is_latest = isinstance(step, int) and lineage is not None and weights.get(step) == lineage
    return is_latest and not (checkpoint / EVALUATION_DUE).exists()
