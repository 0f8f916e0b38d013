"""Deny by default: a stranger gets nothing from any address but the few that are open on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter

OPEN = {"login", "health", "sign-in", "invitation"}
CLOSED = {401, 403, 404, 405}
METHODS = ("get", "post", "put", "patch", "delete")


def routes(
    patterns: list[URLPattern | URLResolver] | None = None, before: str = "/", space: str = ""
) -> Iterator[tuple[str, str]]:
    """Every route as (name, an address that it matches)."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = before + example(pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, address, f"{pattern.namespace}:" if pattern.namespace else space)
        else:
            yield f"{space}{pattern.name}", address


def example(pattern: URLPattern | URLResolver) -> str:
    """The pattern's route with something that fits in place of each <parameter>."""
    # A route of a regular expression: the first of the words that it allows.
    route = re.sub(r"\(\?P<\w+>(\w+)[^)]*\)", r"\1", str(pattern.pattern)).strip("^$")
    for name, converter in pattern.pattern.converters.items():
        fit = "1" if isinstance(converter, IntConverter) else "abcdefghjk"
        for written in (f"<{name}>", f"<int:{name}>", f"<str:{name}>", f"<slug:{name}>", f"<path:{name}>"):
            route = route.replace(written, fit)
    assert "<" not in route, f"this test does not know how to fill {route}"
    return route


def test_there_are_routes_to_try() -> None:
    assert {name for name, _ in routes()} >= OPEN


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "address"), sorted(routes()))
def test_a_stranger_gets_nothing(client: Client, name: str, address: str) -> None:
    if name in OPEN:
        return
    for method in METHODS:
        answer = getattr(client, method)(address)
        to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?")
        assert to_login or answer.status_code in CLOSED, f"{method} {address} answered {answer.status_code}"


@pytest.mark.django_db
def test_answers_carry_the_headers_that_protect(client: Client) -> None:
    answer = client.get("/healthz")
    policy = answer["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.django_db
def test_an_unknown_host_is_refused(client: Client) -> None:
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 400
