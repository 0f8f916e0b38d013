"""`esweb login URL`: keeps a token for the commands that follow."""

from __future__ import annotations

import argparse
import getpass
import sys

from esweb.cli.account import Account, checked, is_overheard, keep
from esweb.cli.errors import BAD_INPUT, Failure
from esweb.cli.printing import plain, print_json
from esweb.cli.server import Server


def add(command: argparse.ArgumentParser) -> None:
    """Its arguments."""
    command.add_argument("url", help="the server, such as https://esweb.example")
    command.set_defaults(run=login)


def login(asked: argparse.Namespace) -> int:
    """Asks for a token, tries it, and keeps it."""
    url = checked(asked.url)
    if is_overheard(url):
        print("esweb: the token travels readable through the network: take https:// where you can", file=sys.stderr)
    new = Account(url, _token(url))
    me = Server(new).get("me")
    file = keep(new)
    if asked.json:
        print_json({**me, "url": url, "file": str(file)})
    else:
        print(f"Signed in to {url} as {plain(me['username'])} ({me['role']}, scope {me['scope']}). Kept in {file}.")
    return 0


def _token(url: str) -> str:
    """Typed unseen, or read from a pipe: never an argument, which other users of the machine could read."""
    typed = getpass.getpass(f"Token, from {url}/settings/tokens/: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not typed.strip().startswith("esw_") or not typed.strip().isascii():
        raise Failure(BAD_INPUT, "a token begins with esw_: give it on standard input")
    return typed.strip()
