"""Runs a server that knows nothing of esweb, and keeps it registered for as long as it lives. Stdlib only.

    python -m workers.client.serving --site https://esweb.example --token-file /home/ada/.secrets/serve \\
        --kind vllm --name qwen-7b --address http://node7:8000 --health-path /health -- vllm serve Qwen/Qwen2.5-7B

It is registered once it answers at its health path, and taken out when it ends; its exit code is the command's.
SIGTERM and SIGINT are passed on to it.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from workers.bearer import OPENER
from workers.client.registry import Offer, Refused, registered

LOOK_SECONDS = 1.0
BAD_USE = 2


def serve(site: str, token_file: Path, offer: Offer, argv: Sequence[str]) -> int:
    """Runs the server to its end; its exit code, 128 + the signal where it was killed. Raises Refused and OSError."""
    server = subprocess.Popen(argv)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: server.send_signal(received))
    try:
        if _comes_up(server, offer.address + offer.health_path):
            with registered(site, token_file, offer):
                server.wait()
    finally:
        # Where the site refuses, nobody would ever find it.
        if server.poll() is None:
            server.terminate()
    code = server.wait()
    return code if code >= 0 else 128 - code


def _comes_up(server: subprocess.Popen[bytes], address: str) -> bool:
    """Waits until it answers; False where it ended before."""
    while server.poll() is None:
        if _answers(address):
            return True
        time.sleep(LOOK_SECONDS)
    return False


def _answers(address: str) -> bool:
    """True for any answer that is no failure of the server's: one that wants a token is up."""
    try:
        with OPENER.open(address, timeout=LOOK_SECONDS):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def main(words: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    asked = _parser().parse_args(words)
    argv = asked.command[1:] if asked.command[:1] == ["--"] else asked.command
    if not argv or not asked.address.startswith(("http://", "https://")):
        print("give --address http://HOST:PORT, and after -- the command that serves there", file=sys.stderr)
        return BAD_USE
    names = ("kind", "name", "address", "health_path", "version", "lease_seconds")
    offer = Offer(**{name: getattr(asked, name) for name in names}, token_file=asked.its_token_file)
    try:
        return serve(asked.site, asked.token_file, offer, argv)
    except (Refused, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.client.serving", description="Serves, registered.")
    parser.add_argument("--site", required=True, help="address of the esweb")
    parser.add_argument("--token-file", type=Path, required=True, help="file with a token of scope serve")
    parser.add_argument("--kind", required=True, help="what the service is, such as vllm")
    parser.add_argument("--name", required=True, help="which one")
    parser.add_argument("--address", required=True, help="where it is called, by others too")
    parser.add_argument("--health-path", default="/health", help="what answers once it is up; default: /health")
    parser.add_argument("--its-token-file", default="", help="where those who call it find its token")
    parser.add_argument("--version", default="", help="its version, to be shown")
    parser.add_argument("--lease-seconds", type=int, default=60, help="without a beat for so long it is not found")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command that serves")
    return parser


if __name__ == "__main__":
    sys.exit(main())
