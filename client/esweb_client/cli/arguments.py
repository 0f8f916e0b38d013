"""The commands and their arguments."""

from __future__ import annotations

import argparse

from esweb_client import __version__
from esweb_client.cli import completion, costs, export, launch, list_command, login, queue_commands, sweeps, watch
from esweb_client.cli.errors import CODES

HELPS = {
    "login": "sign in to a server and save its token",
    "launch": "launch a run, or one for each of many seeds",
    "sweep": "launch a run for every combination of values and seeds, as one sweep",
    "sweeps": "show a sweep; pause, resume, extend or cancel it, or undo its cancellation",
    "watch": "follow a run until it finishes: state, last reward, KL and open flags",
    "ls": "list runs, experiments or presets",
    "cancel": "cancel runs; they save a checkpoint first",
    "resume": "resume runs that stopped early",
    "queue": "list running and queued runs on all clusters, since when and why",
    "hold": "hold queued runs until they are released",
    "release": "release held runs",
    "move": "move queued runs to another cluster",
    "costs": "show GPU and CPU hours by user, experiment, sweep or cluster",
    "limits": "show limits on hours and their use; admins set limits",
    "export": "export curves or responses as CSV or JSON Lines",
    "completion": "print a completion script for bash, zsh or fish",
}


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    whole = argparse.ArgumentParser(
        prog="esweb", description="Launch, watch and export runs of an esweb server.", epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    whole.add_argument("--version", action="version", version=f"esweb {__version__}")
    places = whole.add_subparsers(required=True, metavar="COMMAND")
    commands = {name: places.add_parser(name, help=text, description=text) for name, text in HELPS.items()}
    for command in commands.values():
        command.add_argument("--json", action="store_true", help="print JSON, errors included")
    login.add(commands["login"])
    launch.add_launch(commands["launch"])
    sweeps.add_sweep(commands["sweep"])
    sweeps.add_sweeps(commands["sweeps"])
    watch.add(commands["watch"])
    list_command.add(commands["ls"])
    queue_commands.add_queue(commands["queue"])
    queue_commands.add_move(commands["move"])
    for name in ("cancel", "resume", "hold", "release"):
        launch.add_runs(commands[name], name)
    costs.add_costs(commands["costs"])
    costs.add_limits(commands["limits"])
    export.add(commands["export"])
    completion.add(commands["completion"], commands, HELPS)
    return whole
