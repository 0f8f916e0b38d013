"""Program that runs on the other machine: sent with every request, so that nothing is installed and nothing outdated.

Standard library of Python 3.8, since the machine's own may be old. A request is one JSON object, and so is the reply:

    write   [{path, data, mode}]      files, each replaced whole, their folders made
    link    [{path, to}]              symbolic links, their folders made
    argv    one command, with seconds and env, which reads `text`
    look    [{key, folder, sizes}]    what jobs have written: small files whole, the others from these sizes on
    fetch   a folder                  the names and sizes of its files; they follow the reply, as they are

Bytes in the reply are base64. A mark that the caller chose precedes it, because a login may print anything before.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME")
GROWING = re.compile(r"records\.[0-9]+\.jsonl|log\.txt|slurm\.log")
WHOLE = ("heartbeat.json", "claim/owner.json", "exit.json")
WHOLE_BYTES = 65536
PIECE = 1 << 20


def main(request: dict[str, Any]) -> None:
    """Carry out the request and print the reply."""
    mark = request["mark"]
    sys.stdout.write(f"\n{mark} begun\n")
    sys.stdout.flush()
    try:
        reply = handle(request)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reply = {"error": f"{error.filename or 'a file'}: {error.strerror}", "full": is_full}
    sys.stdout.write(f"\n{mark} {json.dumps(reply)}\n")
    sys.stdout.flush()
    if "fetch" in reply:
        send(Path(request["fetch"]), reply["fetch"])


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Handle files and links first, then the command, then the look. Raise OSError."""
    for file in request.get("write", ()):
        write(Path(file["path"]), base64.b64decode(file["data"]), file.get("mode", 0o666))
    for entry in request.get("link", ()):
        link(Path(entry["path"]), entry["to"])
    reply: dict[str, Any] = {}
    if request.get("argv"):
        reply["run"] = run(request["argv"], request["seconds"], request.get("env", {}), request.get("text", ""))
    if "fetch" in request:
        reply["fetch"] = contents(Path(request["fetch"]))
    if "look" in request:
        reply["look"] = look(request["look"], request["file_bytes"], request["bytes"])
    return reply


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
    """Point the link at `to`, replacing an older link. Raise OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.symlink_to(to)
    draft.replace(path)


def run(argv: list[str], seconds: float, extra_env: dict[str, str], text: str) -> dict[str, Any]:
    """Run one command in a bare environment: no SBATCH_* or SQUEUE_* of a login overrules its arguments."""
    env = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    env.update(extra_env, LC_ALL="C")
    try:
        done = subprocess.run(
            argv, cwd="/", env=env, input=text.encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        return {"late": True, "err": (error.stderr or b"").decode(errors="replace")}
    except OSError as error:
        return {"missing": error.strerror}
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return {"code": done.returncode, "out": out, "err": err}


def look(jobs: list[dict[str, Any]], file_bytes: int, left: int) -> dict[str, Any]:
    """Return key -> what is new in its folder, at most `left` bytes of all together. Raise OSError."""
    looks = {}
    for job in jobs:
        folder = Path(job["folder"])
        # Read before the growing files: if an exit record is there, what follows is all there will be.
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
            looks[job["key"]] = {"whole": whole, "pieces": pieces, "behind": behind}
    return looks


def contents(folder: Path) -> list[list[Any]]:
    """Return names and sizes of a folder's files, without links; none if there is no such folder. Raise OSError."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return []
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [[path.relative_to(folder).as_posix(), path.stat().st_size] for path in paths]


def send(folder: Path, files: list[list[Any]]) -> None:
    """Send so many bytes of each file, one after the other. Stop at a file that has become shorter: the reader notices
    what is missing."""
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
    """Return the names of files that are only ever added to; none if there is no such folder."""
    return sorted(path.name for path in folder.iterdir() if GROWING.fullmatch(path.name)) if folder.is_dir() else []


def small(path: Path) -> str | None:
    """Return a small file's text, or None."""
    try:
        with path.open("rb") as file:
            return file.read(WHOLE_BYTES).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None


def piece(path: Path, offset: int, limit: int) -> tuple[bytes, int]:
    """Return (bytes from the offset, the file's size). The file is opened before its size is read: over NFS only that
    size is current."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        return (file.read(limit) if size > offset and limit > 0 else b""), size
