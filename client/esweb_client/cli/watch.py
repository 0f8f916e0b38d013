"""`esweb watch RUN`: print a run's status with its open flags, a line for each change, until it ends."""

from __future__ import annotations

import argparse
import time
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import AWAY, ENDED_BADLY, Failure, print_failure
from esweb_client.cli.output import number, plain, print_json
from esweb_client.cli.server import Server

EVERY_SECONDS = 2.0
OPEN_STATES = frozenset({"created", "submitting", "queued", "starting", "running", "paused", "stopping"})
"""States of a run that may still change."""
PRINTED_SERIES = {"reward": "reward/mean", "kl": "kl"}


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("uid", metavar="RUN", help="uid of the run")
    command.add_argument(
        "--every", type=float, default=EVERY_SECONDS, metavar="SECONDS", help="seconds between updates (2)"
    )
    command.set_defaults(
        run=lambda options: watch_one(Server(account()), options.uid, options.every, as_json=options.json)
    )


def watch_one(server: Server, uid: str, every: float = EVERY_SECONDS, *, as_json: bool) -> int:
    """Follow the run; return 0 if it succeeded. After its first answer, a server that goes away is waited for."""
    previous: dict[str, Any] = {}
    while True:
        try:
            run = server.get(f"runs/{uid}")
        except Failure as failure:
            if failure.code != AWAY or not previous:
                raise
            print_failure(failure, as_json=as_json)
            time.sleep(max(every, EVERY_SECONDS))
            continue
        status = _run_status(run)
        if status != previous:
            print_json(status) if as_json else print(_line(status), flush=True)
            previous = status
        if run["state"] not in OPEN_STATES and not will_restart(run):
            return 0 if run["state"] == "succeeded" else ENDED_BADLY
        time.sleep(max(every, 0.1))


def _run_status(run: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of the status that are printed."""
    newest = run["attempts"][-1] if run["attempts"] else {}
    return {
        "run": run["uid"],
        "state": run["state"],
        "reason": newest.get("reason", ""),
        "phase": newest.get("phase_message") or newest.get("phase", ""),
        "progress": newest.get("progress"),
        **{name: run["latest"].get(key) for name, key in PRINTED_SERIES.items()},
        # A server of an earlier version has no flags.
        "flags": [flag["title"] for flag in run.get("flags", ())],
    }


def _line(status: dict[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S")
    parts = [clock, status["run"], status["state"]]
    if status["progress"] is not None:
        parts.append(f"{100 * status['progress']:.0f} %")
    parts += [f"{name} {number(status[name])}" for name in PRINTED_SERIES if status[name] is not None]
    parts += [f"flags: {plain(', '.join(status['flags']))}"] if status["flags"] else []
    parts += [plain(status[name]) for name in ("phase", "reason") if status[name]]
    return "  ".join(parts)


def will_restart(run: dict[str, Any]) -> bool:
    """Return whether its next attempt will be created automatically."""
    return any(attempt["restart_at"] for attempt in run["attempts"])
