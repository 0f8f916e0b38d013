"""What must be known of a job beside its key: kept in a small file from before it is submitted until it has ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.attempt import CLOSED_EPOCH, lease, owner, raise_lease, read_json, write_json
from workers.executors.base import Spec
from workers.executors.ray.nodes import Size


@dataclass(frozen=True)
class Note:
    """Where its files lie, and what it asks for."""

    directory: str
    cores: int
    gpus: int

    @property
    def is_shut_out(self) -> bool:
        """True where its program has not begun and never will: an agent claims first and looks at the lease then."""
        path = Path(self.directory)
        return lease(path) == CLOSED_EPOCH and owner(path) is None

    def shut_out(self) -> None:
        """Should it begin, it ends at once; if it runs, within a beat. Raises OSError."""
        raise_lease(Path(self.directory), CLOSED_EPOCH)

    @property
    def size(self) -> Size:
        """What it asks a node for."""
        return Size(self.cores, self.gpus)


class Kept:
    """One file a job. Raises OSError where the folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, spec: Spec) -> None:
        """Before it is submitted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        note = Note(str(spec.directory), spec.cores, spec.gpus)
        write_json(self.folder / f"{spec.key}.json", asdict(note), sync=True)

    def get(self, key: str) -> Note | None:
        """None where this machine has not submitted it."""
        data: dict[str, Any] | None = read_json(self.folder / f"{key}.json")
        return None if data is None else Note(**data)

    def forget(self, key: str) -> None:
        """The job has ended."""
        (self.folder / f"{key}.json").unlink(missing_ok=True)
