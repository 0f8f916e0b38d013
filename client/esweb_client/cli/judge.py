"""`esweb judge`: list tournaments and judges, start a judge and control it, and print leaderboards."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import BAD_INPUT, NOT_FOUND, Failure
from esweb_client.cli.output import number, plain, print_json, print_table
from esweb_client.cli.server import Server

CHANGES = {"pause": "pause", "resume": "go-on", "cancel": "cancel"}
"""Verbs that change an assignment, and how the API calls them."""
TOURNAMENTS = ("id", "state", "owner", "created_at", "name", "question")
JUDGES = ("id", "name", "kind", "model", "owner", "price_in", "price_out", "in_boards")
ASSIGNMENTS = ("id", "judge_name", "state", "done", "planned", "left", "refused", "failed", "unparsed", "spent", "cap")


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("verb", choices=list(VERBS), help="action")
    command.add_argument(
        "number", nargs="?", type=int, metavar="ID",
        help="number of the tournament; for pause, resume and cancel that of the judge's assignment",
    )  # fmt: skip
    command.add_argument("--judge", metavar="NAME|ID", help="start: the judge")
    command.add_argument(
        "--criterion", action="append", default=[], metavar="NAME",
        help="start: judge by this criterion (all), repeatable; board: the leaderboard's criterion (the first)",
    )  # fmt: skip
    command.add_argument("--cap", metavar="AMOUNT", help="start: maximum cost; without it, only estimate the cost")
    command.add_argument("--limit", type=int, default=50, help="ls, judges: maximum number of rows, newest first (50)")
    command.set_defaults(run=judge)


def judge(options: argparse.Namespace) -> int:
    """Do what the verb says, and print the result."""
    is_list = options.verb in ("ls", "judges")
    if is_list == (options.number is not None):
        raise Failure(BAD_INPUT, f"`esweb judge {options.verb}` takes {'no' if is_list else 'an'} ID")
    if options.verb != "start" and (options.judge is not None or options.cap is not None):
        raise Failure(BAD_INPUT, f"--judge and --cap can only be used with start, not with {options.verb}")
    VERBS[options.verb](Server(account()), options)
    return 0


def _list_tournaments(server: Server, options: argparse.Namespace) -> None:
    _print_rows(TOURNAMENTS, list(server.pages("tournaments", {}, options.limit)), as_json=options.json)


def _list_judges(server: Server, options: argparse.Namespace) -> None:
    _print_rows(JUDGES, list(server.pages("judges", {}, options.limit)), as_json=options.json)


def _show(server: Server, options: argparse.Namespace) -> None:
    tournament = server.get(f"tournaments/{options.number}")
    if options.json:
        print_json(tournament)
        return
    print(f"{tournament['id']}  {tournament['state']}  {plain(tournament['name'])}")
    criteria = ", ".join(criterion["name"] for criterion in tournament["criteria"])
    contestants = ", ".join(contestant["name"] for contestant in tournament["contestants"])
    print(f"criteria: {plain(criteria)}; contestants: {plain(contestants)}")
    print(f"{tournament['judged']} of {tournament['pairs']} pairs judged; {tournament['verdicts']} verdicts")
    _print_rows(ASSIGNMENTS, tournament["assignments"], as_json=False)


def _start(server: Server, options: argparse.Namespace) -> None:
    """Start a judge; without --cap only print what it would cost."""
    if options.judge is None:
        raise Failure(BAD_INPUT, "`esweb judge start` needs --judge NAME or ID: `esweb judge judges` lists them")
    body = {"judge": _judge_id(server, options.judge), "criteria": options.criterion}
    if options.cap is not None:
        body["cap"] = options.cap
    result = server.post(f"tournaments/{options.number}/assignments", body)
    if options.json:
        print_json(result)
    elif options.cap is None:
        print(f"{result['calls']} questions; likely cost {result['likely']}, at most {result['at_most']}")
        print("No question was sent: start the judge with --cap AMOUNT")
    else:
        _print_rows(ASSIGNMENTS, [result], as_json=False)


def _change(server: Server, options: argparse.Namespace) -> None:
    result = server.patch(f"assignments/{options.number}", {"do": CHANGES[options.verb]})
    if options.json:
        print_json(result)
    else:
        _print_rows(ASSIGNMENTS, [result], as_json=False)


def _board(server: Server, options: argparse.Namespace) -> None:
    if len(options.criterion) > 1:
        raise Failure(BAD_INPUT, "a leaderboard has one --criterion")
    query = {"criterion": options.criterion[0]} if options.criterion else {}
    reply = server.get(f"tournaments/{options.number}/board", query)
    if options.json:
        print_json(reply)
        return
    rates = dict(zip(reply["board"]["contestants"], reply["board"]["win_rates"]))
    rows = [_standing(row, rates[row["contestant"]]) for row in reply["board"]["board"]["standings"]]
    print_table(("contestant", "rating", "low", "high", "win_rate", "votes"), rows)
    print(f"{plain(reply['criterion'])}: {reply['votes']} votes, {reply['newer']} newer; hash {reply['hash']}")


def _standing(row: dict[str, Any], rate: dict[str, Any] | None) -> list[object]:
    rating = row["rating"] or {"value": None, "low": None, "high": None}
    ends = [f"{rating[name]:.0f}" if rating[name] is not None else "-" for name in ("value", "low", "high")]
    win_rate = f"{100 * rate['value']:.0f} %" if rate else "-"
    return [row["contestant"], *ends, win_rate, number(row["record"]["votes"])]


def _judge_id(server: Server, text: str) -> int:
    """Return the number of the newest judge with this name, or the number that the text is. Raise Failure."""
    if text.isdecimal():
        return int(text)
    for row in server.pages("judges", {}):
        if row["name"] == text:
            return int(row["id"])
    raise Failure(NOT_FOUND, f"there is no judge {text!r}: `esweb judge judges` lists them")


def _print_rows(columns: tuple[str, ...], rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_table(columns, [[_cell(name, row[name]) for name in columns] for row in rows])


def _cell(name: str, value: Any) -> Any:
    if name == "in_boards":
        return ", ".join(value) or "-"
    return str(value)[:16].replace("T", " ") if name == "created_at" else value


VERBS: dict[str, Callable[[Server, argparse.Namespace], None]] = {
    "ls": _list_tournaments,
    "judges": _list_judges,
    "show": _show,
    "board": _board,
    "start": _start,
    **dict.fromkeys(CHANGES, _change),
}
