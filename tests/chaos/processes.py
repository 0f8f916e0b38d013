"""The processes of one data folder, and the role of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.attempt import Process

ROLES = {
    "up": "manage.py up",
    "web": "esweb.supervisor.web",
    "worker": "celery --quiet --app esweb worker",
    "beat": "celery --quiet --app esweb.beat beat",
    "follow": "manage.py follow",
    "postgres": "postgres",
    "valkey": "valkey-server",
    "agent": "workers.agent",
    "training": "workers.train ",
}


@dataclass(frozen=True)
class SiteProcess:
    """One process: its role, its working directory, and whether it leads its session, as a job's program does."""

    process: Process
    role: str
    folder: Path
    parent: int
    leads_session: bool


def site_processes(data: Path) -> list[SiteProcess]:
    """Return all processes that run there now, by pid."""
    return sorted(_find_processes(data), key=lambda site_process: site_process.process.pid)


def select_processes(name: str, processes: Sequence[SiteProcess]) -> list[SiteProcess]:
    """Return the processes of a role whose parent has another role; for "worker child" those with one of that role."""
    role, _, child = name.partition(" ")
    of_role = [site_process for site_process in processes if site_process.role == role]
    pids = {site_process.process.pid for site_process in of_role}
    return [site_process for site_process in of_role if (site_process.parent in pids) == bool(child)]


def _find_processes(data: Path) -> Iterator[SiteProcess]:
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            command = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = (proc / "cwd").readlink()
            if _belongs_to(proc, command, folder, data) and (process := Process.at(int(proc.name))):
                parent, session = _parent_and_session(proc)
                yield SiteProcess(process, _role(command), folder, parent, session == process.pid)
        except OSError:
            continue  # the process ended meanwhile


def _belongs_to(proc: Path, command: str, folder: Path, data: Path) -> bool:
    """Return whether a process belongs to the site: jobs and servers by their folder, parts by their environment."""
    if str(data) in command or folder.is_relative_to(data):
        return True
    return f"ESWEB_DATA={data}\0".encode() in (proc / "environ").read_bytes()


def _role(command: str) -> str:
    return next((role for role, fragment in ROLES.items() if fragment in command), "other")


def _parent_and_session(proc: Path) -> tuple[int, int]:
    fields = (proc / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return int(fields[1]), int(fields[3])
