"""Bodies are read only after their sender is authorised, and only up to the route's limit.

Every route of the site is tested, through the ASGI application that `manage.py up` serves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.http import HttpRequest
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from esweb.api import api
from esweb.asgi import application
from esweb.middleware import body_limits
from esweb.middleware.body_limits import STRANGER_BYTES, UPLOAD_BYTES
from runs import access, ingest
from runs.access import GRANTS
from runs.ingest import MAX_BYTES, record_body
from runs.ingest.api import COLUMNS
from runs.models import ApiToken, Attempt, Experiment, RecordFile
from runs.models.token import SCOPES
from tests.esweb.asgi_requests import AsgiRequest, send_request
from tests.esweb.test_access_of_routes import routes
from tests.runs.attempt_records import make_attempt, make_run
from tests.security.delivery import PIECE, Delivery, deliver, endless_body

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("unlimited_calls")]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PUBLIC = {"api-docs", "api:openapi-json"}
"""Descriptions of the API, which everybody may read."""
UPLOAD_IN_TEST, FORM_IN_TEST = 4 * STRANGER_BYTES, 2 * STRANGER_BYTES
"""Limits of uploads and forms in a test of all routes, instead of hundreds of megabytes and some."""


@pytest.fixture
def unlimited_calls(settings: Settings) -> None:
    """Raise the rate limits: the tests below send far more calls than a site allows."""
    settings.STRANGERS_PER_MINUTE = settings.CALLS_PER_MINUTE = settings.SIGN_INS_PER_MINUTE = 10**9
    settings.PUSHES_PER_MINUTE = 10**9


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


@pytest.fixture
def addresses(attempt: Attempt, experiment: Experiment) -> list[tuple[str, str]]:
    """Return every address once, with one of its routes' names; parameters for a run, an attempt or an experiment name
    existing rows."""
    parameters = {"pk": experiment.pk, "uid": attempt.run.uid, "key": attempt.key, "n": 1, "step": 5}
    names = {address: name for name, address in routes(parameters)}
    return [(name, address) for address, name in sorted(names.items())]


def request(address: str, method: str = "POST", token: str = "", **headers: str) -> AsgiRequest:
    """Return a request whose body comes in chunks."""
    authorization = {"authorization": f"Bearer {token}"} if token else {}
    sent = AsgiRequest(address, (), [], method=method)
    return sent.with_headers(host="localhost", transfer_encoding="chunked", **authorization, **headers)


def with_content_length(request_sent: AsgiRequest, size: int) -> AsgiRequest:
    """Return the request with a Content-Length instead of chunks."""
    headers = [
        (name, text) for name, text in request_sent.headers if name not in ("transfer-encoding", "content-length")
    ]
    return replace(request_sent, headers=[*headers, ("content-length", str(size))])


def push(token: str, attempt: Attempt) -> AsgiRequest:
    """Return a push that is handled by the fast path."""
    body = json.dumps(COLUMNS).encode()
    sent = AsgiRequest(f"/api/v1/attempts/{attempt.key}/records", [body])
    headers = {"authorization": f"Bearer {token}", "content_type": "application/json"}
    return sent.with_headers(host="localhost", content_length=str(len(body)), **headers)


def insufficient_tokens(address: str, method: str, tokens: dict[str, str]) -> Iterator[str]:
    """Yield the tokens whose scope does not allow the operation."""
    operation = api.operation(resolve(address).url_name, method)
    for callback in operation.auth_callbacks if operation else []:
        if needed := getattr(callback, "needed", ""):
            yield from (tokens[scope] for scope in SCOPES if scope not in GRANTS[needed])


def test_api_reads_no_body_of_unauthorised_sender(
    ada: User, bo: User, attempt: Attempt, addresses: list[tuple[str, str]], experiment: Experiment
) -> None:
    first, other = make_attempt(make_run(experiment, "first")), make_run(experiment, "other")
    assert send_request(application, push(access.issue(ada, "ingest", run=first.run)[1], first)).status == 200
    tokens = {scope: access.issue(ada, scope, run=other if scope == "ingest" else None)[1] for scope in SCOPES}
    expired, expired_text = access.issue(ada, "admin")
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    visited, failures, operations = set(), {}, 0
    for name, address in addresses:
        if not address.startswith("/api/v1/"):
            continue
        for method in METHODS:
            # GET has no body that anybody reads; the scopes that it needs are tested in tests/runs/http/test_auth.py.
            others = list(insufficient_tokens(address, method, tokens))
            # Two of them, in turn, so that each scope meets many routes.
            operations += bool(others)
            others = (others[operations % len(others) :] + others)[: 1 if method == "GET" else 2] if others else []
            for n, token in enumerate(["", expired_text, *others] if others else [""]):
                sent = request(address, method, token)
                visited.add(address)
                delivery = deliver(application, with_content_length(sent, 8176) if n % 2 else sent, endless_body())
                if delivery.calls or (delivery.status < 300 and name not in PUBLIC):
                    failures[name, method, token] = delivery
    assert len(visited) > 80
    assert not failures, list(failures.items())[:5]


def test_push_body_is_not_read_for_foreign_attempt(ada: User, attempt: Attempt, experiment: Experiment) -> None:
    """Test the fast path and Django, with the token of another run, and an expired one."""
    other = make_run(experiment, "other")
    expired, expired_text = access.issue(ada, "ingest", run=attempt.run)
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    cases = {
        expired_text: 401,
        access.issue(ada, "ingest", run=other)[1]: 404,
        access.issue(ada, "read")[1]: 403,
        "esw_x": 401,
    }
    assert send_request(application, push(access.issue(ada, "ingest", run=attempt.run)[1], attempt)).status == 200
    for token, status in cases.items():
        for sent in (push(token, attempt), request(push(token, attempt).path, token=token)):
            assert deliver(application, sent, endless_body()) == Delivery(status, 0, 0)
    assert RecordFile.objects.get(attempt=attempt).next_seq == len(COLUMNS["t"])  # type: ignore[arg-type]


def test_unknown_token_is_looked_up_once(
    ada: User, attempt: Attempt, addresses: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast path looks up a push's token, the body limits look up all others, and the route does not repeat it."""
    assert send_request(application, push(access.issue(ada, "ingest", run=attempt.run)[1], attempt)).status == 200
    looked_up = list[str]()
    for name, original in (("runs.access.verify", access.verify), ("runs.ingest.may_write", ingest.may_write)):
        monkeypatch.setattr(name, lambda *args, name=name, real=original: (looked_up.append(name), real(*args))[1])
    short = push("esw_wrong", attempt)
    for sent in (short, with_content_length(short, MAX_BYTES)):
        looked_up.clear()
        assert deliver(application, sent, endless_body()) == Delivery(401, 0, 0)
        assert looked_up == ["runs.ingest.may_write"]
    refused = 0
    for _, address in addresses:
        looked_up.clear()
        if not address.startswith("/api/v1/"):
            continue
        delivery = deliver(application, request(address, token="esw_wrong"), endless_body())
        assert delivery.calls == 0, address
        if delivery.status == 401:
            refused += 1
            assert looked_up == ["runs.access.verify"], address
    assert refused > 30


def test_authorised_push_body_is_read(ada: User, attempt: Attempt) -> None:
    """This test proves that the tests above measure reads."""
    token = access.issue(ada, "ingest", run=attempt.run)[1]
    body = json.dumps(COLUMNS).encode()
    for n in range(3):
        delivery = deliver(application, push(token, attempt), [body])
        assert (delivery.status, delivery.bytes_read) == (200, len(body)), n


def browser_headers(person: User) -> dict[str, str]:
    """Return the headers of a browser in which the user is signed in, with its CSRF token."""
    client = Client()
    client.force_login(person)
    client.get(reverse("import"))
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    return {"cookie": cookies, "x_csrftoken": client.cookies["csrftoken"].value}


def test_routes_read_no_more_than_their_limit(
    ada: User, addresses: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """The sender is an admin, with a declared length and with endless chunks."""
    for name in UPLOAD_BYTES:
        monkeypatch.setitem(UPLOAD_BYTES, name, UPLOAD_IN_TEST)
    monkeypatch.setattr(body_limits, "RECORDS_AT_MOST", UPLOAD_IN_TEST)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = FORM_IN_TEST
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    ada.refresh_from_db()
    token, signed_in = access.issue(ada, "admin")[1], browser_headers(ada)
    max_bytes = UPLOAD_IN_TEST + settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    failures, refused = {}, 0
    for name, address in addresses:
        is_api = address.startswith("/api/v1/")
        sent = request(address, token=token) if is_api else request(address, **signed_in)
        unread = deliver(application, with_content_length(sent, 10**12), endless_body())
        cut_off = deliver(application, sent, endless_body())
        refused += cut_off.status == 413
        takes_post = not is_api or api.operation(resolve(address).url_name, "POST") is not None
        expected = (413,) if takes_post else (403, 404, 405)
        if unread.status not in expected or unread.calls or cut_off.bytes_read > max_bytes + len(PIECE):
            failures[name] = (unread, cut_off)
        if cut_off.status not in expected:
            failures[name] = (unread, cut_off)
    assert refused > 100
    assert not failures, list(failures.items())[:5]


def list_open_forms(addresses: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pages that need no sign-in, such as the sign-in form and those of invited voters."""
    pages = [(n, a) for n, a in addresses if not a.startswith("/api/")]
    return [(n, a) for n, a in pages if not getattr(resolve(a).func, "login_required", True)]


def test_open_forms_take_64_kilobytes_and_no_compressed_body(addresses: list[tuple[str, str]]) -> None:
    forms = list_open_forms(addresses)
    assert {"login", "vote-choices", "vote-reveal", "vote-link"} <= {name for name, _ in forms}
    for name, address in forms:
        sent = request(address, content_type="application/x-www-form-urlencoded")
        assert deliver(application, with_content_length(sent, STRANGER_BYTES + 1), endless_body()) == Delivery(
            413, 0, 0
        ), name
        cut_off = deliver(application, sent, endless_body())
        assert (cut_off.status, cut_off.bytes_read) == (413, len(PIECE) * 2), name
        for encoding in ("gzip", "deflate", "br", "GZIP"):
            packed = sent.with_headers(content_encoding=encoding)
            assert deliver(application, packed, endless_body()) == Delivery(415, 0, 0), (name, encoding)


def test_pages_accept_64_kilobytes_without_sign_in(addresses: list[tuple[str, str]]) -> None:
    for name, address in addresses:
        if not address.startswith("/api/"):
            cut_off = deliver(application, request(address), endless_body())
            assert (cut_off.status, cut_off.bytes_read) == (413, len(PIECE) * 2), name


def test_sender_gets_503_during_database_recovery(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database fails while the sender is looked up, and works when Django gets the request."""

    def raise_recovery_error(_: HttpRequest) -> None:
        raise OperationalError("the database system is in recovery mode")

    body = json.dumps({"name": "Lasting", "question": "Does it last?"}).encode()
    sent = AsgiRequest("/api/v1/experiments", [body]).with_headers(
        host="localhost", authorization=f"Bearer {access.issue(ada, 'launch')[1]}", content_type="application/json",
        content_length=str(len(body)),
    )  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setattr(body_limits, "allowance", raise_recovery_error)
        response = send_request(application, sent)
    assert (response.status, response.headers.get("retry-after")) == (503, "5")
    assert response.json["detail"] == "The database does not answer. Try again in a few seconds."
    assert send_request(application, sent).status == 201


def test_sign_in_form_is_read(ada: User) -> None:
    """The form has the limit's length; without this, tests of longer forms would prove nothing."""
    ada.set_password("correct horse")
    ada.save()
    client = Client()
    token = client.get("/login/").cookies["csrftoken"].value
    body = f"username=ada&password=correct+horse&csrfmiddlewaretoken={token}&x=".encode()
    body += b"x" * (STRANGER_BYTES - len(body))
    sent = request("/login/", cookie=f"csrftoken={token}", content_type="application/x-www-form-urlencoded")
    assert deliver(application, with_content_length(sent, len(body)), [body]).status == 302


def test_signed_in_user_sends_longer_form(ada: User, experiment: Experiment) -> None:
    note = "x" * (STRANGER_BYTES + 10_000)
    body = f"name=Concise&question=&tags=&note={note}".encode()
    address = reverse("experiment-edit", args=[experiment.pk])
    sent = request(address, content_type="application/x-www-form-urlencoded", **browser_headers(ada))
    assert deliver(application, with_content_length(sent, len(body)), [body]).status in (200, 302)


def test_pages_limit_number_of_fields(ada: User, addresses: list[tuple[str, str]]) -> None:
    body, signed_in = b"&".join(b"a=1" for _ in range(1001)), browser_headers(ada)
    for name, address in addresses:
        if not address.startswith("/api/"):
            sent = request(address, content_type="application/x-www-form-urlencoded", **signed_in)
            assert 400 <= deliver(application, with_content_length(sent, len(body)), [body]).status < 500, name


def test_upload_limits_name_existing_routes(addresses: list[tuple[str, str]]) -> None:
    assert set(UPLOAD_BYTES) <= {name for name, _ in addresses}
    assert record_body.MAX_BYTES == MAX_BYTES


def test_body_refusal_names_limit(ada: User, attempt: Attempt, settings: Settings) -> None:
    token = access.issue(ada, "admin")[1]
    max_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    long = with_content_length(request("/api/v1/experiments", token=token), max_bytes + 1)
    response: Any = send_request(application, replace(long, body=[b""]))
    assert (response.status, response.headers["content-type"]) == (413, "application/problem+json")
    assert f"limit of {max_bytes} bytes" in response.json["detail"]
    page = send_request(application, replace(with_content_length(request("/login/"), STRANGER_BYTES + 1), body=[b""]))
    assert f"larger than {STRANGER_BYTES} bytes" in page.body.decode()
    assert "content-security-policy" in page.headers
    packed = replace(request("/api/v1/experiments", token=token, content_encoding="gzip"), body=[b""])
    assert "only pushes of records may use gzip" in send_request(application, packed).json["detail"]
