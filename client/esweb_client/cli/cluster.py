"""`esweb cluster ls` lists the clusters; `esweb cluster test NAME` tests one with a small job, step by step."""

from __future__ import annotations

import argparse
import time
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import AWAY, BAD_INPUT, ENDED_BADLY, Failure, print_failure
from esweb_client.cli.output import plain, print_json, print_table
from esweb_client.cli.server import Server
from esweb_client.cli.watch import EVERY_SECONDS


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("verb", choices=["ls", "test"], help="action")
    command.add_argument("name", nargs="?", metavar="NAME", help="test: name of the cluster")
    command.add_argument(
        "--every", type=float, default=EVERY_SECONDS, metavar="SECONDS", help="seconds between updates (2)"
    )
    command.set_defaults(run=cluster)


def cluster(options: argparse.Namespace) -> int:
    """List the clusters or test one."""
    if (options.verb == "test") != (options.name is not None):
        raise Failure(BAD_INPUT, "`esweb cluster test` needs the NAME of a cluster, and `esweb cluster ls` takes none")
    server = Server(account())
    return _test(server, options) if options.verb == "test" else _list(server, as_json=options.json)


def _list(server: Server, *, as_json: bool) -> int:
    items = server.get("clusters")["items"]
    if as_json:
        print_json(items)
    else:
        print_table(("name", "kind", "state", "nodes"), [_row(item) for item in items])
    return 0


def _row(item: dict[str, Any]) -> list[str]:
    state = "not checked yet"
    if item["unreachable_since_at"]:
        state = f"unreachable since {_minute(item['unreachable_since_at'])}"
    elif item["answered_at"]:
        state = f"replied {_minute(item['answered_at'])}"
    nodes = []
    for shape in item["nodes"]:
        gpus = f", {shape['gpus']} {shape['gpu_type'] or 'GPU'}" if shape["gpus"] else ""
        # A site of an older version sends no shards.
        shards = f" in {count} shards" if (count := shape.get("gpu_shards")) else ""
        nodes.append(f"{shape['count']} × {shape['cores']} cores{gpus}{shards}")
    return [item["name"], item["kind"], state, "; ".join(nodes)]


def _test(server: Server, options: argparse.Namespace) -> int:
    """Print each step with its result as it ends; return 0 if all passed. A server that goes away is waited for."""
    test = server.post(f"clusters/{options.name}/test")
    printed = 0
    while True:
        ended = [step for step in test["steps"] if step["state"] in ("done", "failed")]
        if not options.json:
            for step in ended[printed:]:
                print(f"{step['state']:<6}  {plain(step['name'])}  {plain(step['message'])}", flush=True)
        printed = len(ended)
        if test["state"] != "going":
            break
        time.sleep(max(options.every, 0.1))
        test = _newest_test(server, options) or test
    if options.json:
        print_json(test)
    else:
        print(f"{options.name}  {test['state']}")
    return 0 if test["state"] == "passed" else ENDED_BADLY


def _newest_test(server: Server, options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the newest test; None while the server does not respond."""
    try:
        test: dict[str, Any] = server.get(f"clusters/{options.name}/test")
    except Failure as failure:
        if failure.code != AWAY:
            raise
        print_failure(failure, as_json=options.json)
        return None
    return test


def _minute(time_text: str) -> str:
    return time_text[:16].replace("T", " ")
