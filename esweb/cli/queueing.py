"""`esweb queue` tells what runs and what waits; `hold`, `release` and `move` change where and whether it waits."""

from __future__ import annotations

import argparse

from esweb.cli.account import account
from esweb.cli.printing import plain, print_json, print_table
from esweb.cli.server import Server

COLUMNS = ("run", "state", "cluster", "person", "since", "place", "name", "why")


def add_queue(command: argparse.ArgumentParser) -> None:
    """The arguments of `queue`."""
    command.add_argument("--cluster", metavar="NAME", help="only what is on this cluster")
    command.add_argument("--mine", action="store_true", help="only runs that you made")
    command.set_defaults(run=queue)


def add_move(command: argparse.ArgumentParser) -> None:
    """The arguments of `move`."""
    command.add_argument("run_uids", nargs="+", metavar="RUN", help="uid of a run that waits")
    command.add_argument("--to", required=True, metavar="CLUSTER", help="where it is to go")
    command.set_defaults(run=move)


def queue(asked: argparse.Namespace) -> int:
    """Prints what runs, the newest first, then what waits, the oldest first."""
    found = Server(account()).get("queue", {"cluster": asked.cluster, "mine": asked.mine or None})
    if asked.json:
        print_json(found)
        return 0
    rows = []
    for one in found["items"]:
        why = ". ".join(filter(None, (one["reason"], one["explained"])))
        state = "held" if one["held"] else one["state"]
        since = one["since"][:16].replace("T", " ")
        rows.append([one["run"], state, one["cluster"], one["person"], since, one["position"], one["name"], why])
    print_table(COLUMNS, rows)
    print(f"{found['going']} going, {found['waiting']} waiting")
    return 0


def move(asked: argparse.Namespace) -> int:
    """Moves each run; stops at the first that refuses."""
    server = Server(account())
    for uid in asked.run_uids:
        run = server.post(f"runs/{uid}/move", {"cluster": asked.to})
        if asked.json:
            print_json(run)
        else:
            print(f"{uid}  moves to {plain(asked.to)}", flush=True)
    return 0
