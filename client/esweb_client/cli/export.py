"""`esweb export RUN…`: every point of the curves, or every answer, as CSV or as a JSON object a line; or whole runs,
as a zip of their folders that another esweb imports."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from esweb_client.cli import archive
from esweb_client.cli.account import account
from esweb_client.cli.csv_cells import fields_text, inert
from esweb_client.cli.errors import BAD_INPUT, Failure
from esweb_client.cli.server import Server

AXES = ("step", "wall", "relative", "tokens", "samples", "gpu_seconds")
HIDDEN = "axes/"
"""Keys that are x axes, not curves."""
KEYS_A_CALL = 50
MEASURED = "measured"
"""The column with the way in which a held-out value was measured; empty for values of training."""
Row = dict[str, Any]
Write = Callable[[Row], None]


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `esweb export` to the command, and set `export` as the function that runs it."""
    command.add_argument("run_uids", nargs="*", metavar="RUN", help="uid of a run")
    command.add_argument(
        "--what", choices=["series", "responses", "folder"], default="series",
        help="data to export (series); folder: the whole run as a zip, for another esweb",
    )  # fmt: skip
    command.add_argument("--experiment", type=int, metavar="ID", help="export a whole experiment as a zip")
    command.add_argument("--checkpoints", action="store_true", help="with checkpoints, in a zip")
    command.add_argument("--no-logs", action="store_true", help="without log.txt and replay.jsonl, in a zip")
    command.add_argument("--format", choices=["csv", "jsonl"], help="output format (csv; with --json, jsonl)")
    command.add_argument("--key", action="append", metavar="KEY", help="export only this curve, such as kl; repeatable")
    command.add_argument("--x", choices=AXES, default="step", help="x axis of the curves (step)")
    command.add_argument("--split", help="export only responses of this split: train or eval")
    command.add_argument("--step", type=int, help="export only responses at this step")
    command.add_argument("--out", default="-", metavar="FILE", help="output file; - is standard output (-)")
    command.set_defaults(run=export)


def export(options: argparse.Namespace) -> int:
    """Write row after row as they arrive: a run of any size takes little memory."""
    if options.what == "folder" or options.experiment is not None:
        return archive.export_archives(options)
    if not options.run_uids:
        raise Failure(BAD_INPUT, "name at least one RUN, or --experiment ID")
    rows = _answers(options) if options.what == "responses" else _points(options)
    # The first row is fetched before the file is created, so that a caller without the right leaves no file.
    first = next(rows, None)
    with _open_output(options.out) as stream:
        if first is not None:
            write = _writer(options.format or ("jsonl" if options.json else "csv"), stream, first)
            write(first)
            for row in rows:
                write(row)
    return 0


def _points(options: argparse.Namespace) -> Iterator[Row]:
    server = Server(account())
    for key in options.key or ():
        # The server refuses a key that none of the runs has.
        server.get("series", {"run": options.run_uids, "key": key, "px": 1})
    for uid in options.run_uids:
        latest = server.get(f"runs/{uid}")["latest"]
        keys = [key for key in options.key or latest if key in latest and (options.key or not key.startswith(HIDDEN))]
        for first in range(0, len(keys), KEYS_A_CALL):
            part = keys[first : first + KEYS_A_CALL]
            for curve in server.get("series", {"run": [uid], "key": part, "x": options.x})["curves"]:
                for x, y, overwritten in zip(curve["x"], curve["y"], curve["overwritten"]):
                    yield {
                        "run": uid,
                        "key": curve["key"],
                        options.x: _whole_number(x),
                        "value": y,
                        "overwritten": overwritten,
                        MEASURED: curve["measured"],
                    }


def _whole_number(x: float) -> float:
    """Return steps and counters as the whole numbers that they are."""
    return int(x) if x.is_integer() else x


def _answers(options: argparse.Namespace) -> Iterator[Row]:
    server, failures = Server(account()), list[Failure]()
    for uid in options.run_uids:
        try:
            yield from _answers_of(server, uid, options)
        except Failure as failure:
            if failure.code != BAD_INPUT:
                raise
            failures.append(failure)
            problems = "; ".join(message for _, message in failure.problems)
            print(f"esweb: {uid} is skipped: {problems or failure.message}", file=sys.stderr)
    if len(failures) == len(options.run_uids):
        raise failures[-1]


def _answers_of(server: Server, uid: str, options: argparse.Namespace) -> Iterator[Row]:
    for answer in server.pages(f"runs/{uid}/responses", {"split": options.split, "step": options.step}):
        prompt = answer.pop("prompt")
        prompt_fields = {"prompt_name": prompt["name"], "prompt": prompt["text"], "target": prompt["target"]}
        yield {"run": uid, **prompt_fields, **answer}


def _writer(file_format: str, stream: TextIO, first: Row) -> Write:
    if file_format == "jsonl":
        return lambda row: print(json.dumps(row, ensure_ascii=False), file=stream)
    table = csv.DictWriter(stream, list(first))
    table.writeheader()
    return lambda row: table.writerow({name: _cell(name, value) for name, value in row.items()})


def _cell(name: str, value: Any) -> Any:
    """Return the value as a cell: text of users and models is no formula."""
    if name == MEASURED and isinstance(value, dict):
        return inert(fields_text(value))
    return json.dumps(value) if isinstance(value, (dict, bool)) else inert(value)


@contextlib.contextmanager
def _open_output(out: str) -> Iterator[TextIO]:
    if out == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        stream = Path(out).open("w", encoding="utf-8", newline="")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise Failure(BAD_INPUT, f"--out {out} cannot be written: {error.strerror}") from error
    with stream:
        yield stream
