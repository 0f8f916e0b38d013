"""Typed readers of the environment, for settings. They fail loudly, naming the variable and what it may be."""

from __future__ import annotations

import os
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import redis
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry


def database(url: str) -> dict[str, Any]:
    """Parse postgresql://user:password@host:port/name?option=value to Django's settings; ?host= may be a socket's
    folder."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"} or len(parts.path) < 2:
        raise ImproperlyConfigured("DATABASE_URL must have the form postgresql://user:password@host:5432/name.")
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
    """Return Celery's spelling of a Redis URL: a unix socket is redis+socket://PATH?virtual_host=DB there."""
    parts = urlsplit(redis_url)
    if parts.scheme in {"redis", "rediss"}:
        return redis_url
    if parts.scheme != "unix":
        raise ImproperlyConfigured("REDIS_URL must start with redis://, rediss:// or unix://.")
    db = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={db}"


def redis_limits(seconds: float) -> dict[str, Any]:
    """Return options of a Redis client that waits so many seconds for a reply, and once reopens a dead connection.

    A frozen server is not tried twice.
    """
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "retry": retry}


YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """Return the variable's value; the default if it is not set or empty."""
    return os.environ.get(name) or default


def flag(name: str, default: bool = False) -> bool:
    """Return True for 1, true, yes, on; False for 0, false, no, off; the default if it is not set."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() not in YES | NO:
        raise ImproperlyConfigured(f"{name} must be 1 or 0 (also true, false, yes, no, on, off), not {value!r}.")
    return value.lower() in YES


def number(name: str, default: int, *, at_least: int = 0) -> int:
    """Return a whole number that is not below `at_least`; the default if the variable is not set or empty."""
    value = text(name)
    if not value:
        return default
    try:
        parsed = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if parsed < at_least:
        raise ImproperlyConfigured(f"{name} must be at least {at_least}, not {parsed}.")
    return parsed


def words(name: str, default: str = "") -> list[str]:
    """Return the values separated by commas, without spaces around them."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Return the addresses and networks separated by commas, such as 127.0.0.1,10.0.0.0/8; none if it is not set."""
    try:
        return [ip_network(word) for word in words(name)]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} must list addresses or networks, such as 127.0.0.1,10.0.0.0/8: {error}."
        ) from None


def folder(name: str, default: Path) -> Path:
    """Return an absolute path; a leading ~ is the home directory."""
    return Path(text(name, str(default))).expanduser().absolute()


def secret(name: str) -> str:
    """Return a secret from NAME, or the content of the file that NAME_FILE names; empty if neither is set."""
    value, file = text(name), text(f"{name}_FILE")
    if value and file:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set. Set only one of them.")
    if not file:
        return value
    try:
        content = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which cannot be read: {error.strerror}.") from error
    if not content:
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which is empty.")
    return content
