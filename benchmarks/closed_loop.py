"""Clients that send their next request once the last is answered, each over one connection that stays open."""

from __future__ import annotations

import gzip
import http.client
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


@dataclass(frozen=True)
class Client:
    """The requests of one client, prepared beforehand so that preparing them costs no measured time."""

    port: int
    path: str
    headers: Mapping[str, str]
    bodies: Sequence[bytes]

    def send(self) -> list[float]:
        """Send all of them; return the seconds of each answer. Raise RuntimeError with an answer that is a refusal."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        took = [self._send(connection, body) for body in self.bodies]
        connection.close()
        return took

    def _send(self, connection: http.client.HTTPConnection, body: bytes) -> float:
        began = time.perf_counter()
        connection.request("POST", self.path, body, dict(self.headers))
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{self.path}: {answer.status} {content[:500]!r}")
        return time.perf_counter() - began


@dataclass(frozen=True)
class Page:
    """The response to a page request: seconds until its last byte, and the number of bytes as they were sent."""

    seconds: float
    size: int
    body: bytes


def get(port: int, address: str, headers: Mapping[str, str]) -> Page:
    """Request a page over a new connection. Raise RuntimeError with an answer that is not 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    began = time.perf_counter()
    connection.request("GET", address, headers=dict(headers))
    answer = connection.getresponse()
    body = answer.read()
    seconds = time.perf_counter() - began
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{address}: {answer.status} {body[:300]!r}")
    return Page(seconds, len(body), gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body)


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which `part` (0 to 1) of the values are; it is one of them."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def drive(clients: Sequence[Client]) -> tuple[float, list[float]]:
    """Run all clients concurrently; return seconds from the first request to the last answer, and of each request,
    sorted."""
    with ThreadPoolExecutor(len(clients)) as threads:
        began = time.perf_counter()
        took = [seconds for client_seconds in threads.map(Client.send, clients) for seconds in client_seconds]
        return time.perf_counter() - began, sorted(took)
