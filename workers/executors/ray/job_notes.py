"""Notes on jobs beyond their keys: stored in a small file from before a job is submitted until it has ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.attempt import CLOSED_EPOCH, lease, owner, raise_lease, read_json, write_json
from workers.executors.base import Spec
from workers.executors.ray.nodes import Demand, Size


@dataclass(frozen=True)
class Note:
    """Directory of a job's files, and what it requests of each of its nodes."""

    directory: str
    cores: int
    gpus: float
    nodes: int = 1
    memory_mb: int = 0
    gpu_type: str = ""
    held: dict[str, Any] | None = None
    """Body of the submit if the job is not at Ray yet, because Ray has too few nodes for it."""

    @property
    def is_fenced(self) -> bool:
        """Return whether the program has not begun and never will: an agent claims first and then looks at the
        lease."""
        path = Path(self.directory)
        return lease(path) == CLOSED_EPOCH and owner(path) is None

    @property
    def has_begun(self) -> bool:
        """Return whether an agent has claimed the job."""
        return owner(Path(self.directory)) is not None

    def fence(self) -> None:
        """Fence the job: if it begins, it ends immediately; if it runs, it ends within a heartbeat. Raise OSError."""
        raise_lease(Path(self.directory), CLOSED_EPOCH)

    @property
    def demand(self) -> Demand:
        """Return what the job requests."""
        return Demand(self.nodes, Size(self.cores, self.gpus, self.memory_mb, self.gpu_type))


def note_of(spec: Spec) -> Note:
    """Return the note of a job that is about to be submitted."""
    return Note(str(spec.directory), spec.cores, spec.gpus, spec.nodes, spec.memory_mb, spec.gpu_type)


class JobNotes:
    """Notes in a folder, one file per job. Methods raise OSError if the folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, key: str, note: Note) -> None:
        """Store the note of a job that is about to be submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / f"{key}.json", asdict(note), sync=True)

    def get(self, key: str) -> Note | None:
        """Return the job's note, or None if this machine did not submit the job."""
        data: dict[str, Any] | None = read_json(self.folder / f"{key}.json")
        return None if data is None else Note(**data)

    def remove(self, key: str) -> None:
        """Remove the note of a job that has ended."""
        (self.folder / f"{key}.json").unlink(missing_ok=True)
