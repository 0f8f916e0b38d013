"""The commands and their arguments."""

from __future__ import annotations

import argparse

from esweb import __version__
from esweb.cli import completion, costs, exporting, launching, listing, login, queueing, sweeping, watching
from esweb.cli.errors import CODES

HELPS = {
    "login": "keep a token for a server",
    "launch": "launch a run, or one for each of many seeds",
    "sweep": "launch a run for every combination of values and seeds, as one sweep",
    "sweeps": "how a sweep stands; pause, resume, extend or cancel it, or undo its cancel",
    "watch": "follow a run until it ends: state, last reward and KL",
    "ls": "list runs, experiments or presets",
    "cancel": "ask runs to stop; they save a checkpoint first",
    "resume": "let runs that ended early go on",
    "queue": "what runs and what waits on all clusters, since when and why",
    "hold": "keep runs that wait from their cluster until they are released",
    "release": "let runs go that are held",
    "move": "move runs that wait to another cluster",
    "costs": "hours of GPUs and cores by person, experiment, sweep or cluster",
    "limits": "limits on hours, and what is used of them; admins set them",
    "export": "write curves or answers as CSV or JSON lines",
    "completion": "print a script that completes commands in bash, zsh or fish",
}


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    whole = argparse.ArgumentParser(
        prog="esweb", description="Launch, watch and read runs of an esweb server.", epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    whole.add_argument("--version", action="version", version=f"esweb {__version__}")
    places = whole.add_subparsers(required=True, metavar="COMMAND")
    commands = {name: places.add_parser(name, help=text, description=text) for name, text in HELPS.items()}
    for command in commands.values():
        command.add_argument("--json", action="store_true", help="answer in JSON, errors too")
    login.add(commands["login"])
    launching.add_launch(commands["launch"])
    sweeping.add_sweep(commands["sweep"])
    sweeping.add_sweeps(commands["sweeps"])
    watching.add(commands["watch"])
    listing.add(commands["ls"])
    queueing.add_queue(commands["queue"])
    queueing.add_move(commands["move"])
    for name in ("cancel", "resume", "hold", "release"):
        launching.add_runs(commands[name], name)
    costs.add_costs(commands["costs"])
    costs.add_limits(commands["limits"])
    exporting.add(commands["export"])
    completion.add(commands["completion"], commands, HELPS)
    return whole
