"""Download exports of whole runs and experiments as zips, each verified before it gets its name."""

from __future__ import annotations

import argparse
import os
import zipfile
from pathlib import Path

from esweb_client.cli.account import account
from esweb_client.cli.download import Transfer
from esweb_client.cli.errors import BAD_INPUT, REFUSED, Failure
from esweb_client.cli.output import print_json
from esweb_client.cli.server import Server


def export_archives(options: argparse.Namespace) -> int:
    """Download each run, or the experiment, to a zip in the folder --out, or to the file of that name."""
    if options.experiment is not None and options.run_uids:
        raise Failure(BAD_INPUT, "name runs or --experiment, not both")
    if options.experiment is None and not options.run_uids:
        raise Failure(BAD_INPUT, "name at least one RUN, or --experiment ID")
    sources = [(f"runs/{uid}/export", f"esweb-run-{uid}.zip") for uid in options.run_uids]
    if options.experiment is not None:
        sources = [(f"experiments/{options.experiment}/export", f"esweb-experiment-{options.experiment}.zip")]
    server, query = Server(account()), {"logs": "false" if options.no_logs else None}
    query["checkpoints"] = "true" if options.checkpoints else None
    for path, name in sources:
        file = _target(options.out, name, is_one=len(sources) == 1)
        size = _download(server, path, query, file)
        if options.json:
            print_json({"file": str(file), "bytes": size})
        else:
            print(f"{file}  {size / 1e6:.1f} MB")
    return 0


def _target(out: str, name: str, *, is_one: bool) -> Path:
    """Return the file to write: --out itself if it names a zip, else a file of that name in the folder --out."""
    if out == "-":
        return Path(name)
    return Path(out) if is_one and out.endswith(".zip") else Path(out) / name


def _download(server: Server, path: str, query: dict[str, str | None], file: Path) -> int:
    """Download a zip, and return its size. Raise Failure if it did not arrive whole."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        size = server.download(path, Transfer(draft, file.name).read, query)
        _verify(draft)
        draft.replace(file)
    except OSError as error:
        raise Failure(BAD_INPUT, f"--out {file.parent} cannot be written: {error.strerror}") from error
    finally:
        if draft.exists():
            draft.unlink()
    return size


def _verify(draft: Path) -> None:
    """Raise Failure unless every file in the zip has its checksum."""
    try:
        with zipfile.ZipFile(draft) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as error:
        raise Failure(REFUSED, "the export did not arrive whole; repeat the command") from error
    if damaged is not None:
        raise Failure(REFUSED, f"the export is damaged at {damaged}; repeat the command")
