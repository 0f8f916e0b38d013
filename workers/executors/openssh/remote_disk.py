"""A cluster with a remote disk: job directories are created there, and what jobs write is fetched to this machine."""

from __future__ import annotations

import base64
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from workers.attempt import PRIVATE, READABLE
from workers.code import BadBundle, bundle, command
from workers.executors import mirror
from workers.executors.base import KEY, Unreachable
from workers.executors.openssh.remote_folder import RemoteFolder
from workers.executors.openssh.shell import OpenSsh
from workers.executors.shell import Reply

FILE_BYTES = 1024 * 1024
LOOK_BYTES = 16 * FILE_BYTES
"""Limits of one file, and of all files together, in one reply."""
LOOKS_SECONDS = 10.0
"""Seconds for which looks are repeated while more data is left."""
SEND_SECONDS = 60.0


@dataclass(frozen=True)
class RemoteDisk:
    """Remote disk of a cluster. `home` is the local folder of all runs; on the cluster they are stored in
    `folder`/runs, by their run's uid and their key.

    `bundles` is the local folder of the code bundles that are shipped.
    """

    ssh: OpenSsh
    folder: PurePosixPath
    home: Path
    bundles: Path

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run a command on the other machine."""
        return self.ssh.run(argv, timeout_seconds, text)

    def cluster_path(self, here: Path) -> PurePosixPath:
        """Return the directory under the remote folder."""
        return self.folder.joinpath("runs", *here.relative_to(self.home).parts)

    def project(self, configured: str) -> str:
        """Ship the present code under the name of its fingerprint, where it then stays, and return its folder. Return
        `configured` if it is not empty. Raise Unreachable."""
        if configured:
            return configured
        try:
            bundle_file = bundle(self.bundles)
        except (OSError, BadBundle) as error:
            raise Unreachable(f"the code cannot be bundled for the cluster: {error}") from error
        return self.ship(bundle_file)

    def ship(self, bundle_file: Path) -> str:
        """Send the bundle if it is not there yet, which takes a while; else only one command is run. Return its
        folder."""
        code = self.folder / "code"
        unpack = command(self.ssh.python, str(code / bundle_file.name), str(code))
        if (reply := self.run(unpack, SEND_SECONDS)).code != 0:
            self.ssh.ask({"write": [_pack(bundle_file, code)]}, SEND_SECONDS)
            reply = self.run(unpack, SEND_SECONDS)
        if reply.code != 0:
            raise Unreachable(f"the code cannot be unpacked in {code}: {reply.err.strip()[-300:]}")
        return reply.out.strip()

    def send(self, files: Iterable[Path]) -> None:
        """Copy the files; from then on their local directories mirror the remote ones. Raise Unreachable."""
        paths = list(files)
        if not paths:
            return
        for directory in {file.parent for file in paths}:
            mirror.begin(directory)
        self.ssh.ask({"write": [_pack(file, self.cluster_path(file.parent)) for file in paths]}, SEND_SECONDS)

    def link(self, folder: Path, directories: Sequence[Path]) -> None:
        """Create the links on the remote disk."""
        links = [
            {"path": str(self.cluster_path(folder) / str(i)), "to": str(self.cluster_path(d))}
            for i, d in enumerate(directories)
        ]
        self.ssh.ask({"link": links}, SEND_SECONDS)

    def run_and_fetch(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Reply:
        """Send the command and the first look as one request; more looks follow while more data is left."""
        valid_keys = [key for key in keys if KEY.fullmatch(key) and "-" in key]
        here = {
            key: directory
            for key in valid_keys
            if mirror.read_state(directory := self._local_directory(key)) is not None
        }
        until = time.monotonic() + LOOKS_SECONDS
        reply = self.ssh.ask({"argv": list(argv), **self._look_request(here)}, timeout_seconds)
        unfinished = self._save_looks(here, reply)
        while unfinished and time.monotonic() < until:
            unfinished = self._save_looks(unfinished, self.ssh.ask(self._look_request(unfinished), timeout_seconds))
        return self.ssh.command_reply(argv, reply, timeout_seconds)

    def fetch(self, here: Path) -> RemoteFolder:
        """Return the files of a remote folder for reading. Raise NotBegun or Unreachable."""
        return self.ssh.fetch(str(self.cluster_path(here)))

    def _look_request(self, here: dict[str, Path]) -> dict[str, Any]:
        jobs = [{"key": k, "folder": str(self.cluster_path(d)), "sizes": mirror.sizes(d)} for k, d in here.items()]
        # Shuffled, so that if not all can be fetched, it is not always the same jobs that wait.
        random.shuffle(jobs)
        return {"look": jobs, "file_bytes": FILE_BYTES, "bytes": LOOK_BYTES}

    def _save_looks(self, here: dict[str, Path], reply: dict[str, Any]) -> dict[str, Path]:
        """Save the looks, and return the directories of jobs with more data."""
        try:
            return {key: path for key, path in here.items() if mirror.save_look(path, reply["look"].get(key))}
        except OSError as error:
            raise Unreachable(f"files of jobs cannot be copied to this machine: {error}") from error

    def _local_directory(self, key: str) -> Path:
        """Return the local directory of a key, which names its run: esweb-<run>-..."""
        return self.home / key.split("-")[1] / key


def _pack(file: Path, folder: PurePosixPath) -> dict[str, Any]:
    is_private = not file.stat().st_mode & 0o077
    data = base64.b64encode(file.read_bytes()).decode()
    return {"path": str(folder / file.name), "data": data, "mode": PRIVATE if is_private else READABLE}
