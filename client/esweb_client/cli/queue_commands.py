"""`esweb queue` lists running and waiting runs; `hold`, `release` and `move` change where and whether a run waits."""

from __future__ import annotations

import argparse
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.output import plain, print_json, print_table
from esweb_client.cli.server import Server

COLUMNS = ("run", "state", "cluster", "person", "since", "place", "takes", "name", "why")


def add_queue(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `queue`."""
    command.add_argument("--cluster", metavar="NAME", help="only runs on this cluster")
    command.add_argument("--mine", action="store_true", help="only your runs")
    command.set_defaults(run=queue)


def add_move(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `move`."""
    command.add_argument("run_uids", nargs="+", metavar="RUN", help="uid of a queued run")
    command.add_argument("--to", required=True, metavar="CLUSTER", help="cluster to move it to")
    command.set_defaults(run=move)


def queue(options: argparse.Namespace) -> int:
    """Print running runs, the newest first, then waiting ones, the oldest first."""
    data = Server(account()).get("queue", {"cluster": options.cluster, "mine": options.mine or None})
    if options.json:
        print_json(data)
        return 0
    rows = []
    for entry in data["items"]:
        reason = ". ".join(filter(None, (entry["reason"], entry["explained"])))
        state = "held" if entry["held"] else entry["state"]
        since = entry["since"][:16].replace("T", " ")
        row = (entry["run"], state, entry["cluster"], entry["person"], since, entry["position"], _takes(entry))
        rows.append([*row, entry["name"], reason])
    print_table(COLUMNS, rows)
    print(f"{data['going']} going, {data['waiting']} waiting")
    return 0


def _takes(entry: dict[str, Any]) -> str:
    """Return the GPUs of all nodes, or the share of one, such as `0.07 GPU`; the cores of a run without GPUs."""
    gpus, cores = entry["total_gpus"], entry["total_cores"]
    number, unit = (gpus, "GPU") if gpus else (cores, "core")
    return f"{number:g} {unit}{'s' if number > 1 else ''}"


def move(options: argparse.Namespace) -> int:
    """Move each run; stop at the first that refuses."""
    server = Server(account())
    for uid in options.run_uids:
        run = server.post(f"runs/{uid}/move", {"cluster": options.to})
        if options.json:
            print_json(run)
        else:
            print(f"{uid}  moves to {plain(options.to)}", flush=True)
    return 0
