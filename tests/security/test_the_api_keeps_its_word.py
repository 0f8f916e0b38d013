"""Whoever calls the API with whatever: it answers as its document says, lets in nobody more, and never falls over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction
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
from tests.security.fuzzing import fuzz, operations
from tests.security.stage import ANONYMOUS, ROLES, SECRET, Stage, enter, set_up

OPERATIONS = operations()
EXAMPLES = {ANONYMOUS: 1, "viewer": 2, "member": 4, "admin": 2}
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


# Django's word on what WSGI does with a download. It is served by ASGI.
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators:Warning")
@pytest.mark.usefixtures("connected", "runs_dir")
@pytest.mark.parametrize("name", OPERATIONS)
def test_it_answers_as_described_and_lets_in_nobody_more(name: str) -> None:
    stage = set_up(judging="judging" in OPERATIONS[name].definition.raw["tags"])
    for number in soaking.rounds(1, "rounds of requests"):
        for role in ROLES:
            entered = enter(stage, role)
            fuzz(OPERATIONS[name], entered, judge(entered), number=number, examples=EXAMPLES[role])


def judge(stage: Stage) -> Callable[[Case], None]:
    """Sends a request, looks at the answer, and takes back what it did."""

    def one(case: Case) -> None:
        try:
            with transaction.atomic():
                # A proxy's business, and another test's.
                answer = case.call(headers={**stage.headers, "Accept-Encoding": "identity"})
                # In a form everything is text: much that does not fit the document cannot be told from what does.
                left_out = [negative_data_rejection] if case.media_type == "multipart/form-data" else []
                case.validate_response(answer, checks=CHECKS, excluded_checks=left_out)
                look(stage.role, case.method.upper(), answer)
                raise TakenBack
        except TakenBack:
            pass

    return one


def look(role: str, method: str, answer: Response) -> None:
    """Who may not come in is told so; who may not write has not written; what is another's stays unseen."""
    if role == ANONYMOUS:
        assert answer.status_code == 401
    if role == "viewer" and method not in READS:
        assert answer.status_code in (403, 404, 422)
    if role != "admin":
        assert SECRET.encode() not in answer.content
