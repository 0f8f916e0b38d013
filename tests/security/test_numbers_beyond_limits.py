"""No number, place or date in an address is too large: each parameter of each GET route, and each part of its path, is
refused or ignored, as its neighbours are, and never an error of the site.

Python refuses to read a number of more than 4300 digits, PostgreSQL one of more than 64 bits, and a calendar ends with
the year 9999.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from django.http import QueryDict
from django.template.response import SimpleTemplateResponse
from django.test import Client

from tests.esweb.row_of_each_kind import OneOfEach
from tests.esweb.test_access_of_routes import routes
from tests.esweb.test_unknown_parameters_are_refused import PARTS, QUERIES, Recorder, operations, recorder, rows
from tests.security.conftest import module_runs_dir, open_connection

__all__ = ["module_runs_dir", "open_connection", "recorder", "rows"]

DIGITS = "9" * 5000
VALUES = (
    "9" * 30, f"-{DIGITS}", "1e999", "-inf", "nan", "\u00b2", "\u0663", "0" * 5000, "9223372036854775808", "-1",
    "99999-12-31", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2026-02-30", "1" * 400 + ".5",
    "run:" + DIGITS, "99999w",
)  # fmt: skip


NUMBERS = {
    "vote-turns": "beside",
    "run-log": "log_attempt log_from log_until log_after log_before log_line",
    "run-responses": "prompts step",
    "viewer": "reward_min same",
    "queue": "going waiting",
    "judge": "work calibrations",
    "tournament": "voters invited",
    "tournament-board": "speakers shown",
    "experiments": "page",
    "experiment": "after",
    "compare": "from to smooth experiment",
    "time-machine": "step sample",
    "home": "since",
}
"""Parameters that are numbers or places, by a route that reads them. The soak tries all parameters of all routes."""


def pages(rows: OneOfEach) -> Iterator[tuple[str, str, QueryDict]]:
    """Yield (route, address, query) of each page."""
    for route, address in rows.addresses():
        if not route.startswith(("api:", "admin:")):
            for written in QUERIES.get(route, [""]):
                yield route, address, QueryDict(written.format(uid=rows.run.uid, experiment=rows.experiment.pk))


@pytest.fixture
def unrendered() -> Iterator[None]:
    """Leave pages empty: what a template writes does not matter here, and takes most of the time."""
    with mock.patch.object(SimpleTemplateResponse, "rendered_content", ""):
        yield


def faults_of_pages(recorder: Recorder, rows: OneOfEach, values: tuple[str, ...]) -> list[str]:
    """Return the requests that end in an error of the site, with each value in each parameter that a page reads."""
    recorder.client.force_login(rows.person)
    faults = list[str]()
    for route, address, query in pages(rows):
        status = recorder.get(address, query, htmx=route in PARTS)
        faults += [f"{route}: {status}"] if status >= 500 else []
        for name in sorted(recorder.read):
            faults += faults_of_parameter(recorder, route, address, query, name, values)
    return faults


def faults_of_parameter(
    recorder: Recorder, route: str, address: str, query: QueryDict, name: str, values: tuple[str, ...]
) -> Iterator[str]:
    """Yield the requests that end in an error of the site, with each value in one parameter."""
    for value in values:
        changed = query.copy()
        changed.setlist(name, [value])
        if (status := recorder.get(address, changed, htmx=route in PARTS)) >= 500:
            yield f"{route}?{name}={value[:30]}: {status}"


def faults_of_api(rows: OneOfEach, values: tuple[str, ...]) -> list[str]:
    """Return the requests that end in an error of the site, with each value in each parameter of an operation."""
    client = Client(raise_request_exception=False)
    client.force_login(rows.person)
    faults = list[str]()
    for address, operation in operations(rows):
        names = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
        query = {"run": rows.run.uid, "key": "reward/mean"} if address.endswith("/series") else {}
        for name in names:
            for value in values:
                status = client.get(address, query | {name: value}).status_code
                faults += [f"{address}?{name}={value[:30]}: {status}"] if status >= 500 else []
    return faults


@pytest.mark.usefixtures("unrendered")
def test_page_answers_a_parameter_of_5000_digits(recorder: Recorder, rows: OneOfEach) -> None:
    recorder.client.force_login(rows.person)
    tried, faults = list[str](), list[str]()
    for route, address in rows.addresses():
        for name in NUMBERS.get(route, "").split():
            tried.append(name)
            faults += faults_of_parameter(recorder, route, address, QueryDict(), name, (DIGITS,))
            faults += [] if name in recorder.read else [f"{route} reads no {name}"]
    assert not faults, "\n".join(faults)
    assert len(tried) == sum(len(names.split()) for names in NUMBERS.values())


@pytest.mark.soak
@pytest.mark.usefixtures("unrendered")
def test_page_answers_any_number_and_date(recorder: Recorder, rows: OneOfEach) -> None:
    assert faults_of_pages(recorder, rows, (DIGITS, *VALUES)) == []


@pytest.mark.usefixtures("open_connection")
def test_api_answers_a_parameter_of_5000_digits(rows: OneOfEach) -> None:
    assert faults_of_api(rows, (DIGITS,)) == []


@pytest.mark.soak
@pytest.mark.usefixtures("open_connection")
def test_api_answers_any_number_and_date(rows: OneOfEach) -> None:
    assert faults_of_api(rows, VALUES) == []


@pytest.mark.usefixtures("open_connection")
@pytest.mark.soak
@pytest.mark.parametrize("value", [DIGITS, "9" * 19, "0"], ids=["5000-digits", "65-bits", "zero"])
def test_path_with_a_number_beyond_limits_is_answered(rows: OneOfEach, value: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(rows.person)
    names = ("pk", "n", "step", "uid", "key", "assignment", "number", "object_id")
    addresses = {address for _, address in routes(dict.fromkeys(names, value)) if value in address}
    faults = [
        f"{address[:60]}: {status}" for address in addresses if (status := client.get(address).status_code) >= 500
    ]
    assert faults == []
