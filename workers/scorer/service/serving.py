"""Runs the service until it is told to end, then lets what was begun finish."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from workers.client.registry import Offer, registered
from workers.scorer.models import ScoreModel
from workers.scorer.service.app import application
from workers.scorer.service.batching import Line
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics

TOKEN = "SCORER_TOKEN"  # noqa: S105 the name of a setting, no token


@dataclass(frozen=True)
class Place:
    """Where the service listens. `address` is where others call it; `site`, an esweb, is told so, with a token of
    scope serve from `site_token_file`."""

    host: str = "127.0.0.1"
    port: int = 8000
    address: str = ""
    token_file: str = ""
    is_open: bool = False
    site: str = ""
    site_token_file: str = ""
    name: str = "scorer"
    drain_seconds: int = 60
    limits: Limits = field(default_factory=Limits)


class NotServed(Exception):
    """The service cannot be where it is wanted. The message says why, and what to give."""


class Server(uvicorn.Server):
    """Ends once it is told to. Signals are its process's own affair."""

    def __init__(self, config: uvicorn.Config, is_ended: Callable[[], bool]) -> None:
        super().__init__(config)
        self._is_ended = is_ended

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        self.should_exit = self.should_exit or self._is_ended()
        return await super().on_tick(counter)


def serve(
    place: Place,
    reward: ScoreModel,
    cost: ScoreModel,
    metrics: Metrics,
    is_ended: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    """Serves until `is_ended`, looked at ten times a second, and then until every request that has begun is answered.

    `say` gets a sentence once it serves. Raises NotServed.
    """
    token = tokens(place)
    with _listening(place) as listening, Line(reward, cost, place.limits, metrics) as line:
        address = place.address or f"http://{_callable(place.host)}:{listening.getsockname()[1]}"
        app = application(line, place.limits, metrics, token)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=place.drain_seconds, lifespan="off")
        with _registered(place, address, reward, cost):
            say(f"scoring at {address}, reward by {reward.name}, cost by {cost.name}, on {reward.device}")
            Server(config, is_ended).run(sockets=[listening])


def tokens(place: Place) -> Callable[[], str]:
    """Says the present token: a file is read each time, so that a renewed one holds at once.

    Raises NotServed where others can reach the service and no token is wanted.
    """
    file = place.token_file or os.environ.get(f"{TOKEN}_FILE", "")
    fixed = os.environ.get(TOKEN, "")
    if not file and not fixed and not place.is_open and not _is_loopback(place.host):
        raise NotServed(
            f"at {place.host} others can reach it: give a token_file (--token-file), or {TOKEN}_FILE or {TOKEN} in the"
            " environment; by hand, --open lets everybody score who can reach it"
        )
    if not file:
        return lambda: fixed
    if not _read(file):
        raise NotServed(f"there is no token in {file}")
    return lambda: _read(file)


def _read(file: str) -> str:
    """Raises NotServed, which refuses every request while the file is away: none is let in without."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NotServed(f"the token file {file} cannot be read: {error.strerror}") from error


def _listening(place: Place) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        return socket.create_server((place.host, place.port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise NotServed(f"cannot listen at {place.host} port {place.port}: {error}") from error


def _callable(host: str) -> str:
    """A name by which others reach what listens there."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 asked for, with a token
        return socket.getfqdn()
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _registered(place: Place, address: str, reward: ScoreModel, cost: ScoreModel) -> Any:
    if not place.site:
        return contextlib.nullcontext()
    says = {"reward": reward.name, "cost": cost.name, "device": reward.device}
    token_file = str(Path(place.token_file).resolve()) if place.token_file else ""
    offer = Offer("scorer", place.name, address, "/health", token_file=token_file, capabilities=says)
    return registered(place.site, place.site_token_file, offer)
