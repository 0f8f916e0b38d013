"""A cluster whose disk this machine does not see: job directories are made there, what jobs write is brought here."""

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
from workers.executors.openssh.fetching import FarFolder
from workers.executors.openssh.shell import OpenSsh
from workers.executors.shell import Answer

FILE_BYTES = 1024 * 1024
LOOK_BYTES = 16 * FILE_BYTES
"""Of one file, and of all together, in one answer."""
LOOKS_SECONDS = 10.0
"""While more is there, it is looked again, for at most so long."""
SEND_SECONDS = 60.0


@dataclass(frozen=True)
class FarDisk:
    """`home` is the folder of all runs here; there they lie in `folder`/runs, by their run's uid and their key.

    `bundles` is where this machine keeps the code that it ships.
    """

    ssh: OpenSsh
    folder: PurePosixPath
    home: Path
    bundles: Path

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """On the other machine."""
        return self.ssh.run(argv, timeout_seconds, text)

    def there(self, here: Path) -> PurePosixPath:
        """The directory under the far folder."""
        return self.folder.joinpath("runs", *here.relative_to(self.home).parts)

    def project(self, said: str) -> str:
        """The present code is shipped under the name of its fingerprint, and lies there from then on."""
        if said:
            return said
        try:
            packed = bundle(self.bundles)
        except (OSError, BadBundle) as error:
            raise Unreachable(f"the code to ship cannot be bundled: {error}") from error
        return self.ship(packed)

    def ship(self, packed: Path) -> str:
        """Sent where it is not there yet, which takes a moment; else one question."""
        code = self.folder / "code"
        unpack = command(self.ssh.python, str(code / packed.name), str(code))
        if (answer := self.run(unpack, SEND_SECONDS)).code != 0:
            self.ssh.ask({"write": [_packed(packed, code)]}, SEND_SECONDS)
            answer = self.run(unpack, SEND_SECONDS)
        if answer.code != 0:
            raise Unreachable(f"the code cannot be unpacked in {code}: {answer.err.strip()[-300:]}")
        return answer.out.strip()

    def send(self, files: Iterable[Path]) -> None:
        """Copies them; from now on their directories here are copies of those there. Raises Unreachable."""
        chosen = list(files)
        if not chosen:
            return
        for directory in {file.parent for file in chosen}:
            mirror.begin(directory)
        self.ssh.ask({"write": [_packed(file, self.there(file.parent)) for file in chosen]}, SEND_SECONDS)

    def link(self, folder: Path, directories: Sequence[Path]) -> None:
        """Made there."""
        links = [
            {"path": str(self.there(folder) / str(i)), "to": str(self.there(d))} for i, d in enumerate(directories)
        ]
        self.ssh.ask({"link": links}, SEND_SECONDS)

    def look(self, argv: Sequence[str], keys: Iterable[str], timeout_seconds: float) -> Answer:
        """The command and the first look are one question; where more is there, more looks follow."""
        named = [key for key in keys if KEY.fullmatch(key) and "-" in key]
        here = {key: directory for key in named if mirror.mirrored(directory := self._here(key)) is not None}
        until = time.monotonic() + LOOKS_SECONDS
        answer = self.ssh.ask({"argv": list(argv), **self._look(here)}, timeout_seconds)
        left = self._keep(here, answer)
        while left and time.monotonic() < until:
            left = self._keep(left, self.ssh.ask(self._look(left), timeout_seconds))
        return self.ssh.answer_of(argv, answer, timeout_seconds)

    def fetch(self, here: Path) -> FarFolder:
        """The files of a folder there, to be read. Raises NotBegun or Unreachable."""
        return self.ssh.fetch(str(self.there(here)))

    def _look(self, here: dict[str, Path]) -> dict[str, Any]:
        jobs = [{"key": k, "folder": str(self.there(d)), "sizes": mirror.sizes(d)} for k, d in here.items()]
        # So that where not all can be brought, it is not always the same jobs that wait.
        random.shuffle(jobs)
        return {"look": jobs, "file_bytes": FILE_BYTES, "bytes": LOOK_BYTES}

    def _keep(self, here: dict[str, Path], answer: dict[str, Any]) -> dict[str, Path]:
        """Writes what came, and returns those of which more is there."""
        try:
            return {key: path for key, path in here.items() if mirror.keep(path, answer["look"].get(key))}
        except OSError as error:
            raise Unreachable(f"what jobs have written cannot be kept here: {error}") from error

    def _here(self, key: str) -> Path:
        """The key names its run: esweb-<run>-..."""
        return self.home / key.split("-")[1] / key


def _packed(file: Path, folder: PurePosixPath) -> dict[str, Any]:
    is_private = not file.stat().st_mode & 0o077
    data = base64.b64encode(file.read_bytes()).decode()
    return {"path": str(folder / file.name), "data": data, "mode": PRIVATE if is_private else READABLE}
