"""Addresses of the database and of Redis: read from URLs, and written as each library wants them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import redis
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry


def database(url: str) -> dict[str, Any]:
    """postgresql://user:password@host:port/name?option=value as Django's settings; ?host= may be a socket's folder."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"} or len(parts.path) < 2:
        raise ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:5432/name.")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "esweb.database",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }


def celery_broker(redis_url: str) -> str:
    """Celery's spelling of a Redis URL: a unix socket is redis+socket://PATH?virtual_host=DB there."""
    parts = urlsplit(redis_url)
    if parts.scheme in {"redis", "rediss"}:
        return redis_url
    if parts.scheme != "unix":
        raise ImproperlyConfigured("REDIS_URL must start with redis://, rediss:// or unix://.")
    db = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={db}"


def redis_limits(seconds: float) -> dict[str, Any]:
    """Return options of a Redis client that waits so many seconds for an answer, and once opens a dead connection anew.

    A frozen server is not asked twice.
    """
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "retry": retry}
