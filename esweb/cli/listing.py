"""`esweb ls`: runs, experiments or presets."""

from __future__ import annotations

import argparse
from typing import Any

from esweb.cli.account import account
from esweb.cli.printing import print_json, print_table
from esweb.cli.server import Server

FILTERS = ("experiment", "sweep", "state", "method", "preset", "seed", "tag", "q")
COLUMNS = {
    "runs": ("uid", "state", "method", "preset", "seed", "experiment", "created_at", "name"),
    "experiments": ("id", "owner", "created_at", "name", "question"),
    "presets": ("name", "title", "why"),
}


def add(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("what", nargs="?", choices=list(COLUMNS), default="runs", help="what to list (runs)")
    command.add_argument("--experiment", type=int, help="runs of this experiment, by its id")
    command.add_argument("--sweep", type=int, help="runs of this sweep, by its number")
    command.add_argument("--state", help="runs in this state, such as running or failed")
    command.add_argument("--method", choices=["es", "grpo"], help="runs of this method")
    command.add_argument("--preset", help="runs of this preset")
    command.add_argument("--seed", type=int, help="runs of this seed")
    command.add_argument("--tag", help="what has this tag")
    command.add_argument("-q", dest="q", metavar="WORDS", help="what has these words in its name")
    command.add_argument("--limit", type=int, default=50, help="at most so many, newest first (50)")
    command.set_defaults(run=ls)


def ls(asked: argparse.Namespace) -> int:
    """Prints the list; with --json one array."""
    found = _found(asked)
    if asked.json:
        print_json(found)
    else:
        columns = COLUMNS[asked.what]
        print_table(columns, [[_cell(name, item[name]) for name in columns] for item in found])
    return 0


def _found(asked: argparse.Namespace) -> list[dict[str, Any]]:
    server = Server(account())
    if asked.what == "presets":
        return list(server.get("presets"))
    names = FILTERS if asked.what == "runs" else ("tag", "q")
    return list(server.pages(asked.what, {name: getattr(asked, name) for name in names}, asked.limit))


def _cell(name: str, value: Any) -> Any:
    return str(value)[:16].replace("T", " ") if name == "created_at" else value
