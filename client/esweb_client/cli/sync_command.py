"""`esweb sync`: send the runs that were recorded without a connection."""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path

from esweb_client.cli.account import account
from esweb_client.cli.errors import AWAY, BAD_INPUT, Failure
from esweb_client.cli.output import plain, print_json


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "directory", nargs="?", metavar="DIR", help="folder with recorded runs (ESWEB_DIR, else ./esweb-runs)"
    )
    command.add_argument("--clean", action="store_true", help="delete the local files of runs that were sent")
    command.add_argument(
        "--project",
        metavar="NAME",
        default="",
        help="experiment of runs whose settings are lost (ESWEB_PROJECT, else uncategorized)",
    )
    command.set_defaults(run=sync_runs)


def sync_runs(options: argparse.Namespace) -> int:
    """Send every run of the folder that the server does not have completely; return 0 if it has all of them now."""
    # Imported here, so that the other commands do not load the library.
    from esweb_client.sync import FAILED, KNOWN_SENT, LIVE, SENT, sync

    directory = Path(options.directory or os.environ.get("ESWEB_DIR") or "esweb-runs")
    if not directory.is_dir():
        raise Failure(BAD_INPUT, f"there is no folder {directory}: name the folder with the recorded runs")
    user = account()
    report = _ignore if options.json else _report
    result = sync(directory, (user.url, user.token), report, options.clean, project=options.project)
    counts = {status: result.count(status) for status in (SENT, KNOWN_SENT, LIVE, FAILED)}
    if options.json:
        spools = [{**dataclasses.asdict(spool), "folder": str(spool.folder)} for spool in result.spools]
        print_json({"counts": counts, "spools": spools})
    else:
        _report(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 0 if result.is_complete else AWAY


def _report(message: str) -> None:
    print(plain(message), flush=True)


def _ignore(message: str) -> None:
    """Print nothing: the result is printed at the end."""
