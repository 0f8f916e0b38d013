"""`esweb costs` tells who or what took how many hours; `esweb limits` lists limits, and sets them for admins."""

from __future__ import annotations

import argparse

from esweb.cli.account import account
from esweb.cli.errors import BAD_INPUT, Failure
from esweb.cli.printing import number, print_json, print_table
from esweb.cli.server import Server


def add_costs(command: argparse.ArgumentParser) -> None:
    """The arguments of `costs`."""
    command.add_argument(
        "--by", choices=["person", "experiment", "sweep", "cluster"], default="person", help="a row for each (person)"
    )
    command.add_argument("--since", choices=["month", "all"], default="month", help="this month, or in all (month)")
    command.set_defaults(run=costs)


def add_limits(command: argparse.ArgumentParser) -> None:
    """The arguments of `limits`."""
    whose = command.add_mutually_exclusive_group()
    whose.add_argument("--person", metavar="NAME", help="set a limit of this person (admins)")
    whose.add_argument("--experiment", type=int, metavar="ID", help="set a limit of this experiment (admins)")
    whose.add_argument("--remove", type=int, metavar="LIMIT", help="take a limit away, by its number (admins)")
    command.add_argument("--kind", choices=["gpu", "cpu"], help="set: hours of what")
    command.add_argument("--hours", type=float, help="set: how many")
    command.add_argument(
        "--period", choices=["month", "all"], default="month", help="set: each month, or in all (month)"
    )
    command.set_defaults(run=limits)


def costs(asked: argparse.Namespace) -> int:
    """Prints the hours, the dearest first."""
    found = Server(account()).get("costs", {"by": asked.by, "since": asked.since})
    if asked.json:
        print_json(found)
        return 0
    rows = [[row["name"] or "-", *_cells(row["hours"]), row["runs"]] for row in found["items"]]
    print_table((asked.by, "gpu_hours", "cpu_hours", "runs"), [*rows, ["together", *_cells(found["total"]), ""]])
    return 0


def limits(asked: argparse.Namespace) -> int:
    """Sets or removes a limit where that is asked for; prints those that there are then."""
    server = Server(account())
    if asked.remove is not None:
        server.delete(f"limits/{asked.remove}")
    elif asked.person is not None or asked.experiment is not None:
        if asked.kind is None or asked.hours is None:
            raise Failure(BAD_INPUT, "a limit takes --kind gpu or cpu, and --hours")
        whose = {"person": asked.person} if asked.person is not None else {"experiment": asked.experiment}
        server.post("limits", {**whose, "kind": asked.kind, "hours": asked.hours, "period": asked.period})
    found = server.get("limits")["items"]
    if asked.json:
        print_json(found)
        return 0
    heads = ("id", "person", "experiment", "kind", "period", "hours", "used", "promised", "left")
    print_table(heads, [[number(row[head]) for head in heads] for row in found])
    return 0


def _cells(hours: dict[str, float]) -> list[str]:
    return [number(hours["gpu"]), number(hours["cpu"])]
