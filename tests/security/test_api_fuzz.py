"""The API responds to any request as its document says, grants no additional access, and has no server error."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests import soak_plugin
from tests.security.sample_rows import ANONYMOUS, ROLES, SECRET, SampleRows, headers_for_role, make_sample_rows
from tests.security.schema_fuzzing import fuzz, names, operations

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
READS = {"GET"}


class RolledBack(Exception):
    """Raised to roll back the changes of one request."""


@pytest.fixture(scope="module")
def sample(shared_rows: DjangoDbBlocker, module_runs_dir: None) -> SampleRows:
    """Return the rows for every operation. The changes of a request are rolled back."""
    with shared_rows.unblock():
        return make_sample_rows()


# Django warns about downloads under WSGI. They are served by ASGI.
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators:Warning")
@pytest.mark.usefixtures("open_connection")
@pytest.mark.parametrize("name", names())
def test_operation_matches_schema_and_access_rules(name: str, sample: SampleRows) -> None:
    for number in soak_plugin.rounds(1, "rounds of requests"):
        fuzz(operations()[name], sample, make_checker(sample), number=number)


def make_checker(sample: SampleRows) -> Callable[[Case], None]:
    """Return a function that sends a request, each time to the original rows.

    The first and simplest request is sent in every role, each further one in the next role only; in a soak all of them
    are sent in every role, and so are all after a failure, which hypothesis repeats.
    """
    numbers, every_role = itertools.count(), bool(soak_plugin.SECONDS)

    def check(case: Case) -> None:
        nonlocal every_role
        number = next(numbers)
        for role in ROLES if every_role or number == 0 else (ROLES[number % len(ROLES)],):
            try:
                with transaction.atomic():
                    send(case, sample, role)
                    raise RolledBack
            except RolledBack:
                pass
            except Exception as error:
                every_role = True
                error.add_note(f"The request was sent as {role}.")
                raise

    return check


def send(case: Case, sample: SampleRows, role: str) -> None:
    """Send the request, and check the response."""
    # Compression is up to a proxy, and tested elsewhere.
    response = case.call(headers={**headers_for_role(sample, role), "Accept-Encoding": "identity"})
    # In a form everything is text: many invalid values cannot be distinguished from valid ones.
    excluded = [negative_data_rejection] if case.media_type == "multipart/form-data" else []
    case.validate_response(response, checks=CHECKS, excluded_checks=excluded)
    check_access(role, case.method.upper(), response)


def check_access(role: str, method: str, response: Response) -> None:
    """Check that strangers get 401, that viewers write nothing, and that hidden rows stay hidden."""
    if role == ANONYMOUS:
        assert response.status_code == 401
    if role == "viewer" and method not in READS:
        # A body that is no JSON is refused before anything is looked up.
        is_unreadable = response.status_code == 400 and "Cannot parse request body" in response.text
        assert response.status_code in (403, 404, 422) or is_unreadable, response.text
    if role != "admin":
        assert SECRET.encode() not in response.content
