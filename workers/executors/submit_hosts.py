"""Submit hosts: machines that run a cluster's commands and reach its jobs' directories, on a shared or a remote
disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from workers.code import unpack
from workers.executors.agent_start import PROJECT
from workers.executors.base import Unreachable
from workers.executors.shell import LocalShell, Reply, Shell


class SubmitHost(Protocol):
    """A machine of the cluster. `here` is a job's directory on this machine; the cluster knows it by another path."""

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run one command to its end, which reads `text`. Raise NotBegun or Unreachable."""

    def cluster_path(self, here: Path) -> PurePosixPath:
        """Return the job's directory as its cluster calls it."""

    def project(self, configured: str) -> str:
        """Return the folder of the package `workers` on the nodes: `configured`, or if that is empty the present code,
        shipped.

        Raise NotBegun or Unreachable.
        """

    def ship(self, bundle_file: Path) -> str:
        """Unpack a bundle of code on the cluster, once, and return the folder. Raise NotBegun or Unreachable."""

    def send(self, files: Iterable[Path]) -> None:
        """Make files of job directories the same there as they are here. Raise Unreachable."""

    def link(self, folder: Path, directories: Sequence[Path]) -> None:
        """Make a folder with a link to each of these job directories, named 0, 1 and so on. Raise Unreachable."""

    def run_and_fetch(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Reply:
        """Run a command, and in the same call fetch what the jobs of these keys have written since.

        Raise NotBegun or Unreachable.
        """


@dataclass(frozen=True)
class SharedDisk:
    """This machine, whose disk the nodes share: nothing needs to be sent or fetched."""

    shell: Shell = field(default_factory=LocalShell)

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command by the shell."""
        return self.shell.run(argv, timeout_seconds, text)

    def cluster_path(self, here: Path) -> PurePosixPath:
        """Return the same path."""
        return PurePosixPath(here)

    def project(self, configured: str) -> str:
        """Return `configured`, or if it is empty the folder of this very process."""
        return configured or str(PROJECT)

    def ship(self, packed: Path) -> str:
        """Unpack the bundle in its own folder, and return the result's folder."""
        return str(unpack(packed, packed.parent))

    def send(self, files: Iterable[Path]) -> None:
        """Do nothing: the files are there."""

    def link(self, folder: Path, directories: Sequence[Path]) -> None:
        """Make the links on this machine. Raise Unreachable."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for index, directory in enumerate(directories):
                (folder / str(index)).unlink(missing_ok=True)
                (folder / str(index)).symlink_to(directory)
        except OSError as error:
            raise Unreachable(f"the folder of an array cannot be created: {error}") from error

    def run_and_fetch(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Reply:
        """Run only the command."""
        return self.shell.run(argv, timeout_seconds)
