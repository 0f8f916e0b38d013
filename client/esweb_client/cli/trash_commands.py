"""`esweb rm` moves runs to the trash and restores them; `esweb rename` gives a run another name."""

from __future__ import annotations

import argparse
import sys

from esweb_client.cli.account import account
from esweb_client.cli.errors import REFUSED, Failure
from esweb_client.cli.output import plain, print_json
from esweb_client.cli.server import Server


def add_rm(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `rm`."""
    command.add_argument("run_uids", nargs="+", metavar="RUN", help="uid of a run")
    command.add_argument("--restore", action="store_true", help="restore the runs from the trash")
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.set_defaults(run=rm)


def add_rename(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `rename`."""
    command.add_argument("uid", metavar="RUN", help="uid of the run")
    command.add_argument("name", metavar="NAME", help="new name")
    command.set_defaults(run=rename)


def rm(options: argparse.Namespace) -> int:
    """Move each run to the trash, or restore it; stop at the first that refuses."""
    if not options.restore and not options.yes and sys.stdin.isatty():
        _confirm(options.run_uids)
    server = Server(account())
    for uid in options.run_uids:
        if options.restore:
            server.post(f"runs/{uid}/restore")
        else:
            server.delete(f"runs/{uid}")
        if options.json:
            print_json({"run": uid, "in_trash": not options.restore})
        elif options.restore:
            print(f"{uid}  restored", flush=True)
        else:
            print(f"{uid}  in the trash; restore it within 30 days with `esweb rm --restore {uid}`", flush=True)
    return 0


def rename(options: argparse.Namespace) -> int:
    """Rename the run."""
    run = Server(account()).patch(f"runs/{options.uid}", {"name": options.name})
    if options.json:
        print_json(run)
    else:
        print(f"{options.uid}  {plain(run['name'])}")
    return 0


def _confirm(uids: list[str]) -> None:
    """Raise Failure unless the user agrees. The question is on stderr, so that it is seen if the output is piped."""
    count = f"{len(uids)} runs" if len(uids) > 1 else f"run {uids[0]}"
    print(f"Move {count} to the trash? A run that has not finished is cancelled. [y/N] ", end="", file=sys.stderr)
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure(REFUSED, "nothing was changed")
