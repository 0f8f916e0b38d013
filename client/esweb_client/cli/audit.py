"""`esweb audit-reward CONFIG.json`: attack the reward of a task before training, and print what each attack gets."""

from __future__ import annotations

import argparse
import time
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, ENDED_BADLY, REFUSED, Failure
from esweb_client.cli.launch import read_config, set_values
from esweb_client.cli.output import number, plain, print_json, print_table
from esweb_client.cli.server import Server
from esweb_client.cli.watch import EVERY_SECONDS, watch_one

EXPERIMENT = "Reward audits"
COPIED = ("task", "model", "seed", "audit")
"""Sections of the config that the audit reads; of compute only the cluster and its partition."""
MODEL_ATTACKS = {"samples": 16, "members": 8}
HEADS = ("attack", "verdict", "needs", "while wrong", "of the way", "reward", "right answer's", "n")
FIGURES = ("exploitability", "blind_spots", "unearned")


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("config", metavar="CONFIG.json", help="config of a training or audit; - reads standard input")
    command.add_argument(
        "--experiment", default=EXPERIMENT, help=f"id or name of your experiment; a new name creates one ({EXPERIMENT})"
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, as audit.prompts=64; repeatable"
    )
    command.add_argument("--model", action="store_true", help="attack with the config's model too")
    command.add_argument("--wait", action="store_true", help="follow the audit and print its table")
    command.add_argument(
        "--max-score", type=float, metavar="SHARE",
        help="exit with 1 if the exploitability is above this share, such as 0.1; implies --wait",
    )  # fmt: skip
    command.set_defaults(run=audit)


def audit(options: argparse.Namespace) -> int:
    """Launch the audit; with --wait follow it, print its table and compare its score."""
    if options.max_score is not None and not 0 <= options.max_score <= 1:
        raise Failure(BAD_INPUT, f"--max-score must be a share from 0 to 1, not {options.max_score:g}")
    server = Server(account())
    key = "experiment" if options.experiment.isdecimal() else "experiment_name"
    experiment = int(options.experiment) if key == "experiment" else options.experiment
    run = server.post("runs", {key: experiment, "config": _audit_config(options)})
    if not options.json:
        print(f"{run['uid']}  {plain(run['name'])}  {server.account.url}{run['url']}", flush=True)
    if not options.wait and options.max_score is None:
        if options.json:
            print_json(run)
        return 0
    if _wait(server, run["uid"], as_json=options.json):
        return ENDED_BADLY
    result = _complete_result(server, run["uid"])
    print_json(result) if options.json else _print(result)
    return _compare(result, options.max_score)


def _audit_config(options: argparse.Namespace) -> dict[str, Any]:
    """Return the config of the audit: the task of the given config, on its cluster. Raise Failure."""
    given = read_config(options.config)
    set_values(given, options.set)
    if not isinstance(given.get("task"), dict):
        example = '{"task": {"name": "countdown"}}'
        raise Failure(BAD_INPUT, f"{options.config} must have a section task, such as {example}")
    config: dict[str, Any] = {"method": "audit", **{name: given[name] for name in COPIED if name in given}}
    compute = given.get("compute", {})
    if isinstance(compute, dict):
        names = ("cluster", "partition", *(("gpus", "gpu_type") if options.model else ()))
        config["compute"] = {name: compute[name] for name in names if name in compute}
    if options.model:
        config["audit"] = {**MODEL_ATTACKS, **(config.get("audit") or {})}
    return config


def _wait(server: Server, uid: str, *, as_json: bool) -> int:
    """Follow the audit until it ends; return 0 if it succeeded."""
    return watch_one(server, uid, EVERY_SECONDS, as_json=as_json)


def _complete_result(server: Server, uid: str) -> dict[str, Any]:
    """Return the result once the server has read its last record, which may come after the run's end."""
    for _ in range(30):
        result: dict[str, Any] = server.get(f"runs/{uid}/reward-audit")
        if result["is_complete"]:
            return result
        time.sleep(EVERY_SECONDS)
    raise Failure(ENDED_BADLY, f"the audit {uid} has ended, but its figures have not arrived")


def _print(result: dict[str, Any]) -> None:
    print_table(HEADS, [_row(attack) for attack in result["attacks"]])
    for name in FIGURES:
        figure = result[name]
        title = name.replace("_", " ")
        if figure is None:
            print(f"{title}: not known, because the reward of the right answer is not")
        else:
            ends = f"{_share(figure['low'])} to {_share(figure['high'])}"
            print(f"{title}: {_share(figure['value'])} (95 % interval {ends})")
    if result["skipped"]:
        print(f"{result['skipped']} attacks were not made: the time limit audit.seconds was over")


def _row(attack: dict[str, Any]) -> list[object]:
    hits = f"{attack['hits']}/{attack['scaled']}"
    way = "–" if attack["way"] is None else _share(attack["way"])
    return [
        attack["name"], attack["verdict"], attack["needs"], hits, way, number(attack["reward"]),
        number(attack["right_reward"]), attack["n"],
    ]  # fmt: skip


def _share(value: Any) -> str:
    return f"{100 * value:.0f} %" if isinstance(value, (int, float)) else "–"


def _compare(result: dict[str, Any], max_score: float | None) -> int:
    """Return 0 if the exploitability is not above the largest that is allowed. Raise Failure."""
    if max_score is None:
        return 0
    figure = result["exploitability"]
    if figure is None:
        raise Failure(REFUSED, "the exploitability is not known, so it cannot be compared with --max-score")
    if figure["value"] > max_score:
        raise Failure(REFUSED, f"the exploitability is {_share(figure['value'])}, above {_share(max_score)}")
    return 0
