"""What runs on the other machine: sent there with every request, so that nothing need be installed and nothing is old.

Standard library of Python 3.8, since the machine's own may be old. A request is one JSON object, and so is the answer:

    write   [{path, data, mode}]      files, each replaced whole, their folders made
    link    [{path, to}]              symbolic links, their folders made
    argv    one command, with seconds and env, which reads `text`
    look    [{key, folder, sizes}]    what jobs have written: small files whole, the others from these sizes on
    fetch   a folder                  the names and sizes of its files; they follow the answer, as they are

Bytes in the answer are base64. It stands behind a mark that the asker chose: a login may print anything before it.
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
PIECE = 1 << 20


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
    if "fetch" in answer:
        send(Path(request["fetch"]), answer["fetch"])


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    """Files and links first, then the command, then the look. Raises OSError."""
    for file in request.get("write", ()):
        write(Path(file["path"]), base64.b64decode(file["data"]), file.get("mode", 0o666))
    for one in request.get("link", ()):
        link(Path(one["path"]), one["to"])
    answer: dict[str, Any] = {}
    if request.get("argv"):
        answer["run"] = run(request["argv"], request["seconds"], request.get("env", {}), request.get("text", ""))
    if "fetch" in request:
        answer["fetch"] = contents(Path(request["fetch"]))
    if "look" in request:
        answer["look"] = look(request["look"], request["file_bytes"], request["bytes"])
    return answer


def write(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Replace a file whole; `mode` is a new file's, before the umask. Raise OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def link(path: Path, to: str) -> None:
    """Leads there, whatever it led to before. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.symlink_to(to)
    draft.replace(path)


def run(argv: list[str], seconds: float, said: dict[str, str], text: str) -> dict[str, Any]:
    """One command, in a bare environment: no SBATCH_* or SQUEUE_* of a login overrules its arguments."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env.update(said, LC_ALL="C")
    try:
        done = subprocess.run(
            argv, cwd="/", env=env, input=text.encode(), capture_output=True, timeout=seconds, check=False
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


def contents(folder: Path) -> list[list[Any]]:
    """The names and sizes of its files, links left out; none where there is no such folder. Raises OSError."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return []
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [[path.relative_to(folder).as_posix(), path.stat().st_size] for path in paths]


def send(folder: Path, files: list[list[Any]]) -> None:
    """So much of each file, one after the other. One that has become shorter ends it: what is missing will be seen."""
    for name, size in files:
        left = size
        with (folder / name).open("rb") as file:
            while left and (data := file.read(min(left, PIECE))):
                sys.stdout.buffer.write(data)
                left -= len(data)
        if left:
            break
    sys.stdout.flush()


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
