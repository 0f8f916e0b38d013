"""No byte of a body is read before its sender may send it, and none beyond what its route takes.

Every route of the site is tried, through the ASGI application that `manage.py up` serves.
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
from tests.esweb.asgi_requests import Knock, knock
from tests.esweb.test_every_address_is_closed import routes
from tests.runs.attempt_records import make_attempt, make_run
from tests.security.delivering import PIECE, Delivery, deliver, endless

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("unlimited_calls")]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SCOPES = ("read", "ingest", "launch", "serve", "admin")
UPLOAD_IN_TEST = 3 * 1024 * 1024
"""Instead of hundreds of megabytes."""


@pytest.fixture
def unlimited_calls(settings: Settings) -> None:
    """The walks below call far more often than a site lets anybody."""
    settings.STRANGERS_PER_MINUTE = settings.CALLS_PER_MINUTE = settings.SIGN_INS_PER_MINUTE = 10**9
    settings.PUSHES_PER_MINUTE = 10**9


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


@pytest.fixture
def addresses(attempt: Attempt, experiment: Experiment) -> list[tuple[str, str]]:
    """Every route with its address, which leads to something where it names a run, an attempt or an experiment."""
    there = {"pk": experiment.pk, "uid": attempt.run.uid, "key": attempt.key, "n": 1, "step": 5}
    return sorted(set(routes(there)))


def request(address: str, method: str = "POST", token: str = "", **headers: str) -> Knock:
    """A request whose body comes in chunks."""
    shown = {"authorization": f"Bearer {token}"} if token else {}
    sent = Knock(address, (), [], method=method)
    return sent.with_headers(host="localhost", transfer_encoding="chunked", **shown, **headers)


def declared(sent: Knock, size: int) -> Knock:
    """The same with the length of its body said before."""
    headers = [(name, text) for name, text in sent.headers if name not in ("transfer-encoding", "content-length")]
    return replace(sent, headers=[*headers, ("content-length", str(size))])


def push(token: str, attempt: Attempt) -> Knock:
    """A push that goes the quick way."""
    body = json.dumps(COLUMNS).encode()
    sent = Knock(f"/api/v1/attempts/{attempt.key}/records", [body])
    headers = {"authorization": f"Bearer {token}", "content_type": "application/json"}
    return sent.with_headers(host="localhost", content_length=str(len(body)), **headers)


def not_enough(address: str, method: str, tokens: dict[str, str]) -> Iterator[str]:
    """Yield the tokens whose scope does not let their person call the operation."""
    operation = api.operation(resolve(address).url_name, method)
    for way in operation.auth_callbacks if operation else []:
        if needed := getattr(way, "needed", ""):
            yield from (tokens[scope] for scope in SCOPES if scope not in GRANTS[needed])


def test_the_api_reads_no_body_of_whoever_may_not_send_it(
    ada: User, bo: User, attempt: Attempt, addresses: list[tuple[str, str]], experiment: Experiment
) -> None:
    first, other = make_attempt(make_run(experiment, "first")), make_run(experiment, "other")
    assert knock(application, push(access.issue(ada, "ingest", run=first.run)[1], first)).status == 200
    tokens = {scope: access.issue(ada, scope, run=other if scope == "ingest" else None)[1] for scope in SCOPES}
    expired, late = access.issue(ada, "admin")
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    walked, read = set(), {}
    for name, address in addresses:
        if not address.startswith("/api/v1/"):
            continue
        for method in METHODS:
            others = list(not_enough(address, method, tokens))
            for n, token in enumerate(["", "esw_wrong", late, *others] if others else [""]):
                sent = request(address, method, token)
                walked.add(name)
                done = deliver(application, declared(sent, 8176) if n % 2 else sent, endless())
                if done.calls or done.status < 300:
                    read[name, method, token] = done
    assert len(walked) > 80
    assert not read, list(read.items())[:5]


def test_a_push_is_not_read_of_whoever_may_not_write_that_attempt(
    ada: User, attempt: Attempt, experiment: Experiment
) -> None:
    """By the quick way and by Django, with the token of another run, and one that has ended."""
    other = make_run(experiment, "other")
    ended, late = access.issue(ada, "ingest", run=attempt.run)
    ApiToken.objects.filter(pk=ended.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    cases = {late: 401, access.issue(ada, "ingest", run=other)[1]: 404, access.issue(ada, "read")[1]: 403, "esw_x": 401}
    assert knock(application, push(access.issue(ada, "ingest", run=attempt.run)[1], attempt)).status == 200
    for token, status in cases.items():
        for sent in (push(token, attempt), request(push(token, attempt).path, token=token)):
            assert deliver(application, sent, endless()) == Delivery(status, 0, 0)
    assert RecordFile.objects.get(attempt=attempt).next_seq == len(COLUMNS["t"])  # type: ignore[arg-type]


def test_a_token_of_nobody_is_looked_up_once(
    ada: User, attempt: Attempt, addresses: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a push by the quick way, of anything else by the limits of bodies, and by its route no more."""
    assert knock(application, push(access.issue(ada, "ingest", run=attempt.run)[1], attempt)).status == 200
    looked_up = list[str]()
    for name, real in (("runs.access.verify", access.verify), ("runs.ingest.may_write", ingest.may_write)):
        monkeypatch.setattr(name, lambda *shown, name=name, real=real: (looked_up.append(name), real(*shown))[1])
    short = push("esw_wrong", attempt)
    for sent in (short, declared(short, MAX_BYTES)):
        looked_up.clear()
        assert deliver(application, sent, endless()) == Delivery(401, 0, 0)
        assert looked_up == ["runs.ingest.may_write"]
    refused = 0
    for _, address in addresses:
        looked_up.clear()
        if address.startswith("/api/v1/") and knocked(address) == 401:
            refused += 1
            assert looked_up == ["runs.access.verify"], address
    assert refused > 30


def knocked(address: str) -> int:
    """The status of a POST with a wrong token, whose body comes in chunks."""
    return deliver(application, request(address, token="esw_wrong"), endless()).status


def test_a_push_is_read_of_whoever_may_write_it(ada: User, attempt: Attempt) -> None:
    """So that the tests above measure what they say."""
    token = access.issue(ada, "ingest", run=attempt.run)[1]
    body = json.dumps(COLUMNS).encode()
    for n in range(3):
        answer = deliver(application, push(token, attempt), [body])
        assert (answer.status, answer.bytes_read) == (200, len(body)), n


def browser(person: User) -> dict[str, str]:
    """The headers of a browser in which the person is signed in, with its CSRF token."""
    client = Client()
    client.force_login(person)
    client.get(reverse("import"))
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    return {"cookie": cookies, "x_csrftoken": client.cookies["csrftoken"].value}


def test_no_route_reads_more_than_it_takes(
    ada: User, addresses: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Of somebody who may do everything, with the length said before and in chunks without an end."""
    for name in UPLOAD_BYTES:
        monkeypatch.setitem(UPLOAD_BYTES, name, UPLOAD_IN_TEST)
    monkeypatch.setattr(body_limits, "RECORDS_AT_MOST", UPLOAD_IN_TEST)
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    ada.refresh_from_db()
    token, signed_in = access.issue(ada, "admin")[1], browser(ada)
    most = UPLOAD_IN_TEST + settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    wrong, refused = {}, 0
    for name, address in addresses:
        is_api = address.startswith("/api/v1/")
        sent = request(address, token=token) if is_api else request(address, **signed_in)
        unread = deliver(application, declared(sent, 10**12), endless())
        cut_off = deliver(application, sent, endless())
        refused += cut_off.status == 413
        takes_post = not is_api or api.operation(resolve(address).url_name, "POST") is not None
        expected = (413,) if takes_post else (403, 404, 405)
        if unread.status not in expected or unread.calls or cut_off.bytes_read > most + len(PIECE):
            wrong[name] = (unread, cut_off)
        if cut_off.status not in expected:
            wrong[name] = (unread, cut_off)
    assert refused > 100
    assert not wrong, list(wrong.items())[:5]


def open_forms(addresses: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pages that need no signing in: the form to sign in, and those of invited voters, among others."""
    found = [(n, a) for n, a in addresses if not a.startswith("/api/")]
    return [(n, a) for n, a in found if not getattr(resolve(a).func, "login_required", True)]


def test_open_forms_take_64_kilobytes_and_no_compressed_body(addresses: list[tuple[str, str]]) -> None:
    forms = open_forms(addresses)
    assert {"login", "vote-choices", "vote-reveal", "vote-link"} <= {name for name, _ in forms}
    for name, address in forms:
        sent = request(address, content_type="application/x-www-form-urlencoded")
        assert deliver(application, declared(sent, STRANGER_BYTES + 1), endless()) == Delivery(413, 0, 0), name
        cut_off = deliver(application, sent, endless())
        assert (cut_off.status, cut_off.bytes_read) == (413, len(PIECE) * 2), name
        for encoding in ("gzip", "deflate", "br", "GZIP"):
            packed = sent.with_headers(content_encoding=encoding)
            assert deliver(application, packed, endless()) == Delivery(415, 0, 0), (name, encoding)


def test_pages_take_64_kilobytes_of_whoever_has_not_signed_in(addresses: list[tuple[str, str]]) -> None:
    for name, address in addresses:
        if not address.startswith("/api/"):
            cut_off = deliver(application, request(address), endless())
            assert (cut_off.status, cut_off.bytes_read) == (413, len(PIECE) * 2), name


def test_whoever_sends_while_the_database_comes_back_is_asked_to_send_again(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database fails while it is asked for the sender, and is well when Django gets the request."""

    def fail(_: HttpRequest) -> None:
        raise OperationalError("the database system is in recovery mode")

    new = json.dumps({"name": "Lasting", "question": "Does it last?"}).encode()
    sent = Knock("/api/v1/experiments", [new]).with_headers(
        host="localhost", authorization=f"Bearer {access.issue(ada, 'launch')[1]}", content_type="application/json",
        content_length=str(len(new)),
    )  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setattr(body_limits, "allowance", fail)
        refused = knock(application, sent)
    assert (refused.status, refused.headers.get("retry-after")) == (503, "5")
    assert refused.json["detail"] == "The database does not answer. Try again in a few seconds."
    assert knock(application, sent).status == 201


def test_a_form_to_sign_in_is_read(ada: User) -> None:
    """One that has the limit's length, as the tests of longer ones show nothing otherwise."""
    ada.set_password("correct horse")
    ada.save()
    client = Client()
    token = client.get("/login/").cookies["csrftoken"].value
    body = f"username=ada&password=correct+horse&csrfmiddlewaretoken={token}&x=".encode()
    body += b"x" * (STRANGER_BYTES - len(body))
    sent = request("/login/", cookie=f"csrftoken={token}", content_type="application/x-www-form-urlencoded")
    assert deliver(application, declared(sent, len(body)), [body]).status == 302


def test_a_longer_session_form_is_read_of_whoever_signed_in(ada: User, experiment: Experiment) -> None:
    note = "x" * (4 * STRANGER_BYTES)
    body = f"name=Concise&question=&tags=&note={note}".encode()
    address = reverse("experiment-edit", args=[experiment.pk])
    sent = request(address, content_type="application/x-www-form-urlencoded", **browser(ada))
    assert deliver(application, declared(sent, len(body)), [body]).status in (200, 302)


def test_pages_take_so_many_fields(ada: User, addresses: list[tuple[str, str]]) -> None:
    body, signed_in = b"&".join(b"a=1" for _ in range(1001)), browser(ada)
    for name, address in addresses:
        if not address.startswith("/api/"):
            sent = request(address, content_type="application/x-www-form-urlencoded", **signed_in)
            assert 400 <= deliver(application, declared(sent, len(body)), [body]).status < 500, name


def test_uploads_have_a_limit_of_their_own_by_the_name_of_a_route(addresses: list[tuple[str, str]]) -> None:
    assert set(UPLOAD_BYTES) <= {name for name, _ in addresses}
    assert record_body.MAX_BYTES == MAX_BYTES


def test_refusals_of_bodies_say_what_is_taken(ada: User, attempt: Attempt, settings: Settings) -> None:
    token = access.issue(ada, "admin")[1]
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    long = declared(request("/api/v1/experiments", token=token), most + 1)
    told: Any = knock(application, replace(long, body=[b""]))
    assert (told.status, told.headers["content-type"]) == (413, "application/problem+json")
    assert f"more than {most} bytes" in told.json["detail"]
    page = knock(application, replace(declared(request("/login/"), STRANGER_BYTES + 1), body=[b""]))
    assert f"At most {STRANGER_BYTES} bytes" in page.body.decode()
    assert "content-security-policy" in page.headers
    packed = replace(request("/api/v1/experiments", token=token, content_encoding="gzip"), body=[b""])
    assert "only pushes of records may be gzip" in knock(application, packed).json["detail"]
