"""`esweb sweep` launches a sweep; `esweb sweeps` tells how one stands, and pauses, resumes, extends or cancels it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from esweb.cli.account import account
from esweb.cli.errors import BAD_INPUT, Failure
from esweb.cli.launching import add_config, seeds_of, value_of, what
from esweb.cli.printing import number, plain, print_json, print_table
from esweb.cli.server import Server
from workers.config.shallow_json import loads

VERBS = ("show", "pause", "resume", "extend", "cancel", "uncancel")


def add_sweep(command: argparse.ArgumentParser) -> None:
    """The arguments of `sweep`."""
    add_config(command)
    _add_values(command)
    command.add_argument("--at-once", type=int, help="how many of its runs run at a time (4)")
    command.add_argument("--plan", action="store_true", help="only tell what it would be, and its estimate")
    command.set_defaults(run=sweep)


def add_sweeps(command: argparse.ArgumentParser) -> None:
    """The arguments of `sweeps`."""
    command.add_argument("sweep_id", type=int, metavar="SWEEP", help="number of the sweep")
    command.add_argument("verb", nargs="?", choices=VERBS, default="show", help="what to do with it (show)")
    _add_values(command)
    command.add_argument("--at-once", type=int, help="extend: how many of its runs run at a time from now on")
    command.set_defaults(run=sweeps)


def sweep(asked: argparse.Namespace) -> int:
    """Launches the sweep and prints its number and page; with --plan only tells what it would be."""
    body = {**what(asked), **_values(asked)}
    server = Server(account())
    if asked.plan:
        return _tell_plan(server.post("sweeps/plan", body), as_json=asked.json)
    made = server.post("sweeps", body)
    if asked.json:
        print_json(made)
    else:
        print(
            f"{made['id']}  {made['runs']} runs  {plain(made['name'])}  {server.account.url}{made['url']}", flush=True
        )
    return 0


def sweeps(asked: argparse.Namespace) -> int:
    """Does what is asked, and prints how the sweep stands then."""
    values = _values(asked)
    if values and asked.verb != "extend":
        raise Failure(BAD_INPUT, f"--{next(iter(values)).replace('_', '-')} goes with extend, not with {asked.verb}")
    server = Server(account())
    if asked.verb != "show":
        server.post(f"sweeps/{asked.sweep_id}/{asked.verb}", values)
    now = server.get(f"sweeps/{asked.sweep_id}")
    if asked.json:
        print_json(now)
    else:
        _tell(now)
    return 0


def _add_values(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--grid", action="append", default=[], metavar="KEY=V1,V2",
        help="a key and its values, such as es.sigma=0.01,0.03; several make all combinations",
    )  # fmt: skip
    command.add_argument("--cells", metavar="FILE", help="instead of --grid: a JSON list of objects, key to value")
    command.add_argument("--seeds", metavar="LIST", help="each cell once for each, such as 0-4 or 1,3,5")


def _values(asked: argparse.Namespace) -> dict[str, Any]:
    """What was given of grid, cells, seeds and at_once."""
    given: dict[str, Any] = {}
    if asked.grid:
        given["grid"] = _grid(asked.grid)
    if asked.cells:
        given["cells"] = _cells(asked.cells)
    if asked.seeds is not None:
        given["seeds"] = seeds_of(asked.seeds)
    if asked.at_once is not None:
        given["at_once"] = asked.at_once
    return given


def _grid(settings: Sequence[str]) -> dict[str, list[Any]]:
    grid: dict[str, list[Any]] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or not key or not text:
            raise Failure(BAD_INPUT, f"--grid takes KEY=V1,V2, such as es.sigma=0.01,0.03, not {setting!r}")
        whole = value_of(text)
        grid.setdefault(key, []).extend(whole if isinstance(whole, list) else map(value_of, text.split(",")))
    return grid


def _cells(file: str) -> list[Any]:
    try:
        cells = loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(BAD_INPUT, f"--cells {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Failure(BAD_INPUT, f"--cells {file} is not JSON: {error}") from error
    if not isinstance(cells, list):
        raise Failure(BAD_INPUT, f'--cells {file} must hold a list such as [{{"es.sigma": 0.01}}]')
    return cells


def _tell_plan(plan: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        print_json(plan)
        return 0
    known = plan["runs"] - plan["unknown"]
    print(f"{plan['runs']} runs; {known} of them estimated, together at {_hours(plan['estimated'])}")
    for one in plan["first"]:
        print(f"  {plain(_cell(one['cell']))} seed={one['seed']}")
    return 0


def _tell(now: dict[str, Any]) -> None:
    states = ", ".join(f"{n} {state}" for state, n in now["states"].items())
    print(f"{now['id']}  {now['state']}  {now['ended']} of {now['runs']} ended ({states})  {plain(now['name'])}")
    print(f"at a time {now['at_once']}; so far {_hours(now['spent'])}; estimated {_hours(now['estimated'])}")
    rows = [
        [_cell(row["cell"]), *(number(row[name]) for name in ("mean", "low", "high")), row["n"]] for row in now["table"]
    ]
    print_table(("cell", "reward", "low", "high", "n"), rows)


def _cell(cell: dict[str, Any]) -> str:
    return " ".join(f"{key}={json.dumps(value)}" for key, value in cell.items())


def _hours(cost: dict[str, float]) -> str:
    parts = [f"{number(cost[kind])} {kind.upper()}-hours" for kind in ("gpu", "cpu") if cost[kind]]
    return " + ".join(parts) or "0 hours"
