"""A plain push never reaches Django, any other does; both paths give the same reply."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.asgi import get_asgi_application
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from esweb.middleware.back_pressure import BackPressure, PushSlots
from esweb.middleware.fast_ingest import MAX_BYTES, FastIngest
from runs import access
from runs.ingest.api import COLUMNS
from runs.models import ApiToken, Attempt, Experiment, RecordFile, Run, Series
from tests.esweb.asgi_requests import AsgiReply, AsgiRequest, send_request
from tests.runs.attempt_records import lines, make_attempt, make_run, metrics
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.records import Status, pack

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("frozen_time")]
DJANGO = get_asgi_application()
JSON, JSONL = "application/json", "application/jsonl"
SECRET = re.compile(rb'"[A-Za-z0-9]{64}"')
Change = Callable[[AsgiRequest], AsgiRequest]


class Site:
    """Both entry paths, with a count of calls that the fast path passed on to Django."""

    def __init__(self) -> None:
        self.django_calls = 0
        self.quick = FastIngest(self._django)

    async def _django(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.django_calls += 1
        await DJANGO(scope, receive, send)


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    return make_attempt(make_run(experiment))


@pytest.fixture
def site(ada: User, experiment: Experiment) -> Site:
    """Return a site that has accepted a push, and so knows a good reply."""
    new_site, other = Site(), make_attempt(make_run(experiment, "the first"))
    assert send_request(new_site.quick, columnar(ada, other)).status == 200
    assert new_site.django_calls == 1
    new_site.django_calls = 0
    return new_site


def columnar(person: User, attempt: Attempt, scope: str = "ingest", body: Any = COLUMNS) -> AsgiRequest:
    """Return a plain push of columns, two records."""
    token = access.issue(person, scope, run=attempt.run if scope == "ingest" else None)[1]
    request = AsgiRequest(f"/api/v1/attempts/{attempt.key}/records")
    return sending(
        request.with_headers(host="localhost", authorization=f"Bearer {token}", content_type=JSON),
        json.dumps(body).encode(),
    )


def sending(request: AsgiRequest, body: bytes, **headers: str) -> AsgiRequest:
    """Return the same request with this body."""
    return replace(request, body=[body]).with_headers(content_length=str(len(body)), **headers)


def jsonl(some: Any) -> Change:
    data = b"".join(pack(line.seq, line.t, line.record) for line in some)
    return lambda request: sending(request, data, content_type=JSONL)


def other_columns(**changed: Any) -> Change:
    return lambda request: sending(request, json.dumps(COLUMNS | changed).encode())


def zipped(request: AsgiRequest) -> AsgiRequest:
    return sending(request, gzip.compress(request.body[0]), content_encoding="gzip")


def with_headers(**headers: str) -> Change:
    return lambda request: request.with_headers(**headers)


def twice(name: str, text: str) -> Change:
    return lambda request: replace(request, headers=[*request.headers, (name, text)])


def in_parts(request: AsgiRequest) -> AsgiRequest:
    (body,) = request.body
    return replace(request, body=[body[:10], b"", body[10:]])


QUICK: dict[str, Change] = {
    "columns": lambda request: request,
    "an epoch": lambda request: replace(request, query="epoch=3"),
    "in parts": in_parts,
    "gzip": zipped,
    "lines": jsonl(metrics(4)),
    "identity": with_headers(content_encoding="identity"),
}
LONG: dict[str, Change] = {
    "a gap": other_columns(seq=1),
    "columns of unequal length": other_columns(t=[1.0]),
    "no JSON": lambda request: sending(request, b"{"),
    "nothing": lambda request: sending(request, b"", content_type=JSONL),
    "a status": jsonl(lines([Status("training", "", 0.5)])),
    "a line that is none": lambda request: sending(request, b"nonsense\n", content_type=JSONL),
    "no columns": lambda request: sending(request, b'{"seq":0,"t":[],"step":[],"values":{}}'),
    "another type": with_headers(content_type="text/plain"),
    "a charset": with_headers(content_type="application/json; charset=utf-8"),
    "gzip that is none": with_headers(content_encoding="gzip"),
    "gzip that is cut off": lambda request: sending(zipped(request), zipped(request).body[0][:-9]),
    "an encoding that is not known": with_headers(content_encoding="br"),
    "a large body": lambda request: sending(request, b" " * (MAX_BYTES + 1)),
    "a body that is too large": lambda request: sending(request, b" " * (8 * MAX_BYTES + 1)),
    "a wrong token": with_headers(authorization="Bearer esw_wrong"),
    "no token": with_headers(authorization=""),
    "another scheme": with_headers(authorization="Basic YTpi"),
    "two tokens": twice("authorization", "Bearer esw_other"),
    "no such attempt": lambda request: replace(request, path="/api/v1/attempts/esweb-none-a1/records"),
    "a key that is none": lambda request: replace(request, path="/api/v1/attempts/UPPER/records"),
    "a negative epoch": lambda request: replace(request, query="epoch=-1"),
    "an epoch too large": lambda request: replace(request, query="epoch=2147483648"),
    "two epochs": lambda request: replace(request, query="epoch=1&epoch=2"),
    "something else asked": lambda request: replace(request, query="more=1"),
    "another method": lambda request: replace(request, method="GET"),
    "another host": with_headers(host="elsewhere.example"),
    "a bad host": with_headers(host="local host"),
}


def test_answers_are_those_of_django(
    site: Site, ada: User, experiment: Experiment, caplog: pytest.LogCaptureFixture
) -> None:
    """Each case has attempts of its own; all share a site, since cleaning up costs more than a case."""
    for name, change in (QUICK | LONG).items():
        site.django_calls = 0
        replies = []
        for app in (DJANGO, site.quick):
            attempt = make_attempt(make_run(experiment, name))
            request = change(columnar(ada, attempt))
            replies.append([anonymous(send_request(app, request), attempt) for _ in range(2)])
        assert replies[0] == replies[1], name
        assert site.django_calls == (0 if name in QUICK else 2), name
        assert (replies[0][0].status == 200) or name not in QUICK, name


def anonymous(answer: AsgiReply, attempt: Attempt) -> AsgiReply:
    """Return the reply without the parts that name its attempt, and without the secrets that are new in each."""
    headers = {name: text for name, text in answer.headers.items() if name != "set-cookie"}
    return replace(answer, headers=headers, body=SECRET.sub(b"", answer.body.replace(attempt.key.encode(), b"KEY")))


def delete(run: Run, person: User) -> None:
    Run.objects.filter(pk=run.pk).update(deleted_at=timezone.now())


def bin_experiment(run: Run, person: User) -> None:
    Experiment.objects.filter(pk=run.experiment_id).update(deleted_at=timezone.now())


def revoke(run: Run, person: User) -> None:
    access.revoke(ApiToken.objects.get(run=run))


def expire(run: Run, person: User) -> None:
    ApiToken.objects.filter(run=run).update(expires_at=timezone.now() - timedelta(seconds=1))


def shut_out(run: Run, person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)


def take_private(run: Run, person: User) -> None:
    other = User.objects.create(username="di")
    Experiment.objects.filter(pk=run.experiment_id).update(is_private=True, owner=other)


@pytest.mark.parametrize(
    ("end", "status"),
    [(delete, 404), (bin_experiment, 404), (revoke, 401), (expire, 401), (shut_out, 401), (take_private, 404)],
)
def test_a_right_that_has_ended_ends_with_the_next_push(
    end: Callable[[Run, User], None], status: int, site: Site, ada: User, attempt: Attempt
) -> None:
    request = columnar(ada, attempt)
    assert send_request(site.quick, request).json == {"kept": 2, "next_seq": 2}
    assert site.django_calls == 0
    end(attempt.run, ada)
    next_two = sending(request, json.dumps(COLUMNS | {"seq": 2}).encode())
    assert send_request(site.quick, next_two).status == status
    assert RecordFile.objects.get(attempt=attempt).next_seq == 2


def test_tokens_that_may_do_more_go_the_long_way(site: Site, ada: User, attempt: Attempt) -> None:
    assert send_request(site.quick, columnar(ada, attempt, "admin")).json == {"kept": 2, "next_seq": 2}
    assert send_request(site.quick, columnar(ada, attempt, "read")).status == 403
    assert site.django_calls == 2


def test_each_push_is_counted_once_whichever_way_it_goes(
    site: Site, ada: User, attempt: Attempt, settings: Settings
) -> None:
    settings.PUSHES_PER_MINUTE = 3
    request = columnar(ada, attempt)
    gap = sending(request, json.dumps(COLUMNS | {"seq": 9}).encode())
    answers = [send_request(site.quick, each) for each in (request, gap, request, request)]
    assert [answer.status for answer in answers] == [200, 409, 200, 429]
    assert answers[3].json["detail"] == f"Too many requests: try again in {answers[3].headers['retry-after']} s"


def test_strangers_are_counted_too(site: Site, attempt: Attempt, ada: User, settings: Settings) -> None:
    settings.STRANGERS_PER_MINUTE = 2
    wrong = columnar(ada, attempt).with_headers(authorization="Bearer esw_" + uuid4().hex)

    class Elsewhere:
        """The same from an address of its own: counts outlive a test."""

        async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
            await site.quick(scope | {"client": (address, 5)}, receive, send)

    address = uuid4().hex
    assert [send_request(Elsewhere(), wrong).status for _ in range(4)] == [401, 401, 429, 429]


class Counted(PushSlots):
    """Places that know how often somebody came for one."""

    came = 0

    def occupied(self) -> AbstractContextManager[None]:
        self.came += 1
        return super().occupied()


def test_push_without_a_slot_is_refused_after_one_wait(
    site: Site, ada: User, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Counted(1, 1, 0.05)
    monkeypatch.setattr(BackPressure, "slots", full)
    request = columnar(ada, attempt)
    with full.occupied():
        refused = send_request(site.quick, request)
    assert full.came == 2
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.json["detail"] == "Overloaded: no push finished within 0.05 s. Try again in 1 s"
    assert send_request(site.quick, request).json == {"kept": 2, "next_seq": 2}


def test_disconnected_push_leaves_nothing(site: Site, ada: User, attempt: Attempt) -> None:
    send_request(site.quick, in_parts(columnar(ada, attempt)), goes_away=True)
    assert site.django_calls == 1
    assert not RecordFile.objects.filter(attempt=attempt).exists()


def test_a_connection_that_breaks_costs_a_push_only_time(
    site: Site, ada: User, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    request, answers = columnar(ada, attempt), list[AsgiReply]()
    with connection.cursor() as sql, ExitStack() as cleanup:
        sql.execute("SELECT pg_advisory_lock(hashtextextended('ingest', %s))", [attempt.run_id])
        cleanup.callback(sql.execute, "SELECT pg_advisory_unlock_all()")
        push = threading.Thread(target=lambda: answers.append(send_request(site.quick, request)))
        push.start()
        sql.execute("SELECT pg_terminate_backend(%s)", [first_of(sql, waiting)])
        wait_until(lambda: site.django_calls, "the push to be handed to Django")
    push.join(PATIENCE_SECONDS)
    assert [answer.json for answer in answers] == [{"kept": 2, "next_seq": 2}]
    assert Series.objects.get(run=attempt.run, key="kl").points == 1
    assert "the API handles the push" in caplog.text


def first_of(sql: Any, query: str) -> Any:
    """Return the first value that the query selects, once it selects one."""

    def first_row() -> Any:
        sql.execute(query)
        return sql.fetchone()

    return wait_until(first_row, "the push to wait for the lock")[0]
