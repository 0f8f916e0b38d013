"""`esweb costs` lists used hours by user, experiment, sweep or cluster; `esweb limits` lists limits, and sets them for
admins."""

from __future__ import annotations

import argparse

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, Failure
from esweb_client.cli.output import number, print_json, print_table
from esweb_client.cli.server import Server


def add_costs(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `costs`."""
    command.add_argument(
        "--by", choices=["person", "experiment", "sweep", "cluster"], default="person", help="one row for each (person)"
    )
    command.add_argument("--since", choices=["month", "all"], default="month", help="this month or all time (month)")
    command.set_defaults(run=costs)


def add_limits(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `limits`."""
    target = command.add_mutually_exclusive_group()
    target.add_argument("--person", metavar="NAME", help="set a limit for this user (admins)")
    target.add_argument("--experiment", type=int, metavar="ID", help="set a limit for this experiment (admins)")
    target.add_argument("--remove", type=int, metavar="LIMIT", help="remove a limit by its number (admins)")
    command.add_argument("--kind", choices=["gpu", "cpu"], help="kind of hours to limit")
    command.add_argument("--hours", type=float, help="maximum number of hours")
    command.add_argument("--period", choices=["month", "all"], default="month", help="per month or in total (month)")
    command.set_defaults(run=limits)


def costs(options: argparse.Namespace) -> int:
    """Print the hours, the highest first."""
    report = Server(account()).get("costs", {"by": options.by, "since": options.since})
    if options.json:
        print_json(report)
        return 0
    rows = [[row["name"] or "-", *_cells(row["hours"]), row["runs"]] for row in report["items"]]
    print_table((options.by, "gpu_hours", "cpu_hours", "runs"), [*rows, ["total", *_cells(report["total"]), ""]])
    return 0


def limits(options: argparse.Namespace) -> int:
    """Set or remove a limit if requested; then print the limits."""
    server = Server(account())
    if options.remove is not None:
        server.delete(f"limits/{options.remove}")
    elif options.person is not None or options.experiment is not None:
        if options.kind is None or options.hours is None:
            raise Failure(BAD_INPUT, "a limit needs --kind gpu or cpu, and --hours")
        target = {"person": options.person} if options.person is not None else {"experiment": options.experiment}
        server.post("limits", {**target, "kind": options.kind, "hours": options.hours, "period": options.period})
    rows = server.get("limits")["items"]
    if options.json:
        print_json(rows)
        return 0
    heads = ("id", "person", "experiment", "kind", "period", "hours", "used", "promised", "left")
    print_table(heads, [[number(row[head]) for head in heads] for row in rows])
    return 0


def _cells(hours: dict[str, float]) -> list[str]:
    return [number(hours["gpu"]), number(hours["cpu"])]
