"""`esweb login URL`: store a token for the commands that follow."""

from __future__ import annotations

import argparse
import getpass
import sys

from esweb_client.cli.account import Account, check_url, is_unencrypted, save_account
from esweb_client.cli.errors import BAD_INPUT, Failure
from esweb_client.cli.output import plain, print_json
from esweb_client.cli.server import Server


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("url", help="the server, such as https://esweb.example")
    command.set_defaults(run=login)


def login(options: argparse.Namespace) -> int:
    """Read a token, try it, and store it."""
    url = check_url(options.url)
    if is_unencrypted(url):
        print("esweb: the token is sent unencrypted over the network: use https:// if you can", file=sys.stderr)
    new = Account(url, _token(url))
    me = Server(new).get("me")
    file = save_account(new)
    if options.json:
        print_json({**me, "url": url, "file": str(file)})
    else:
        print(
            f"Signed in to {url} as {plain(me['username'])} ({me['role']}, scope {me['scope']}). Token saved in {file}."
        )
    return 0


def _token(url: str) -> str:
    """Read the token unseen, or from a pipe: never from an argument, which other users of the machine could read."""
    typed = getpass.getpass(f"Token, from {url}/settings/tokens/: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not typed.strip().startswith("esw_") or not typed.strip().isascii():
        raise Failure(BAD_INPUT, "a token begins with esw_: pass it on standard input")
    return typed.strip()
