"""`esweb ls`: runs, experiments or presets."""

from __future__ import annotations

import argparse
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.output import print_json, print_table
from esweb_client.cli.server import Server

FILTERS = ("experiment", "sweep", "state", "method", "preset", "seed", "tag", "q")
COLUMNS = {
    "runs": ("uid", "state", "method", "preset", "seed", "experiment", "created_at", "flags", "name"),
    "experiments": ("id", "owner", "created_at", "name", "question"),
    "presets": ("name", "needs", "title", "why"),
}


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("what", nargs="?", choices=list(COLUMNS), default="runs", help="what to list (runs)")
    command.add_argument("--experiment", type=int, help="runs of this experiment, by its id")
    command.add_argument("--sweep", type=int, help="runs of this sweep, by its number")
    command.add_argument("--state", help="runs in this state, such as running or failed")
    command.add_argument("--method", help="runs of this method, such as es, grpo or evaluate")
    command.add_argument("--preset", help="runs of this preset")
    command.add_argument("--seed", type=int, help="runs of this seed")
    command.add_argument("--tag", help="runs or experiments with this tag")
    command.add_argument("-q", dest="q", metavar="WORDS", help="runs or experiments with these words in their names")
    command.add_argument("--limit", type=int, default=50, help="maximum number of rows, newest first (50)")
    command.set_defaults(run=ls)


def ls(options: argparse.Namespace) -> int:
    """Print the list; with --json one array."""
    items = _fetch(options)
    if options.json:
        print_json(items)
    else:
        columns = COLUMNS[options.what]
        print_table(columns, [[_cell(name, item.get(name)) for name in columns] for item in items])
    return 0


def _fetch(options: argparse.Namespace) -> list[dict[str, Any]]:
    server = Server(account())
    if options.what == "presets":
        return list(server.get("presets"))
    names = FILTERS if options.what == "runs" else ("tag", "q")
    return list(server.pages(options.what, {name: getattr(options, name) for name in names}, options.limit))


def _cell(name: str, value: Any) -> Any:
    if name == "needs":
        return _describe_needs(value or {})
    if name == "flags":
        return ",".join(flag["detector"] for flag in value or ())
    return str(value)[:16].replace("T", " ") if name == "created_at" else value


def _describe_needs(needs: dict[str, Any]) -> str:
    """Return the hardware, the hours and the files that a preset needs, such as `4 × 80 GB, 1.8-4.3 h, 3 files`."""
    if not needs.get("gpus"):
        return "–"
    nodes = f"{needs['nodes']} nodes × " if needs["nodes"] > 1 else ""
    hours = needs["hours"]
    duration = "hours unknown" if hours is None else "-".join(dict.fromkeys(f"{h:g}" for h in hours)) + " h"
    services = [f"{service['kind']} {service['name']}" for service in needs["services"]]
    files = f"{len(needs['files'])} files"
    return ", ".join([f"{nodes}{needs['gpus']} × {needs['gpu_memory_gb']:g} GB", duration, files, *services])
