"""`esweb sweep` launches a sweep; `esweb sweeps` shows one, and pauses, resumes, extends or cancels it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, Failure
from esweb_client.cli.json_input import loads
from esweb_client.cli.launch import add_config, parse_seeds, parse_value, run_request
from esweb_client.cli.output import number, plain, print_json, print_table
from esweb_client.cli.server import Server

VERBS = ("show", "pause", "resume", "extend", "cancel", "uncancel")


def add_sweep(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `sweep`."""
    add_config(command)
    _add_values(command)
    command.add_argument("--at-once", type=int, help="maximum number of concurrent runs (4)")
    command.add_argument("--plan", action="store_true", help="print the plan and its estimate without launching")
    command.set_defaults(run=sweep)


def add_sweeps(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `sweeps`."""
    command.add_argument("sweep_id", type=int, metavar="SWEEP", help="number of the sweep")
    command.add_argument("verb", nargs="?", choices=VERBS, default="show", help="action (show)")
    _add_values(command)
    command.add_argument("--at-once", type=int, help="extend: new maximum number of concurrent runs")
    command.set_defaults(run=sweeps)


def sweep(options: argparse.Namespace) -> int:
    """Launch the sweep and print its number and page; with --plan only print the plan."""
    body = {**run_request(options), **_values(options)}
    server = Server(account())
    if options.plan:
        return _print_plan(server.post("sweeps/plan", body), as_json=options.json)
    created = server.post("sweeps", body)
    if options.json:
        print_json(created)
    else:
        print(
            f"{created['id']}  {created['runs']} runs  {plain(created['name'])}  {server.account.url}{created['url']}",
            flush=True,
        )
    return 0


def sweeps(options: argparse.Namespace) -> int:
    """Do the requested action, and print the sweep's status."""
    values = _values(options)
    if values and options.verb != "extend":
        raise Failure(
            BAD_INPUT, f"--{next(iter(values)).replace('_', '-')} can only be used with extend, not with {options.verb}"
        )
    server = Server(account())
    if options.verb != "show":
        server.post(f"sweeps/{options.sweep_id}/{options.verb}", values)
    status = server.get(f"sweeps/{options.sweep_id}")
    if options.json:
        print_json(status)
    else:
        _print_status(status)
    return 0


def _add_values(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--grid", action="append", default=[], metavar="KEY=V1,V2",
        help="a key and its values, such as es.sigma=0.01,0.03; repeat it for all combinations",
    )  # fmt: skip
    command.add_argument("--cells", metavar="FILE", help="instead of --grid: a JSON list of objects, key to value")
    command.add_argument("--seeds", metavar="LIST", help="run each cell once per seed, such as 0-4 or 1,3,5")


def _values(options: argparse.Namespace) -> dict[str, Any]:
    """Return the given ones of grid, cells, seeds and at_once."""
    values: dict[str, Any] = {}
    if options.grid:
        values["grid"] = _grid(options.grid)
    if options.cells:
        values["cells"] = _cells(options.cells)
    if options.seeds is not None:
        values["seeds"] = parse_seeds(options.seeds)
    if options.at_once is not None:
        values["at_once"] = options.at_once
    return values


def _grid(settings: Sequence[str]) -> dict[str, list[Any]]:
    grid: dict[str, list[Any]] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or not key or not text:
            raise Failure(BAD_INPUT, f"--grid must be KEY=V1,V2, such as es.sigma=0.01,0.03, not {setting!r}")
        whole = parse_value(text)
        grid.setdefault(key, []).extend(whole if isinstance(whole, list) else map(parse_value, text.split(",")))
    return grid


def _cells(file: str) -> list[Any]:
    try:
        cells = loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(BAD_INPUT, f"--cells {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Failure(BAD_INPUT, f"--cells {file} is not JSON: {error}") from error
    if not isinstance(cells, list):
        raise Failure(BAD_INPUT, f'--cells {file} must contain a list such as [{{"es.sigma": 0.01}}]')
    return cells


def _print_plan(plan: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        print_json(plan)
        return 0
    estimated = plan["runs"] - plan["unknown"]
    print(f"{plan['runs']} runs; {estimated} of them estimated, total {_hours(plan['estimated'])}")
    for run in plan["first"]:
        print(f"  {plain(_cell(run['cell']))} seed={run['seed']}")
    return 0


def _print_status(status: dict[str, Any]) -> None:
    states = ", ".join(f"{n} {state}" for state, n in status["states"].items())
    print(
        f"{status['id']}  {status['state']}  {status['ended']} of {status['runs']} finished ({states})  "
        f"{plain(status['name'])}"
    )
    print(f"concurrent {status['at_once']}; used {_hours(status['spent'])}; estimated {_hours(status['estimated'])}")
    rows = [
        [_cell(row["cell"]), *(number(row[name]) for name in ("mean", "low", "high")), row["n"]]
        for row in status["table"]
    ]
    print_table(("cell", "reward", "low", "high", "n"), rows)


def _cell(cell: dict[str, Any]) -> str:
    return " ".join(f"{key}={json.dumps(value)}" for key, value in cell.items())


def _hours(cost: dict[str, float]) -> str:
    parts = [f"{number(cost[kind])} {kind.upper()}-hours" for kind in ("gpu", "cpu") if cost[kind]]
    return " + ".join(parts) or "0 hours"
