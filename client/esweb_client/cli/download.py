"""`esweb download RUN`: a checkpoint as one tar file, verified before it gets its name."""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, NOT_FOUND, REFUSED, Failure
from esweb_client.cli.output import print_json
from esweb_client.cli.server import Server

PIECE_BYTES = 1 << 20
BAR_WIDTH = 30


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("uid", metavar="RUN", help="uid of the run")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--step", type=int, help="step of the checkpoint")
    which.add_argument("--last", action="store_true", help="the last available checkpoint (the default)")
    command.add_argument("--out", default=".", metavar="DIR", help="folder to write the file to (.)")
    command.set_defaults(run=download)


def download(options: argparse.Namespace) -> int:
    """Download the checkpoint to DIR/RUN-step-N.tar. A file with that name is always whole."""
    server = Server(account())
    checkpoint = _select(server, options.uid, options.step)
    step = checkpoint["step"]
    file = Path(options.out) / f"{options.uid}-step-{step:06d}.tar"
    draft = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        transfer = Transfer(draft, f"step {step}")
        size = server.download(f"runs/{options.uid}/checkpoints/{step}/download", transfer.read)
        _verify(draft, checkpoint["sha256"])
        draft.replace(file)
    except OSError as error:
        raise Failure(BAD_INPUT, f"--out {options.out} cannot be written: {error.strerror}") from error
    finally:
        if draft.exists():
            draft.unlink()
    if options.json:
        print_json({"run": options.uid, "step": step, "file": str(file), "bytes": size, "sha256": checkpoint["sha256"]})
    else:
        print(f"{file}  {_megabytes(size)}")
    return 0


class Transfer:
    """Writes a response to a file, with a progress bar if standard error is a terminal."""

    def __init__(self, file: Path, label: str) -> None:
        self.file = file
        self.label = label
        self.has_bar = sys.stderr.isatty()

    def read(self, response: http.client.HTTPResponse) -> int:
        """Write the response and return its size. Raise IncompleteRead if it ends early, Failure if the disk fails."""
        expected = int(response.headers.get("Content-Length", -1))
        size = 0
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            stream = self.file.open("wb")
        except OSError as error:
            raise _disk_failure(self.file, error) from error
        with stream:
            while piece := response.read(PIECE_BYTES):
                try:
                    stream.write(piece)
                except OSError as error:
                    raise _disk_failure(self.file, error) from error
                size += len(piece)
                self._print_bar(size, expected)
        self._end_bar()
        if size < expected:
            raise http.client.IncompleteRead(b"", expected - size)
        return size

    def _print_bar(self, size: int, expected: int) -> None:
        if self.has_bar and expected > 0:
            bar = "#" * (BAR_WIDTH * size // expected)
            text = f"{self.label}  [{bar:<{BAR_WIDTH}}]  {100 * size // expected:3d} % of {_megabytes(expected)}"
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def _end_bar(self) -> None:
        if self.has_bar:
            print(file=sys.stderr)


def _select(server: Server, uid: str, step: int | None) -> dict[str, Any]:
    """Return the checkpoint of the step, or the last one. Raise Failure if it cannot be downloaded now."""
    items = [item for item in server.get(f"runs/{uid}/checkpoints")["items"] if item["download"]]
    if not items:
        raise Failure(NOT_FOUND, f"run {uid} has no checkpoint that can be downloaded")
    if step is None:
        return max(items, key=lambda item: int(item["step"]))
    for item in items:
        if item["step"] == step:
            return dict(item)
    steps = ", ".join(str(item["step"]) for item in sorted(items, key=lambda item: int(item["step"])))
    raise Failure(NOT_FOUND, f"run {uid} has no checkpoint of step {step}; available: {steps}")


def _verify(archive: Path, sha256: str) -> None:
    """Raise Failure if the weights in the archive differ from those that the trainer recorded.

    The hash is that of all safetensors files of the checkpoint's own folder, in the order of their names.
    """
    if not sha256:
        return
    digest = hashlib.sha256()
    try:
        with tarfile.open(archive) as tar:
            for member in sorted(tar.getmembers(), key=lambda member: member.name):
                name = PurePosixPath(member.name)
                weights = tar.extractfile(member) if len(name.parts) == 2 and name.suffix == ".safetensors" else None
                while weights is not None and (piece := weights.read(PIECE_BYTES)):
                    digest.update(piece)
    except tarfile.TarError as error:
        raise Failure(REFUSED, f"the downloaded file is no tar archive: {error}") from error
    if digest.hexdigest() != sha256:
        raise Failure(
            REFUSED, f"the downloaded weights have the sha256 {digest.hexdigest()}, but the run recorded {sha256}"
        )


def _disk_failure(file: Path, error: OSError) -> Failure:
    return Failure(BAD_INPUT, f"--out {file.parent} cannot be written: {error.strerror}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
