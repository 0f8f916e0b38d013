"""`esweb watch RUN`: how a run stands, a line for each change, until it ends."""

from __future__ import annotations

import argparse
import time
from typing import Any

from esweb.cli.account import account
from esweb.cli.errors import AWAY, ENDED_BADLY, Failure, tell
from esweb.cli.printing import number, plain, print_json
from esweb.cli.server import Server
from workers.executors.states import OPEN_STATES

EVERY_SECONDS = 2.0
SHOWN = {"reward": "reward/mean", "kl": "kl"}


def add(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("uid", metavar="RUN", help="uid of the run")
    command.add_argument("--every", type=float, default=EVERY_SECONDS, metavar="SECONDS", help="how often to look (2)")
    command.set_defaults(run=lambda asked: watch_one(Server(account()), asked.uid, asked.every, as_json=asked.json))


def watch_one(server: Server, uid: str, every: float = EVERY_SECONDS, *, as_json: bool) -> int:
    """Follows the run; 0 where it succeeded. A server that goes away is waited for, once it has answered."""
    said: dict[str, Any] = {}
    while True:
        try:
            run = server.get(f"runs/{uid}")
        except Failure as failure:
            if failure.code != AWAY or not said:
                raise
            tell(failure, as_json=as_json)
            time.sleep(max(every, EVERY_SECONDS))
            continue
        now = _standing(run)
        if now != said:
            print_json(now) if as_json else print(_line(now), flush=True)
            said = now
        if run["state"] not in OPEN_STATES and not _goes_on(run):
            return 0 if run["state"] == "succeeded" else ENDED_BADLY
        time.sleep(max(every, 0.1))


def _standing(run: dict[str, Any]) -> dict[str, Any]:
    """What is worth a line."""
    newest = run["attempts"][-1] if run["attempts"] else {}
    return {
        "run": run["uid"],
        "state": run["state"],
        "reason": newest.get("reason", ""),
        "phase": newest.get("phase_message") or newest.get("phase", ""),
        "progress": newest.get("progress"),
        **{name: run["latest"].get(key) for name, key in SHOWN.items()},
    }


def _line(now: dict[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S")
    parts = [clock, now["run"], now["state"]]
    if now["progress"] is not None:
        parts.append(f"{100 * now['progress']:.0f} %")
    parts += [f"{name} {number(now[name])}" for name in SHOWN if now[name] is not None]
    parts += [plain(now[name]) for name in ("phase", "reason") if now[name]]
    return "  ".join(parts)


def _goes_on(run: dict[str, Any]) -> bool:
    """True where its next attempt will be made by itself."""
    return any(attempt["restart_at"] for attempt in run["attempts"])
