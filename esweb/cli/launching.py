"""`esweb launch`, `cancel`, `resume`, `hold` and `release`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from esweb.cli.account import account
from esweb.cli.errors import BAD_INPUT, Failure
from esweb.cli.printing import plain, print_json
from esweb.cli.server import Server
from esweb.cli.watching import watch_one
from workers.config.shallow_json import loads


def add_config(command: argparse.ArgumentParser) -> None:
    """The arguments that a run and a sweep have in common."""
    command.add_argument("experiment", help="its id, or its name: yours, made where it is new")
    command.add_argument("--preset", default="", help="config to start from (`esweb ls presets`)")
    command.add_argument("--config", metavar="FILE", help="JSON laid over the preset; - reads standard input")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one knob, such as es.sigma=0.01; may be repeated",
    )
    command.add_argument("--cluster", metavar="NAME", help="where it runs, such as local (compute.cluster)")
    command.add_argument("--name", default="", help="what to call it")


def add_launch(command: argparse.ArgumentParser) -> None:
    """The arguments of `launch`."""
    add_config(command)
    seeds = command.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, help="of the run")
    seeds.add_argument("--seeds", metavar="LIST", help="one run for each, such as 0-4 or 1,3,5")
    command.add_argument("--watch", action="store_true", help="follow the run to its end (one run)")
    command.set_defaults(run=launch)


def add_runs(command: argparse.ArgumentParser, what: str) -> None:
    """The arguments of `cancel`, `resume`, `hold` and `release`."""
    command.add_argument("run_uids", nargs="+", metavar="RUN", help="uid of a run")
    command.set_defaults(run=lambda asked: change(asked, what))


def launch(asked: argparse.Namespace) -> int:
    """Launches a run, or one for each seed; prints their uids and pages."""
    body = _body(asked)
    server = Server(account())
    made = server.post("runs", body)
    runs = made.get("items", [made])
    if asked.json:
        print_json(made)
    else:
        for run in runs:
            print(f"{run['uid']}  {plain(run['name'])}  {server.account.url}{run['url']}", flush=True)
    return watch_one(server, runs[0]["uid"], as_json=asked.json) if asked.watch else 0


def change(asked: argparse.Namespace, what: str) -> int:
    """Cancels, resumes, holds or releases each run; stops at the first that refuses."""
    server = Server(account())
    for uid in asked.run_uids:
        run = server.post(f"runs/{uid}/{what}")
        if asked.json:
            print_json(run)
        else:
            print(f"{uid}  {what}: asked for; the run is {run['state']}", flush=True)
    return 0


def what(asked: argparse.Namespace) -> dict[str, Any]:
    """Experiment, preset, name and config, as the API takes them. Raises Failure."""
    where = "experiment" if asked.experiment.isdecimal() else "experiment_name"
    place = {where: int(asked.experiment) if where == "experiment" else asked.experiment}
    return {**place, "preset": asked.preset, "name": asked.name, "config": _config(asked)}


def _body(asked: argparse.Namespace) -> dict[str, Any]:
    body = what(asked)
    if asked.seed is not None:
        body["seed"] = asked.seed
    if asked.seeds is not None:
        body["seeds"] = seeds_of(asked.seeds)
    if asked.watch and len(body.get("seeds", [0])) > 1:
        raise Failure(BAD_INPUT, "--watch follows one run: launch the seeds, then `esweb watch RUN`")
    return body


def _config(asked: argparse.Namespace) -> dict[str, Any]:
    config = _read(asked.config) if asked.config else {}
    for setting in asked.set:
        key, sign, value = setting.partition("=")
        if not sign or not key:
            raise Failure(BAD_INPUT, f"--set takes KEY=VALUE, such as es.sigma=0.01, not {setting!r}")
        *sections, name = key.split(".")
        place = config
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise Failure(BAD_INPUT, f"--set {key}: {section} is a value there, not a section")
        place[name] = value_of(value)
    if asked.cluster:
        config["compute"] = {**_section(config, "compute"), "cluster": asked.cluster}
    return config


def _section(config: dict[str, Any], name: str) -> dict[str, Any]:
    section = config.get(name, {})
    if not isinstance(section, dict):
        raise Failure(BAD_INPUT, f"{name} must be a section of the config, not {section!r}")
    return section


def _read(file: str) -> dict[str, Any]:
    try:
        config = loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(BAD_INPUT, f"--config {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Failure(BAD_INPUT, f"--config {file} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise Failure(BAD_INPUT, f"--config {file} must hold an object, as run.json does")
    return config


def value_of(text: str) -> Any:
    """JSON where it is that, else the text itself: --set es.noise=full needs no quotes."""
    try:
        return loads(text)
    except ValueError:
        return text


def seeds_of(text: str) -> list[int]:
    """1,3,5 or 0-4, or both. Raises Failure."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise Failure(BAD_INPUT, f"--seeds takes numbers and ranges, such as 0-4 or 1,3,5, not {text!r}")
        if int(last or first) - int(first) > 100:
            raise Failure(BAD_INPUT, "--seeds: at most 100 at once")
        seeds += range(int(first), int(last or first) + 1)
    return seeds
