"""Where a cluster's commands are run, and where its jobs' directories lie: on a disk that both see, or far away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from workers.code import unpack
from workers.executors.base import Unreachable
from workers.executors.shell import Answer, LocalShell, Shell
from workers.executors.starting import PROJECT


class Place(Protocol):
    """A machine of the cluster. `here` is a job's directory on this machine; the cluster knows it by another path."""

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """Runs one command to its end, which reads `text`. Raises NotBegun or Unreachable."""

    def there(self, here: Path) -> PurePosixPath:
        """The job's directory, as its cluster calls it."""

    def project(self, said: str) -> str:
        """The folder of the package `workers` on the nodes: the one that is said, else the present code, shipped.

        Raises NotBegun or Unreachable.
        """

    def ship(self, packed: Path) -> str:
        """Unpacks a bundle of code there, once, and returns the folder. Raises NotBegun or Unreachable."""

    def send(self, files: Iterable[Path]) -> None:
        """Makes files of job directories the same there as they are here. Raises Unreachable."""

    def link(self, folder: Path, directories: Sequence[Path]) -> None:
        """Makes a folder with a link to each of these job directories, named 0, 1 and so on. Raises Unreachable."""

    def look(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Answer:
        """Runs a command, and in the same go brings here what the jobs of these keys have written there since.

        Raises NotBegun or Unreachable.
        """


@dataclass(frozen=True)
class SharedDisk:
    """This machine, whose disk the nodes share: there is nothing to send, and nothing to bring."""

    shell: Shell = field(default_factory=LocalShell)

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """By the shell."""
        return self.shell.run(argv, timeout_seconds, text)

    def there(self, here: Path) -> PurePosixPath:
        """The same path."""
        return PurePosixPath(here)

    def project(self, said: str) -> str:
        """The one that is said, else that of this very process."""
        return said or str(PROJECT)

    def ship(self, packed: Path) -> str:
        """Unpacked beside it."""
        return str(unpack(packed, packed.parent))

    def send(self, files: Iterable[Path]) -> None:
        """They are there."""

    def link(self, folder: Path, directories: Sequence[Path]) -> None:
        """Made here."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for index, directory in enumerate(directories):
                (folder / str(index)).unlink(missing_ok=True)
                (folder / str(index)).symlink_to(directory)
        except OSError as error:
            raise Unreachable(f"the folder of an array cannot be made: {error}") from error

    def look(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Answer:
        """Only the command."""
        return self.shell.run(argv, timeout_seconds)
