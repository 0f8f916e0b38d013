"""The web server: `python -m esweb.supervisor.web FD` on a socket of its parent, `… HOST:PORT` on its own.

With `--standby` it loads, and waits for its turn.
"""

from __future__ import annotations

import ctypes
import gc
import logging.config
import socket
import sys

import uvicorn
from django.conf import settings
from django.urls import get_resolver

from esweb.bootstrap.private_files import create_private_files
from esweb.bootstrap.usable_site import refuse_unusable_site
from esweb.embedded import CannotStart
from esweb.supervisor.http_protocol import LimitedHttpProtocol, raise_file_limit
from esweb.supervisor.listening_socket import listen
from esweb.supervisor.socket_protocol import PING_SECONDS, LimitedSocketProtocol
from runs.management.standby import OPTION, await_turn

MALLOC_OPTIONS = {"M_ARENA_MAX": (-8, 1), "M_MMAP_THRESHOLD": (-3, 2**25), "M_TRIM_THRESHOLD": (-1, 2**27)}
"""Options of glibc's mallopt: (number, value). See `keep_memory`."""


def serve(listening: socket.socket, *, is_standby: bool = False) -> None:
    """Answer until SIGTERM, after its turn has come if it is on standby."""
    config = server_config()
    logging.config.dictConfig(settings.LOGGING)
    create_private_files()
    keep_memory()
    raise_file_limit()
    load(config)
    refuse_unusable_site()
    if is_standby:
        await_turn()
    uvicorn.Server(config).run(sockets=[listening])


def server_config() -> uvicorn.Config:
    """Return the options of the server. Messages are not deflated: points are small, and it would cost three times the
    CPU."""
    return uvicorn.Config(
        "esweb.asgi:application",
        http=LimitedHttpProtocol,
        ws=LimitedSocketProtocol,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_max_size=settings.SOCKET_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        lifespan="off",
        # Middleware reads these headers, and only those of named proxies.
        proxy_headers=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=3,
        server_header=False,
    )


def keep_memory() -> None:
    """Let all threads share one heap, and keep up to 128 MB of it when it is free.

    A chart of ten million points takes arrays of 200 MB, and each request runs on a thread of its own. With a heap for
    each thread the kernel would clear pages anew for every chart, which takes up to 150 ms. Only glibc has
    these options.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for number, value in MALLOC_OPTIONS.values():
            mallopt(number, value)


def load(config: uvicorn.Config) -> None:
    """Loads what answers need, once and for good: the garbage collector no longer looks through its 160 000 objects,
    which takes a tenth of a second of somebody's time whenever it does."""
    gc.disable()
    config.load()
    get_resolver().reverse_dict  # noqa: B018 - every view is imported
    gc.collect()
    gc.freeze()
    gc.enable()


def main(where: str, *options: str) -> None:
    """Serve on the socket of that number, or at that address.

    Raise CannotStart where it is taken, or this code must not use the site.
    """
    if where.isdecimal():
        serve(socket.socket(fileno=int(where)), is_standby=OPTION in options)
        return
    host, _, port = where.rpartition(":")
    with listen(host.strip("[]"), int(port)) as listening:
        serve(listening)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except CannotStart as error:
        sys.exit(str(error))
