"""`esweb import FILE…`: upload run folders, and files of other programs, which become runs."""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, Failure
from esweb_client.cli.output import plain, print_json
from esweb_client.cli.server import Server

MAX_FILES = 100
MAX_BYTES = 256 * 1024 * 1024
"""Limits of one request to the server."""
NEVER_SENT = ("site-token", "scorer-token", "engine-nodes.json")
"""Files with tokens in the folder of an attempt."""
GROUPS = (("made", "new"), ("went_on", "continued"), ("known", "already imported"))


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("files", nargs="+", metavar="FILE", help="a file or an archive, or a folder of them")
    command.add_argument(
        "--experiment", metavar="NAME|ID", help="id or name of your experiment; a new name creates one (Imported)"
    )
    command.set_defaults(run=import_files)


def import_files(options: argparse.Namespace) -> int:
    """Upload the files; print the runs and the files that were not read. Raise Failure if nothing was read."""
    files = list(_find_files(options.files))
    _check_limits(files)
    fields = [("path", name) for name, _ in files]
    if options.experiment is not None:
        key = "experiment" if options.experiment.isdecimal() else "experiment_name"
        fields.append((key, options.experiment))
    boundary = uuid.uuid4().hex
    server = Server(account())
    result = server.upload("imports", _form(boundary, fields, files), f"multipart/form-data; boundary={boundary}")
    if options.json:
        print_json(result)
    else:
        _print_result(server.account.url, result)
    return 0


def _find_files(names: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield each file with the name that is sent: with its folders, because settings are read from them."""
    for name in names:
        path = Path(name)
        if path.is_dir():
            root = path.resolve()
            for file in sorted(root.rglob("*")):
                if file.is_file() and not file.is_symlink() and file.name not in NEVER_SENT:
                    yield f"{root.name}/{file.relative_to(root).as_posix()}", file
        elif path.is_file():
            parts = [part for part in path.parts if part not in ("..", path.anchor)]
            yield "/".join(parts), path
        else:
            raise Failure(BAD_INPUT, f"{name} is neither a file nor a folder")


def _check_limits(files: Sequence[tuple[str, Path]]) -> None:
    if not files:
        raise Failure(BAD_INPUT, "the folders contain no file")
    if len(files) > MAX_FILES:
        raise Failure(BAD_INPUT, f"{len(files)} files exceed {MAX_FILES} per import: pack them into a zip or tar")
    size = sum(file.stat().st_size for _, file in files)
    if size > MAX_BYTES:
        raise Failure(BAD_INPUT, f"the files have {size} bytes; an import takes {MAX_BYTES}: pack them or send fewer")


def _form(boundary: str, fields: Sequence[tuple[str, str]], files: Sequence[tuple[str, Path]]) -> bytes:
    """Return the body of a form, multipart/form-data (RFC 7578)."""
    parts = []
    for name, value in fields:
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    for name, file in files:
        quoted = Path(name).name.replace("\\", "_").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{quoted}"\r\n\r\n'
        try:
            parts += [head.encode(), file.read_bytes(), b"\r\n"]
        except OSError as error:
            raise Failure(BAD_INPUT, f"{file} cannot be read: {error.strerror}") from error
    return b"".join([*parts, f"--{boundary}--\r\n".encode()])


def _print_result(url: str, result: dict[str, Any]) -> None:
    for file in result["files"]:
        for key, label in GROUPS:
            for run in file[key]:
                print(f"{run['uid']}  {label}  {plain(run['name'])}  {url}{run['url']}")
        for remark in file["not_understood"]:
            print(f"{plain(file['name'])}  {plain(remark['place'])}  not understood: {plain(remark['why'])}")
        _print_cells(file)
    for refused in result["not_read"]:
        print(f"{plain(refused['name'])}  not read: {plain(refused['why'])}")
    print(plain(result["said"]))


def _print_cells(file: dict[str, Any]) -> None:
    """Print the cells that were not read. An older server names none."""
    name = plain(file["name"])
    for cell in file.get("refused_cells", []):
        position = f"line {cell['line']}, column {plain(cell['column'])}"
        print(f"{name}  {position}  not read: {plain(repr(cell['text']))} {plain(cell['why'])}")
    if more := file.get("refused_cells_more", 0):
        print(f"{name}  not read: {more} more cell{'' if more == 1 else 's'}")
