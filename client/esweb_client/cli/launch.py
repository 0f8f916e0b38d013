"""`esweb launch`, `cancel`, `resume`, `hold` and `release`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, Failure
from esweb_client.cli.json_input import loads
from esweb_client.cli.output import plain, print_json
from esweb_client.cli.server import Server
from esweb_client.cli.watch import watch_one


def add_config(command: argparse.ArgumentParser) -> None:
    """Add the arguments that a run and a sweep have in common."""
    command.add_argument("experiment", help="id or name of your experiment; a new name creates one")
    command.add_argument("--preset", default="", help="config to start from (`esweb ls presets`)")
    command.add_argument("--config", metavar="FILE", help="JSON that overrides the preset; - reads standard input")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one setting, such as es.sigma=0.01; repeatable",
    )
    command.add_argument("--cluster", metavar="NAME", help="cluster to run on, such as local (compute.cluster)")
    command.add_argument("--name", default="", help="name of the run or sweep")


def add_launch(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `launch`."""
    add_config(command)
    seeds = command.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, help="seed of the run")
    seeds.add_argument("--seeds", metavar="LIST", help="launch one run per seed, such as 0-4 or 1,3,5")
    command.add_argument("--watch", action="store_true", help="follow the run until it finishes (one run)")
    command.set_defaults(run=launch)


def add_runs(command: argparse.ArgumentParser, action: str) -> None:
    """Add the arguments of `cancel`, `resume`, `hold` and `release`."""
    command.add_argument("run_uids", nargs="+", metavar="RUN", help="uid of a run")
    command.set_defaults(run=lambda options: change(options, action))


def launch(options: argparse.Namespace) -> int:
    """Launch a run, or one for each seed; print their uids and pages."""
    body = _body(options)
    server = Server(account())
    created = server.post("runs", body)
    runs = created.get("items", [created])
    if options.json:
        print_json(created)
    else:
        for run in runs:
            print(f"{run['uid']}  {plain(run['name'])}  {server.account.url}{run['url']}", flush=True)
    return watch_one(server, runs[0]["uid"], as_json=options.json) if options.watch else 0


def change(options: argparse.Namespace, action: str) -> int:
    """Cancel, resume, hold or release each run; stop at the first that refuses."""
    server = Server(account())
    for uid in options.run_uids:
        run = server.post(f"runs/{uid}/{action}")
        if options.json:
            print_json(run)
        else:
            print(f"{uid}  {action} requested; the run is {run['state']}", flush=True)
    return 0


def run_request(options: argparse.Namespace) -> dict[str, Any]:
    """Return experiment, preset, name and config, as the API takes them. Raise Failure."""
    key = "experiment" if options.experiment.isdecimal() else "experiment_name"
    experiment = {key: int(options.experiment) if key == "experiment" else options.experiment}
    config = read_config(options.config) if options.config else {}
    set_values(config, options.set)
    if options.cluster:
        config["compute"] = {**_section(config, "compute"), "cluster": options.cluster}
    return {**experiment, "preset": options.preset, "name": options.name, "config": config}


def _body(options: argparse.Namespace) -> dict[str, Any]:
    body = run_request(options)
    if options.seed is not None:
        body["seed"] = options.seed
    if options.seeds is not None:
        body["seeds"] = parse_seeds(options.seeds)
    if options.watch and len(body.get("seeds", [0])) > 1:
        raise Failure(BAD_INPUT, "--watch follows only one run: launch the seeds, then use `esweb watch RUN`")
    return body


def set_values(config: dict[str, Any], settings: Sequence[str]) -> None:
    """Change the config by each --set KEY=VALUE. Raise Failure."""
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign or not key:
            raise Failure(BAD_INPUT, f"--set must be KEY=VALUE, such as es.sigma=0.01, not {setting!r}")
        *sections, name = key.split(".")
        target = config
        for section in sections:
            target = target.setdefault(section, {})
            if not isinstance(target, dict):
                raise Failure(BAD_INPUT, f"--set {key}: {section} is a value, not a section")
        target[name] = parse_value(value)


def _section(config: dict[str, Any], name: str) -> dict[str, Any]:
    section = config.get(name, {})
    if not isinstance(section, dict):
        raise Failure(BAD_INPUT, f"{name} must be a section of the config, not {section!r}")
    return section


def read_config(file: str) -> dict[str, Any]:
    """Return the JSON object in a file, or of standard input for -. Raise Failure."""
    try:
        config = loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(BAD_INPUT, f"--config {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Failure(BAD_INPUT, f"--config {file} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise Failure(BAD_INPUT, f"--config {file} must contain a JSON object, as run.json does")
    return config


def parse_value(text: str) -> Any:
    """Parse JSON, or return the text itself if it is none: --set es.noise=full needs no quotes."""
    try:
        return loads(text)
    except ValueError:
        return text


def parse_seeds(text: str) -> list[int]:
    """Parse 1,3,5 or 0-4, or both. Raise Failure."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise Failure(BAD_INPUT, f"--seeds must be numbers and ranges, such as 0-4 or 1,3,5, not {text!r}")
        if int(last or first) - int(first) > 100:
            raise Failure(BAD_INPUT, "--seeds can name at most 100 seeds")
        seeds += range(int(first), int(last or first) + 1)
    return seeds
