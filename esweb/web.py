"""The web server on a socket that its parent already listens on: `python -m esweb.web FD`."""

from __future__ import annotations

import logging.config
import socket
import sys

import uvicorn
from django.conf import settings


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
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
