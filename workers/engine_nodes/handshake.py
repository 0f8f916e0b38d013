"""The start of a connection between a training process and another node of its job: both prove that they know a token.

    training process ──► nonce A
    node             ──► nonce B, a description of itself, HMAC-SHA256(token, "node" A B description)
    training process ──► HMAC-SHA256(token, "training" A B)

The token itself never travels, and no proof can be used twice. Later messages carry no proof: like the messages of
Slurm and Ray, they trust the network between the nodes.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import struct
from multiprocessing.connection import Connection
from typing import Any

TOKEN_BYTES, NONCE_BYTES, PROOF_BYTES = 32, 32, 32
MAX_DESCRIPTION_BYTES = 4096
SECONDS = 10.0
"""The time for each message of a handshake."""
KEEPALIVE = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 4}
SILENT_MILLISECONDS = 30_000
"""A machine that is gone closes no connection: after this time the kernel does."""


class Refused(Exception):
    """The other side did not prove that it knows the token. The message says what it did."""


def admit(connection: Connection, token: bytes) -> dict[str, Any]:
    """Return the description that the node sends of itself, as the training process. Raise Refused or OSError."""
    first = secrets.token_bytes(NONCE_BYTES)
    connection.send_bytes(first)
    message = _receive(connection, NONCE_BYTES + PROOF_BYTES + MAX_DESCRIPTION_BYTES)
    second, proof = message[:NONCE_BYTES], message[NONCE_BYTES : NONCE_BYTES + PROOF_BYTES]
    description = message[NONCE_BYTES + PROOF_BYTES :]
    if not hmac.compare_digest(proof, _prove(token, b"node", first, second, description)):
        raise Refused("it has another token")
    connection.send_bytes(_prove(token, b"training", first, second))
    data: dict[str, Any] = json.loads(description)
    return data


def introduce(connection: Connection, token: bytes, description: dict[str, Any]) -> None:
    """Prove that this node knows the token, and check that the training process does. Raise Refused or OSError."""
    first = _receive(connection, NONCE_BYTES)
    second, body = secrets.token_bytes(NONCE_BYTES), json.dumps(description).encode()
    connection.send_bytes(second + _prove(token, b"node", first, second, body) + body)
    if not hmac.compare_digest(_receive(connection, PROOF_BYTES), _prove(token, b"training", first, second)):
        raise Refused("it has another token")


def set_timeouts(connected: socket.socket, seconds: float) -> None:
    """Let reads and writes that make no progress for so many seconds fail, 0 for none, and notice lost machines."""
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        connected.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), 0))
    if connected.family in (socket.AF_INET, socket.AF_INET6):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in KEEPALIVE.items():
            connected.setsockopt(socket.IPPROTO_TCP, option, value)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_MILLISECONDS)


def _receive(connection: Connection, most: int) -> bytes:
    """Receive one message of at most so many bytes. Raise Refused or OSError."""
    try:
        return connection.recv_bytes(most)
    except EOFError:
        raise Refused("it closed the connection") from None
    except BlockingIOError:
        raise Refused(f"it sent nothing for {SECONDS:.0f} s") from None


def _prove(token: bytes, role: bytes, *parts: bytes) -> bytes:
    return hmac.digest(token, b"".join([role, *parts]), "sha256")
