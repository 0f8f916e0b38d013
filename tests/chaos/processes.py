"""The processes of one data folder, and what each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.attempt import Process

ROLES = {
    "up": "manage.py up",
    "web": "esweb.supervisor.web",
    "worker": "celery --quiet --app esweb worker",
    "beat": "celery --quiet --app esweb beat",
    "follow": "manage.py follow",
    "postgres": "postgres",
    "valkey": "valkey-server",
    "agent": "workers.agent",
    "training": "workers.train ",
}


@dataclass(frozen=True)
class Resident:
    """One process: what it is, where it works, and whether it leads its session, as a job's program does."""

    process: Process
    role: str
    folder: Path
    parent: int
    leads: bool


def residents(data: Path) -> list[Resident]:
    """All that live there now, by pid."""
    return sorted(_found(data), key=lambda resident: resident.process.pid)


def named(name: str, living: Sequence[Resident]) -> list[Resident]:
    """Return the processes of a role that the role itself did not start; of "worker child" those that it did."""
    role, _, child = name.partition(" ")
    of_role = [resident for resident in living if resident.role == role]
    pids = {resident.process.pid for resident in of_role}
    return [resident for resident in of_role if (resident.parent in pids) == bool(child)]


def _found(data: Path) -> Iterator[Resident]:
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            command = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = (proc / "cwd").readlink()
            if _lives_in(proc, command, folder, data) and (process := Process.at(int(proc.name))):
                parent, session = _parent_and_session(proc)
                yield Resident(process, _role(command), folder, parent, session == process.pid)
        except OSError:
            continue  # it has ended while it was looked at


def _lives_in(proc: Path, command: str, folder: Path, data: Path) -> bool:
    """Jobs and servers by their folder, the parts by their environment."""
    if str(data) in command or folder.is_relative_to(data):
        return True
    return f"ESWEB_DATA={data}\0".encode() in (proc / "environ").read_bytes()


def _role(command: str) -> str:
    return next((role for role, words in ROLES.items() if words in command), "other")


def _parent_and_session(proc: Path) -> tuple[int, int]:
    fields = (proc / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return int(fields[1]), int(fields[3])
