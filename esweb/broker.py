"""Celery's transport to Valkey, whose channels may be closed when Valkey is gone. `docs/decisions/0054` gives the
reasons."""

from __future__ import annotations

from typing import Any

import redis
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as kombu_redis

SCHEMES = ("redis", "rediss")


class Channel(kombu_redis.Channel):  # type: ignore[misc]
    """Kombu's channel. If its connection was taken away, it reports a lost connection, which Celery handles."""

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        """Return the parameters of a new pool of connections. Raise ConnectionError if the connection is closed."""
        if getattr(self.connection, "client", None) is None:
            raise redis.ConnectionError("The connection of this channel is closed.")
        parameters: dict[str, Any] = super()._connparams(asynchronous=asynchronous)
        return parameters


class Transport(kombu_redis.Transport):  # type: ignore[misc]
    """Kombu's transport, with that channel."""

    Channel = Channel


def use_transport() -> None:
    """Let addresses of Redis mean this transport in this process. The setting `broker_transport` would not do: kombu
    takes the transport of a unix socket from its address."""
    TRANSPORT_ALIASES.update(dict.fromkeys(SCHEMES, f"{__name__}:Transport"))
