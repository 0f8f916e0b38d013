"""Run the service until it is stopped, then finish the requests that have begun."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from workers.bearer import is_loopback
from workers.client.registry import Offer, register_service
from workers.scorer.models import ScoreModel
from workers.scorer.service.app import application
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.queue import ScoringQueue

TOKEN = "SCORER_TOKEN"  # noqa: S105 the name of a setting, no token


@dataclass(frozen=True)
class ServerSettings:
    """Settings of the server. `address` is the URL for clients; it is registered with `site`, an esweb, with a token of
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
    """The service cannot listen or register. The message gives the reason and the missing setting."""


class Server(uvicorn.Server):
    """A server that ends when `is_ended` is true. Signals are left to its process."""

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
    settings: ServerSettings,
    reward: ScoreModel,
    cost: ScoreModel,
    metrics: Metrics,
    is_ended: Callable[[], bool],
    report: Callable[[str], None],
) -> None:
    """Serve until `is_ended`, checked ten times a second, and then until every request that has begun is answered.

    `report` gets a sentence once the service is up. Raise NotServed.
    """
    token = token_reader(settings)
    with _listen(settings) as listener, ScoringQueue(reward, cost, settings.limits, metrics) as queue:
        address = settings.address or f"http://{_public_host(settings.host)}:{listener.getsockname()[1]}"
        app = application(queue, settings.limits, metrics, token)
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=settings.drain_seconds, lifespan="off"
        )
        with _registration(settings, address, reward, cost):
            report(f"scoring at {address}, reward by {reward.name}, cost by {cost.name}, on {reward.device}")
            Server(config, is_ended).run(sockets=[listener])


def token_reader(settings: ServerSettings) -> Callable[[], str]:
    """Return a function that returns the current token: a file is read each time, so that a renewed one counts
    immediately.

    Raise NotServed if others can reach the service and no token is required.
    """
    file = settings.token_file or os.environ.get(f"{TOKEN}_FILE", "")
    fixed = os.environ.get(TOKEN, "")
    if not file and not fixed and not settings.is_open and not is_loopback(settings.host):
        raise NotServed(
            f"others can reach it at {settings.host}: give a token_file (--token-file), or {TOKEN}_FILE or {TOKEN} in"
            " the environment; by hand, --open lets everybody score who can reach it"
        )
    if not file:
        return lambda: fixed
    if not _read(file):
        raise NotServed(f"the token file {file} contains no token")
    return lambda: _read(file)


def _read(file: str) -> str:
    """Read a token. Raise NotServed, which refuses every request while the file is missing: none passes without."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NotServed(f"the token file {file} cannot be read: {error.strerror}") from error


def _listen(settings: ServerSettings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise NotServed(f"cannot listen on {settings.host} port {settings.port}: {error}") from error


def _public_host(host: str) -> str:
    """Return a name by which others reach a server on this host."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 requested, with a token
        return socket.getfqdn()
    return f"[{host}]" if ":" in host else host


def _registration(settings: ServerSettings, address: str, reward: ScoreModel, cost: ScoreModel) -> Any:
    if not settings.site:
        return contextlib.nullcontext()
    capabilities = {"reward": reward.name, "cost": cost.name, "device": reward.device}
    token_file = str(Path(settings.token_file).resolve()) if settings.token_file else ""
    offer = Offer("scorer", settings.name, address, "/health", token_file=token_file, capabilities=capabilities)
    return register_service(settings.site, settings.site_token_file, offer)
