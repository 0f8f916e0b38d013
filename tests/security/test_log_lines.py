"""A log has one record a line, whatever clients send, and no text that opens something."""

from __future__ import annotations

import io
import logging
import logging.config
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from esweb.middleware.log_lines import LineFormatter, escape_line
from judging.voting import create_invitations
from runs.access import Scope, issue, link_text
from runs.accounts.sign_in_links import link_for
from runs.models import Experiment
from tests.cases import each_case
from tests.judging.tournament_factory import make_tournament
from tests.runs.full_runs import make_run

FORGED = "2026-01-01 00:00:00,000 ERROR esweb: forged"
BREAKS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Return what the site's handler writes, as its settings format it."""
    line = settings.LOGGING["formatters"]["line"]
    handler = logging.StreamHandler(out := io.StringIO())
    handler.setFormatter(logging.config.DictConfigurator({}).configure_formatter(dict(line)))
    root = logging.getLogger()
    root.addHandler(handler)
    yield out
    root.removeHandler(handler)


@each_case("line_break", BREAKS)
def test_record_is_one_line(line_break: str) -> None:
    record = logging.makeLogRecord({"msg": "%s is unknown", "args": (f"a{line_break}{FORGED}\x1b[2J\u202e",)})
    text = LineFormatter("{asctime} {message}", style="{").format(record)
    assert len(text.splitlines()) == 1
    assert text.isprintable()


def test_lines_of_a_traceback_are_indented() -> None:
    try:
        raise ValueError(f"no number: x\n{FORGED}\x1b[2J")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    record = logging.makeLogRecord({"msg": "failed", "exc_info": info})
    first, *others = LineFormatter("{message}", style="{").format(record).split("\n")
    assert first == "failed"
    assert all(line.startswith("    ") for line in others)
    assert "Traceback" in others[0] and "\x1b" not in "".join(others)


@pytest.mark.parametrize("path", ["/nosuch/a%0A{}", "/api/v1/runs/a%0D%0A{}", "/shared/a%E2%80%A8{}/"])
def test_path_of_a_request_begins_no_line(ada_client: Client, log: io.StringIO, path: str) -> None:
    assert ada_client.get(path.format(FORGED)).status_code in (404, 422)
    lines = log.getvalue().splitlines()
    assert any("forged" in line for line in lines)
    assert not any(
        line.startswith(FORGED[:10]) and line.endswith("forged") and "Not Found" not in line for line in lines
    )


@pytest.mark.usefixtures("runs_dir")
def test_texts_of_links_and_tokens_are_not_logged(
    ada: User, client: Client, experiment: Experiment, log: io.StringIO
) -> None:
    shared = link_text(ada, Scope.RUN, [make_run(experiment).uid], "day")
    ((_, vote),) = create_invitations(make_tournament(ada, experiment, prompts=1, contestants=2), ada, ["Dee"])
    _, token = issue(ada, "read")
    sign_in = link_for(ada).split("/")[2]
    client.get(f"/shared/{shared}/chart/?name=nosuch")
    client.post(f"/shared/{shared}/")
    client.get(f"/vote/link/{vote}/nosuch/")
    client.post(f"/vote/link/{vote}/")
    client.post(f"/sign-in/{sign_in}/")
    logging.getLogger("esweb").warning("Request: %r", {"Authorization": f"Bearer {token}"})
    written = log.getvalue()
    assert "Not Found" in written and "Method Not Allowed" in written and "Bearer" in written
    assert not [text for text in (shared, vote, token, sign_in) if text in written]


def secret_routes(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    """Yield the routes with a part that opens something: its converter is named text or token."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from secret_routes(pattern.url_patterns)
        elif {"text", "token"} & set(pattern.pattern.converters):
            yield pattern


def test_every_route_of_a_link_is_hidden_in_the_log() -> None:
    routes = list(secret_routes(get_resolver().url_patterns))
    assert {route.name for route in routes} >= {"shared", "shared-chart", "sign-in", "vote-link", "invitation"}
    for route in routes:
        address = reverse(str(route.name), kwargs=dict.fromkeys(route.pattern.converters, "opens-it"))
        secret = "opens-it" if route.name != "invitation" else "opens-it/opens-it"
        assert secret not in escape_line(f"Not Found: {address}")
