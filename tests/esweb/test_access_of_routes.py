"""Deny by default: an anonymous client gets nothing from any address but the few public ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter

from runs.models import Experiment, Run
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.security.sample_rows import SECRET

OPEN = {"login", "health", "sign-in", "invitation", "script-words", "api-docs", "api:openapi-json"}
CLOSED = {401, 403, 404, 405}
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
NOTHING: Mapping[str, object] = {}


def routes(there: Mapping[str, object] = NOTHING) -> Iterator[tuple[str, str]]:
    """Yield every route as (name, an address that it matches); `there` gives the values of its parameters."""
    yield from within(get_resolver().url_patterns, "/", "", there)


def within(
    patterns: list[URLPattern | URLResolver], before: str, space: str, there: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """Yield the routes of one level, and of those below it."""
    for pattern in patterns:
        address = before + example(pattern, there)
        if isinstance(pattern, URLResolver):
            inner = f"{pattern.namespace}:" if pattern.namespace else space
            yield from within(pattern.url_patterns, address, inner, there)
        else:
            yield f"{space}{pattern.name}", address


def example(pattern: URLPattern | URLResolver, there: Mapping[str, object]) -> str:
    """Return the pattern's route with a matching value for each <parameter>."""
    # A route of a regular expression: the first of the words that it allows.
    route = re.sub(r"\(\?P<\w+>(\w+)[^)]*\)", r"\1", str(pattern.pattern)).strip("^$")
    for name, converter in pattern.pattern.converters.items():
        fit = str(there.get(name, "1" if isinstance(converter, IntConverter) else "abcdefghjk"))
        for written in (f"<{name}>", f"<int:{name}>", f"<str:{name}>", f"<slug:{name}>", f"<path:{name}>"):
            route = route.replace(written, fit)
    assert "<" not in route, f"this test does not know how to fill {route}"
    return route


def test_routes_exist() -> None:
    assert {name for name, _ in routes()} >= OPEN


@pytest.mark.usefixtures("runs_dir")
def test_a_stranger_gets_nothing(client: Client, experiment: Experiment) -> None:
    """An address that leads to something answers as one that does not."""
    Experiment.objects.update(name=SECRET, question=SECRET, note=SECRET)
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    Run.objects.update(name=SECRET, note=SECRET)
    there = {"pk": experiment.pk, "uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": 5}
    addresses = {address for values in (NOTHING, there) for name, address in routes(values) if name not in OPEN}
    problems = [problem(client, method, address) for address in sorted(addresses) for method in METHODS]
    assert [text for text in problems if text] == []


def problem(client: Client, method: str, address: str) -> str:
    """Return what is wrong with the answer if an anonymous client is not sent to sign in, and not refused."""
    client.cookies.clear()
    answer = getattr(client, method)(address)
    to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?")
    if SECRET.encode() in answer.content:
        return f"{method} {address} shows a row"
    return "" if to_login or answer.status_code in CLOSED else f"{method} {address} answered {answer.status_code}"


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
