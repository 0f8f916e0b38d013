"""What runs on the other machine: sent there with every request, so that nothing need be installed and nothing is old.

Standard library of Python 3.8, since the machine's own may be old. A request is one JSON object, and so is the answer:

    write   [{path, data}]            files, each replaced whole, their folders made
    argv    one command, with seconds and env
    look    [{key, folder, sizes}]    what jobs have written: small files whole, the others from these sizes on

Bytes are base64. The answer stands behind a mark that the asker chose, since a login may print anything before it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME")
GROWING = re.compile(r"records\.[0-9]+\.jsonl|log\.txt|slurm\.log")
WHOLE = ("heartbeat.json", "claim/owner.json", "exit.json")
WHOLE_BYTES = 65536


def main(request: dict[str, Any]) -> None:
    """Carries it out and prints the answer."""
    mark = request["mark"]
    sys.stdout.write(f"\n{mark} begun\n")
    sys.stdout.flush()
    try:
        answer = carry_out(request)
    except OSError as error:
        answer = {"error": f"{error.filename or 'a file'}: {error.strerror}"}
    sys.stdout.write(f"\n{mark} {json.dumps(answer)}\n")
    sys.stdout.flush()


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    """Files first, then the command, then the look. Raises OSError."""
    for file in request.get("write", ()):
        write(Path(file["path"]), base64.b64decode(file["data"]))
    answer = {}
    if request.get("argv"):
        answer["run"] = run(request["argv"], request["seconds"], request.get("env", {}))
    if "look" in request:
        answer["look"] = look(request["look"], request["file_bytes"], request["bytes"])
    return answer


def write(path: Path, data: bytes) -> None:
    """Replaces a file whole. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def run(argv: list[str], seconds: float, said: dict[str, str]) -> dict[str, Any]:
    """One command, in a bare environment: no SBATCH_* or SQUEUE_* of a login overrules its arguments."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env.update(said, LC_ALL="C")
    try:
        done = subprocess.run(
            argv, cwd="/", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"late": True}
    except OSError as error:
        return {"missing": error.strerror}
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return {"code": done.returncode, "out": out, "err": err}


def look(jobs: list[dict[str, Any]], file_bytes: int, left: int) -> dict[str, Any]:
    """key -> what its folder holds that is new, at most `left` bytes of all together. Raises OSError."""
    found = {}
    for job in jobs:
        folder = Path(job["folder"])
        # Before what grows: where an exit record is there, what follows is all there will be.
        whole = {name: text for name in WHOLE if (text := small(folder / name)) is not None}
        pieces, behind = {}, False
        for name in growing(folder):
            offset = job["sizes"].get(name, 0)
            data, size = piece(folder / name, offset, min(file_bytes, left))
            left -= len(data)
            behind = behind or size > offset + len(data)
            if data:
                pieces[name] = {"offset": offset, "data": base64.b64encode(data).decode()}
        if whole or pieces or behind:
            found[job["key"]] = {"whole": whole, "pieces": pieces, "behind": behind}
    return found


def growing(folder: Path) -> list[str]:
    """The names of files that are only ever added to; none where there is no such folder."""
    return sorted(path.name for path in folder.iterdir() if GROWING.fullmatch(path.name)) if folder.is_dir() else []


def small(path: Path) -> str | None:
    """A small file's text, or None."""
    try:
        with path.open("rb") as file:
            return file.read(WHOLE_BYTES).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None


def piece(path: Path, offset: int, limit: int) -> tuple[bytes, int]:
    """(bytes from there, the file's size). Opened before its size is asked: over NFS only that is the present one."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        return (file.read(limit) if size > offset and limit > 0 else b""), size
