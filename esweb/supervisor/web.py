"""The web server: `python -m esweb.supervisor.web FD` on a socket of its parent, `… HOST:PORT` on its own."""

from __future__ import annotations

import gc
import logging.config
import socket
import sys

import uvicorn
from django.conf import settings
from django.urls import get_resolver

from esweb.bootstrap.schema_version import refuse_newer_database
from esweb.embedded import CannotStart
from esweb.supervisor.listening_socket import listen


def serve(listening: socket.socket) -> None:
    """Answers until SIGTERM. Messages are not deflated: points are small, and it would cost three times the CPU."""
    config = uvicorn.Config(
        "esweb.asgi:application",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=3,
        server_header=False,
    )
    logging.config.dictConfig(settings.LOGGING)
    load(config)
    refuse_newer_database()
    uvicorn.Server(config).run(sockets=[listening])


def load(config: uvicorn.Config) -> None:
    """Loads what answers need, once and for good: the garbage collector no longer looks through its 160 000 objects,
    which takes a tenth of a second of somebody's time whenever it does."""
    config.load()
    get_resolver().reverse_dict  # noqa: B018 - every view is imported
    gc.collect()
    gc.freeze()


def main(where: str) -> None:
    """Serve on the socket of that number, or at that address.

    Raise CannotStart where it is taken, or the database was made by a newer esweb.
    """
    if where.isdecimal():
        serve(socket.socket(fileno=int(where)))
        return
    host, _, port = where.rpartition(":")
    with listen(host.strip("[]"), int(port)) as listening:
        serve(listening)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except CannotStart as error:
        sys.exit(str(error))
