"""Runs a server that does not know esweb, and registers it for as long as it lives. Stdlib only.

    python -m workers.client.serving --site https://esweb.example --token-file /home/ada/.secrets/serve \\
        --kind vllm --name qwen-7b --address http://node7:8000 --health-path /health -- vllm serve Qwen/Qwen2.5-7B

It is registered once it answers at its health path, and removed when it ends; its exit code is the command's. SIGTERM
and SIGINT are passed on to it.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from workers.bearer import OPENER
from workers.client.registry import Offer, Refused, register_service

LOOK_SECONDS = 1.0
BAD_USE = 2


def serve(site: str, token_file: Path, offer: Offer, argv: Sequence[str]) -> int:
    """Run the server to its end. Return its exit code, 128 + the signal if it was killed. Raise Refused and OSError."""
    server = subprocess.Popen(argv)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: server.send_signal(received))
    try:
        if _wait_until_up(server, offer.address + offer.health_path):
            with register_service(site, token_file, offer):
                _wait_until_ended(server)
    finally:
        # If the site refuses, nobody would ever find the server.
        if server.poll() is None:
            server.terminate()
    code = _wait_until_ended(server)
    return code if code >= 0 else 128 - code


def _wait_until_up(server: subprocess.Popen[bytes], address: str) -> bool:
    """Wait until the server answers. Return False if it ended before."""
    while server.poll() is None:
        if _is_up(address):
            return True
        time.sleep(LOOK_SECONDS)
    return False


def _wait_until_ended(server: subprocess.Popen[bytes]) -> int:
    """Return the server's exit code.

    A signal that arrives just before a wait begins is passed on when that wait has ended, so no wait is long.
    """
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return server.wait(LOOK_SECONDS)


def _is_up(address: str) -> bool:
    """Return whether the server answers without a server error: one that requires a token is up."""
    try:
        with OPENER.open(address, timeout=LOOK_SECONDS):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    options = _parser().parse_args(words)
    argv = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not argv or not options.address.startswith(("http://", "https://")):
        print("give --address http://HOST:PORT, and the command of the server after --", file=sys.stderr)
        return BAD_USE
    names = ("kind", "name", "address", "health_path", "version", "lease_seconds")
    offer = Offer(**{name: getattr(options, name) for name in names}, token_file=options.its_token_file)
    try:
        return serve(options.site, options.token_file, offer, argv)
    except (Refused, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.client.serving", description="Serves, registered.")
    parser.add_argument("--site", required=True, help="address of esweb")
    parser.add_argument("--token-file", type=Path, required=True, help="file with a token of scope serve")
    parser.add_argument("--kind", required=True, help="kind of service, such as vllm")
    parser.add_argument("--name", required=True, help="name of the service")
    parser.add_argument("--address", required=True, help="address that runs call")
    parser.add_argument(
        "--health-path", default="/health", help="path that responds once the service is up; default: /health"
    )
    parser.add_argument("--its-token-file", default="", help="where runs find its token")
    parser.add_argument("--version", default="", help="version to show")
    parser.add_argument(
        "--lease-seconds", type=int, default=60, help="seconds without a heartbeat until runs no longer find it"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command of the server")
    return parser


if __name__ == "__main__":
    sys.exit(main())
