"""Whoever calls the API with whatever: it answers as its document says, lets in nobody more, and never falls over."""

from __future__ import annotations

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

from tests import soaking
from tests.security.sample_rows import ANONYMOUS, ROLES, SECRET, Stage, headers_of, set_up
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


class TakenBack(Exception):
    """Ends what one request did."""


@pytest.fixture(scope="module")
def stage(shared_rows: DjangoDbBlocker, runs_dir_of_module: None) -> Stage:
    """Return what is there for every operation. What a request did to it is taken back."""
    with shared_rows.unblock():
        return set_up()


# Django's word on what WSGI does with a download. It is served by ASGI.
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators:Warning")
@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("name", names())
def test_it_answers_as_described_and_lets_in_nobody_more(name: str, stage: Stage) -> None:
    for number in soaking.rounds(1, "rounds of requests"):
        fuzz(operations()[name], stage, judge(stage), number=number)


def judge(stage: Stage) -> Callable[[Case], None]:
    """Return a function that sends a request in every role, each time to what was there before."""

    def in_every_role(case: Case) -> None:
        for role in ROLES:
            try:
                with transaction.atomic():
                    send(case, stage, role)
                    raise TakenBack
            except TakenBack:
                pass
            except Exception as error:
                error.add_note(f"The request was sent as {role}.")
                raise

    return in_every_role


def send(case: Case, stage: Stage, role: str) -> None:
    """Send the request, and check the answer."""
    # A proxy's business, and another test's.
    answer = case.call(headers={**headers_of(stage, role), "Accept-Encoding": "identity"})
    # In a form everything is text: much that does not fit the document cannot be told from what does.
    left_out = [negative_data_rejection] if case.media_type == "multipart/form-data" else []
    case.validate_response(answer, checks=CHECKS, excluded_checks=left_out)
    look(role, case.method.upper(), answer)


def look(role: str, method: str, answer: Response) -> None:
    """Who may not come in is told so; who may not write has not written; what is another's stays unseen."""
    if role == ANONYMOUS:
        assert answer.status_code == 401
    if role == "viewer" and method not in READS:
        assert answer.status_code in (403, 404, 422)
    if role != "admin":
        assert SECRET.encode() not in answer.content
