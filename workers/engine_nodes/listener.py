"""The address at which other nodes of a job reach the training process. Strangers are turned away before they are
heard: by their address, then by the token."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workers.attempt import PRIVATE, write_whole
from workers.engine_nodes.handshake import SECONDS, TOKEN_BYTES, Refused, admit, set_timeouts
from workers.engine_nodes.links import CONTACT

NETWORKS = "ESWEB_NODE_NETWORKS"
"""Variable with networks, separated by commas, from which nodes may connect in addition to their known addresses."""
MAX_STRANGERS = 32
"""Connections whose handshake may be under way together."""
DISCARD_PORT = 9


class Listener:
    """Accepts connections of other nodes and passes them on, each with the description that the node sent.

    `take` gets the connection, its socket, which ends it from any thread, and the description; `warn` a message about a
    refused one.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        peers: frozenset[str] | None,
        take: Callable[[Connection, socket.socket, dict[str, Any]], None],
        warn: Callable[[str], None],
    ) -> None:
        self._peers, self._take, self._warn = peers, take, warn
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._sockets = [socket.create_server((address, 0)) for address in sorted(_own_addresses(hosts))]
        self._strangers = threading.BoundedSemaphore(MAX_STRANGERS)
        self._networks = [
            ipaddress.ip_network(text.strip()) for text in os.environ.get(NETWORKS, "").split(",") if text
        ]
        self._contact: Path | None = None

    @property
    def addresses(self) -> list[str]:
        """Return the addresses of this machine at which it listens."""
        return [str(listening.getsockname()[0]) for listening in self._sockets]

    def start(self, directory: Path) -> None:
        """Write the file by which nodes find this process, readable by its account alone, and accept connections."""
        self._contact = directory / CONTACT
        endpoints = [listening.getsockname() for listening in self._sockets]
        contact = {"endpoints": endpoints, "token": self._token.hex()}
        write_whole(self._contact, json.dumps(contact), mode=PRIVATE)
        for listening in self._sockets:
            threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def close(self) -> None:
        """Accept no more connections, and remove the file. Safe to call again."""
        for listening in self._sockets:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        if self._contact is not None:
            self._contact.unlink(missing_ok=True)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connected, (address, *_) = listening.accept()
            except OSError:
                return
            if not self._is_expected(address):
                self._warn(f"a connection from {address} was refused: it is no node of this job (see {NETWORKS})")
                connected.close()
            elif not self._strangers.acquire(blocking=False):
                connected.close()
            else:
                threading.Thread(target=self._admit, args=(connected, address), daemon=True).start()

    def _is_expected(self, address: str) -> bool:
        own = ipaddress.ip_address(address)
        return self._peers is None or address in self._peers or any(own in network for network in self._networks)

    def _admit(self, connected: socket.socket, address: str) -> None:
        connection = Connection(os.dup(connected.fileno()))
        try:
            set_timeouts(connected, SECONDS)
            description = admit(connection, self._token)
            set_timeouts(connected, 0)
            self._take(connection, connected, description)
        except (Refused, OSError, ValueError, KeyError) as error:
            self._warn(f"a connection from {address} was refused: {error}")
            connection.close()
            connected.close()
        finally:
            self._strangers.release()


def _own_addresses(hosts: Sequence[str]) -> Iterator[str]:
    """Yield the addresses of this machine in the networks of these hosts. Raise OSError if there is none."""
    own, reasons = set[str](), []
    for host in hosts:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # Sends nothing: it only looks up the route.
                probe.connect((host, DISCARD_PORT))
                own.add(probe.getsockname()[0])
            except OSError as error:
                reasons.append(f"{host}: {error.strerror or error}")
    if not own:
        raise OSError(f"no route to the other nodes of the job ({'; '.join(reasons)})")
    yield from own
