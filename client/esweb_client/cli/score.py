"""`esweb score RUN`: let a registered scorer score the responses of a run, and list its scorings."""

from __future__ import annotations

import argparse
import time
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import AWAY, BAD_INPUT, ENDED_BADLY, Failure, print_failure
from esweb_client.cli.output import plain, print_json, print_table
from esweb_client.cli.server import Server
from esweb_client.cli.watch import EVERY_SECONDS

COLUMNS = ("id", "scorer", "split", "step", "state", "done", "total", "person", "reason")


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("uid", metavar="RUN", help="uid of the run")
    command.add_argument("--scorer", metavar="NAME", help="registered scorer to start; without it, list the scorings")
    command.add_argument("--split", help="score only responses of this split, such as eval")
    command.add_argument("--step", type=int, help="score only responses at this step")
    command.add_argument("--watch", action="store_true", help="follow the scoring until it finishes")
    command.add_argument(
        "--every", type=float, default=EVERY_SECONDS, metavar="SECONDS", help="seconds between updates (2)"
    )
    command.set_defaults(run=score)


def score(options: argparse.Namespace) -> int:
    """Start a scoring; without --scorer list the run's scorings and the scorers that can score it."""
    server = Server(account())
    if options.scorer is None:
        return _list(server, options)
    selection = {"split": options.split, "step": options.step}
    selected = {name: value for name, value in selection.items() if value is not None}
    scoring = server.post(f"runs/{options.uid}/scorings", {"scorer": options.scorer, **selected})
    _print(scoring, as_json=options.json)
    return _watch(server, scoring, options) if options.watch else 0


def _list(server: Server, options: argparse.Namespace) -> int:
    for name in ("split", "step", "watch"):
        if getattr(options, name) not in (None, False):
            raise Failure(BAD_INPUT, f"--{name} needs --scorer NAME")
    scorings = server.get(f"runs/{options.uid}/scorings")
    if options.json:
        print_json(scorings)
        return 0
    print_table(COLUMNS, [[item[name] for name in COLUMNS] for item in scorings["items"]])
    print(f"scorers: {plain(', '.join(scorings['scorers'])) or 'none is active'}")
    return 0


def _watch(server: Server, scoring: dict[str, Any], options: argparse.Namespace) -> int:
    """Print each change until the scoring ends; return 0 if it is done. A server that goes away is waited for."""
    while scoring["state"] == "going":
        time.sleep(max(options.every, 0.1))
        try:
            newest = _find(server, options.uid, scoring["id"])
        except Failure as failure:
            if failure.code != AWAY:
                raise
            print_failure(failure, as_json=options.json)
            continue
        if newest != scoring:
            _print(newest, as_json=options.json)
        scoring = newest
    return 0 if scoring["state"] == "done" else ENDED_BADLY


def _find(server: Server, uid: str, number: int) -> dict[str, Any]:
    items = server.get(f"runs/{uid}/scorings")["items"]
    return dict(next(item for item in items if item["id"] == number))


def _print(scoring: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(scoring)
        return
    reason = f"  {plain(scoring['reason'])}" if scoring["reason"] else ""
    progress = f"{scoring['done']} of {scoring['total']} responses scored"
    print(f"{scoring['id']}  {plain(scoring['scorer'])}  {scoring['state']}  {progress}{reason}", flush=True)
