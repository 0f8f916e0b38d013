"""`esweb export RUN…`: every point of the curves, or every answer, as CSV or as a JSON object a line."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from esweb.cli.account import account
from esweb.cli.errors import BAD_INPUT, Failure
from esweb.cli.server import Server
from workers.csv_cells import fields_text, inert

AXES = ("step", "wall", "relative", "tokens", "samples", "gpu_seconds")
HIDDEN = "axes/"
"""Keys that are x axes, not curves."""
KEYS_A_CALL = 50
MEASURED = "measured"
"""The column that says how a held-out value was measured; empty for values of training."""
Row = dict[str, Any]
Write = Callable[[Row], None]


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `esweb export` to the command, and set `export` as the function that runs it."""
    command.add_argument("run_uids", nargs="+", metavar="RUN", help="uid of a run")
    command.add_argument("--what", choices=["series", "responses"], default="series", help="what to write (series)")
    command.add_argument("--format", choices=["csv", "jsonl"], help="how (csv; with --json, jsonl)")
    command.add_argument("--key", action="append", metavar="KEY", help="only this curve, such as kl; may be repeated")
    command.add_argument("--x", choices=AXES, default="step", help="what the curves run along (step)")
    command.add_argument("--split", help="only answers of this split: train or eval")
    command.add_argument("--step", type=int, help="only answers at this step")
    command.add_argument("--out", default="-", metavar="FILE", help="where to; - is standard output (-)")
    command.set_defaults(run=export)


def export(asked: argparse.Namespace) -> int:
    """Writes row after row, as they come: a run of any size takes little memory."""
    rows = _answers(asked) if asked.what == "responses" else _points(asked)
    # The first row is asked for before the file is made: who may not read leaves none behind.
    first = next(rows, None)
    with _opened(asked.out) as stream:
        if first is not None:
            write = _writer(asked.format or ("jsonl" if asked.json else "csv"), stream, first)
            write(first)
            for row in rows:
                write(row)
    return 0


def _points(asked: argparse.Namespace) -> Iterator[Row]:
    server = Server(account())
    for key in asked.key or ():
        # The server refuses a key that none of the runs has.
        server.get("series", {"run": asked.run_uids, "key": key, "px": 1})
    for uid in asked.run_uids:
        there = server.get(f"runs/{uid}")["latest"]
        keys = [key for key in asked.key or there if key in there and (asked.key or not key.startswith(HIDDEN))]
        for first in range(0, len(keys), KEYS_A_CALL):
            part = keys[first : first + KEYS_A_CALL]
            for curve in server.get("series", {"run": [uid], "key": part, "x": asked.x})["curves"]:
                for x, y, overwritten in zip(curve["x"], curve["y"], curve["overwritten"], strict=True):
                    yield {
                        "run": uid,
                        "key": curve["key"],
                        asked.x: _counted(x),
                        "value": y,
                        "overwritten": overwritten,
                        MEASURED: curve["measured"],
                    }


def _counted(x: float) -> float:
    """Steps and counters as the whole numbers that they are."""
    return int(x) if x.is_integer() else x


def _answers(asked: argparse.Namespace) -> Iterator[Row]:
    server, lacking = Server(account()), list[Failure]()
    for uid in asked.run_uids:
        try:
            yield from _answers_of(server, uid, asked)
        except Failure as failure:
            if failure.code != BAD_INPUT:
                raise
            lacking.append(failure)
            problems = "; ".join(message for _, message in failure.problems)
            print(f"esweb: {uid} is left out: {problems or failure.words}", file=sys.stderr)
    if len(lacking) == len(asked.run_uids):
        raise lacking[-1]


def _answers_of(server: Server, uid: str, asked: argparse.Namespace) -> Iterator[Row]:
    for answer in server.pages(f"runs/{uid}/responses", {"split": asked.split, "step": asked.step}):
        prompt = answer.pop("prompt")
        asks = {"prompt_name": prompt["name"], "prompt": prompt["text"], "target": prompt["target"]}
        yield {"run": uid, **asks, **answer}


def _writer(how: str, stream: TextIO, first: Row) -> Write:
    if how == "jsonl":
        return lambda row: print(json.dumps(row, ensure_ascii=False), file=stream)
    table = csv.DictWriter(stream, list(first))
    table.writeheader()
    return lambda row: table.writerow({name: _cell(name, value) for name, value in row.items()})


def _cell(name: str, value: Any) -> Any:
    """Return the value as a cell: what people and models wrote is no formula."""
    if name == MEASURED and isinstance(value, dict):
        return inert(fields_text(value))
    return json.dumps(value) if isinstance(value, dict | bool) else inert(value)


@contextlib.contextmanager
def _opened(out: str) -> Iterator[TextIO]:
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
