"""`esweb clone RUN`: launch a run again, with another seed or other settings."""

from __future__ import annotations

import argparse
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import NOT_FOUND, Failure
from esweb_client.cli.launch import set_values
from esweb_client.cli.output import plain, print_json
from esweb_client.cli.server import Server
from esweb_client.cli.watch import watch_one


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("uid", metavar="RUN", help="uid of the run to clone")
    command.add_argument("--seed", type=int, help="seed of the new run")
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, such as es.sigma=0.01; repeatable"
    )
    command.add_argument("--name", default="", help="name of the new run")
    command.add_argument(
        "--experiment", metavar="NAME|ID", help="id or name of your experiment (that of the cloned run)"
    )
    command.add_argument("--watch", action="store_true", help="follow the new run until it finishes")
    command.set_defaults(run=clone)


def clone(options: argparse.Namespace) -> int:
    """Launch the new run, and print its uid and page."""
    server = Server(account())
    config: dict[str, Any] = {}
    set_values(config, options.set)
    body: dict[str, Any] = {"name": options.name, "config": config}
    if options.seed is not None:
        body["seed"] = options.seed
    if options.experiment is not None:
        body["experiment"] = _experiment_id(server, options.experiment)
    run = server.post(f"runs/{options.uid}/clone", body)
    if options.json:
        print_json(run)
    else:
        print(f"{run['uid']}  {plain(run['name'])}  {server.account.url}{run['url']}", flush=True)
    return watch_one(server, run["uid"], as_json=options.json) if options.watch else 0


def _experiment_id(server: Server, text: str) -> int:
    """Return the id of the caller's experiment with this name, or the id that the text is. Raise Failure."""
    if text.isdecimal():
        return int(text)
    username = server.get("me")["username"]
    for experiment in server.pages("experiments", {"q": text}):
        if (experiment["name"], experiment["owner"]) == (text, username):
            return int(experiment["id"])
    raise Failure(NOT_FOUND, f"you have no experiment {text!r}: `esweb ls experiments` lists them")
