"""A file with a token is readable by its account alone: where it is written, and on the machine that it is sent to."""

from __future__ import annotations

import base64
import os
from pathlib import Path, PurePosixPath

from workers.attempt import PRIVATE, TOKEN_FILES, write_whole
from workers.executors.openssh.remote_agent import handle
from workers.executors.openssh.remote_disk import _pack


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_write_whole_gives_a_new_file_its_mode(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        write_whole(tmp_path / "site-token", "secret", mode=PRIVATE)
        write_whole(tmp_path / "run.json", "{}")
    finally:
        os.umask(umask)
    assert (mode(tmp_path / "site-token"), mode(tmp_path / "run.json")) == (0o600, 0o666)


def test_private_file_stays_private_when_it_is_sent(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    for name in TOKEN_FILES:
        write_whole(here / name, "secret", mode=PRIVATE)
    write_whole(here / "run.json", "{}")
    (here / "run.json").chmod(0o644)
    files = [_pack(file, PurePosixPath(there)) for file in sorted(here.iterdir())]
    assert all(base64.b64decode(file["data"]) for file in files)
    handle({"write": files})
    assert {file.name: mode(file) for file in there.iterdir()} == {
        "run.json": 0o666 & ~_umask(), **dict.fromkeys(TOKEN_FILES, 0o600)
    }  # fmt: skip


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
