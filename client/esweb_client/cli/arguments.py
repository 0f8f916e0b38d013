"""The commands and their arguments."""

from __future__ import annotations

import argparse

from esweb_client import __version__
from esweb_client.cli import (
    audit,
    clone,
    cluster,
    completion,
    costs,
    download,
    export,
    import_command,
    judge,
    launch,
    list_command,
    login,
    logs,
    queue_commands,
    score,
    sweeps,
    sync_command,
    trash_commands,
    watch,
)
from esweb_client.cli.errors import CODES

TOPICS = {
    "Start": {
        "login": "sign in to a server and save its token",
        "completion": "print a completion script for bash, zsh or fish",
    },
    "Runs": {
        "audit-reward": "attack the reward of a task before training",
        "launch": "launch a run, or one for each of many seeds",
        "clone": "launch a run again, with another seed or other settings",
        "cancel": "cancel runs; they save a checkpoint first",
        "resume": "resume runs that stopped early",
        "rename": "rename a run",
        "rm": "move runs to the trash, or restore them",
    },
    "Results": {
        "ls": "list runs, experiments or presets",
        "watch": "follow a run until it finishes: state, last reward, KL and open flags",
        "logs": "print the log of a run, or follow it",
        "export": "export curves or responses as CSV or JSON Lines, or whole runs and experiments",
        "download": "download a checkpoint",
    },
    "Sweeps and queue": {
        "sweep": "launch a run for every combination of values and seeds, as one sweep",
        "sweeps": "show a sweep; pause, resume, extend or cancel it, or undo its cancellation",
        "queue": "list running and queued runs on all clusters, since when and why",
        "hold": "hold queued runs until they are released",
        "release": "release held runs",
        "move": "move queued runs to another cluster",
    },
    "Runs from elsewhere": {
        "import": "import files of other programs as runs",
        "sync": "send runs that were recorded without a connection",
    },
    "Judging": {
        "judge": "list tournaments, start judges, and print leaderboards",
        "score": "score the responses of a run by a registered scorer",
    },
    "Site": {
        "costs": "show GPU and CPU hours by user, experiment, sweep or cluster",
        "limits": "show limits on hours and their use; admins set limits",
        "cluster": "list clusters; admins test one",
    },
}
HELPS = {name: text for commands in TOPICS.values() for name, text in commands.items()}


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    whole = argparse.ArgumentParser(
        prog="esweb", description="Launch, watch and export runs of an esweb server.", epilog=_commands_text() + CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    whole.add_argument("--version", action="version", version=f"esweb {__version__}")
    # The epilog lists the commands by topic: argparse has no groups of them.
    places = whole.add_subparsers(required=True, metavar="COMMAND", help="one of the commands below")
    commands = {name: places.add_parser(name, description=text) for name, text in HELPS.items()}
    for command in commands.values():
        command.add_argument("--json", action="store_true", help="print JSON, errors included")
    login.add(commands["login"])
    audit.add(commands["audit-reward"])
    launch.add_launch(commands["launch"])
    clone.add(commands["clone"])
    trash_commands.add_rename(commands["rename"])
    trash_commands.add_rm(commands["rm"])
    watch.add(commands["watch"])
    logs.add(commands["logs"])
    list_command.add(commands["ls"])
    export.add(commands["export"])
    download.add(commands["download"])
    sweeps.add_sweep(commands["sweep"])
    sweeps.add_sweeps(commands["sweeps"])
    queue_commands.add_queue(commands["queue"])
    queue_commands.add_move(commands["move"])
    for name in ("cancel", "resume", "hold", "release"):
        launch.add_runs(commands[name], name)
    import_command.add(commands["import"])
    sync_command.add(commands["sync"])
    judge.add(commands["judge"])
    score.add(commands["score"])
    costs.add_costs(commands["costs"])
    costs.add_limits(commands["limits"])
    cluster.add(commands["cluster"])
    completion.add(commands["completion"], commands, HELPS)
    return whole


def _commands_text() -> str:
    """Return the commands with their helps, by topic."""
    width = max(map(len, HELPS))
    lines = []
    for topic, helps in TOPICS.items():
        lines += [f"{topic}:", *(f"  {name:<{width}}  {text}" for name, text in helps.items()), ""]
    return "\n".join(lines) + "\n"
