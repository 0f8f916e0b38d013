"""A folder of one attempt among the files of an import."""

from __future__ import annotations

from dataclasses import dataclass, field

from runs.importing.files import File


@dataclass
class AttemptFolder:
    """A folder of one attempt: its number, its displayed name, its records by epoch, and its other files that are read
    or copied, by their path in the folder."""

    n: int
    name: str
    records: dict[int, File] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    def path_of(self, name: str) -> str:
        """Return the displayed name of a file in the folder; a folder without a name has none before it."""
        return name if self.name == "." else f"{self.name}/{name}"
