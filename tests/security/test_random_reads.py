"""On random sites with random requests: no response depends on rows that are hidden from the caller.

A response must be the same, letter by letter, after everything that is hidden from the caller is deleted: so no name,
count, search, list, chart or estimate reveals it. Visible rows must be shown: otherwise an empty page would pass.
"""

from __future__ import annotations

import re
from collections import Counter
from unittest import mock

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone
from hypothesis import strategies as st

from runs import models
from runs.metrics.live import consumer
from tests.runs import checkpoint_files
from tests.security import expected_access
from tests.security.expected_access import Caller
from tests.security.plan_strategy import on_random_sites
from tests.security.random_requests import Request, callers, read, reads
from tests.security.site_plans import Plan
from tests.security.site_rows import Site, build_site, mark

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
OWN_TOKENS = {"settings-tokens", "api:list_tokens", "api:make_token"}
"""Routes that list a user's tokens, which name their runs, also a run that has been hidden since."""
NEW_EACH_TIME = re.compile(rb'(csrfmiddlewaretoken" value="|x-csrftoken": ")[\w-]+')


def test_hidden_rows_do_not_affect_responses() -> None:
    statuses: Counter[int] = Counter()

    @on_random_sites(7)
    def compare_responses(data: st.DataObject, plan: Plan) -> None:
        candidates = [
            who
            for who in callers(plan)
            if expected_access.may_read(plan, who) and not expected_access.sees_all(plan, who)
        ]
        caller, requests = data.draw(st.sampled_from(candidates)), data.draw(reads(plan))
        site = build_site(plan)
        client = site.client(caller)
        check_lists(client, site, caller)
        # The clock is stopped, since pages show ages.
        with mock.patch("django.utils.timezone.now", return_value=timezone.now()):
            responses = [read_response(client, site, request) for request in requests]
            delete_hidden(site, caller)
            for request, old_response in zip(requests, responses, strict=True):
                check_same(request, old_response, read_response(client, site, request))
        statuses.update(status for status, _ in responses)

    compare_responses()
    assert statuses[200] > 30, "it was shown nothing that could have told of anything"


def test_caller_without_read_access_gets_nothing() -> None:
    """The callers are strangers, deactivated users, and scripts whose token has expired or has another scope."""

    @on_random_sites(3)
    def check_callers(data: st.DataObject, plan: Plan) -> None:
        requests = data.draw(reads(plan))
        site = build_site(plan)
        for caller in callers(plan):
            if not expected_access.may_read(plan, caller):
                client = site.client(caller)
                for request in requests:
                    check_refused(client, site, request)

    check_callers()


def test_shared_link_shows_only_its_runs() -> None:
    statuses: Counter[int] = Counter()

    @on_random_sites(6)
    def open_links(data: st.DataObject, plan: Plan) -> None:
        site = build_site(plan)
        for link, text in zip(site.plan.links, site.links, strict=True):
            runs = expected_access.visible_runs(site.plan, link)
            allowed = {site.plan.runs[run].experiment for run in runs}
            for tail in ("", "chart/?name=reward/mean", "chart/?name=reward", "section/?section=reward"):
                response = Client().get(f"/shared/{text}/{tail}")
                statuses[response.status_code] += 1
                assert response.status_code in ((200, 404) if runs else (410,))
                for experiment in set(range(len(site.experiments))) - allowed:
                    assert mark(experiment).encode() not in response.content

    open_links()
    assert statuses[200] and statuses[410]


def test_socket_watches_only_visible_runs() -> None:
    """The test covers the check for each message that names runs. test_sockets_are_closed tests the socket itself."""

    @on_random_sites(3)
    def watch(data: st.DataObject, plan: Plan) -> None:
        site = build_site(plan)
        uids = [run.uid for run in site.runs]
        for n, person in enumerate(site.people):
            visible = [run for run in range(len(uids)) if is_not_deleted(site, run) and _sees(site, Caller(n), run)]
            assert set(consumer._visible.func(person.pk, uids)) == {uids[run] for run in visible}

    watch()


def check_refused(client: Client, site: Site, request: Request) -> None:
    """Check that the response contains no mark of any experiment."""
    response = read(client, site, request)
    assert response.status_code in (302, 401, 403, 404), request
    assert not any(mark(n).encode() in response.content for n in range(len(site.experiments)))


def check_lists(client: Client, site: Site, caller: Caller) -> None:
    """Check that the API's list of runs holds exactly the runs that the caller may see."""
    runs = client.get("/api/v1/runs?limit=500").json()["items"]
    current = [n for n, run in enumerate(site.plan.runs) if run.shelf == "current" and is_not_deleted(site, n)]
    assert {run["uid"] for run in runs} == {site.runs[n].uid for n in current if _sees(site, caller, n)}


def is_not_deleted(site: Site, run: int) -> bool:
    """Return whether neither the run nor its experiment is in the trash."""
    planned = site.plan.runs[run]
    return "bin" not in (planned.shelf, site.plan.experiments[planned.experiment].shelf)


def _sees(site: Site, caller: Caller, run: int) -> bool:
    return expected_access.sees(site.plan, caller, site.plan.runs[run].experiment)


def check_same(request: Request, before: tuple[int, bytes], after: tuple[int, bytes]) -> None:
    """Check that two responses are equal; the error shows the different lines."""
    assert after[0] == before[0], request
    assert after[1] == before[1], (request, set(before[1].split(b"\n")) ^ set(after[1].split(b"\n")))


def read_response(client: Client, site: Site, request: Request) -> tuple[int, bytes]:
    """Return status and content, without values that are new each time and without the caller's own tokens."""
    response = read(client, site, request)
    content = read_all(response) if response.streaming else response.content  # type: ignore[arg-type]
    return response.status_code, b"" if request.name in OWN_TOKENS else NEW_EACH_TIME.sub(rb"\1", content)


def read_all(response: StreamingHttpResponse) -> bytes:
    """Return the whole content of a download."""

    async def pieces() -> bytes:
        return b"".join([piece async for piece in response])

    content = async_to_sync(pieces)() if response.is_async else b"".join(response)
    checkpoint_files.close(response)
    return content


def delete_hidden(site: Site, caller: Caller) -> None:
    """Delete all rows that are hidden from the caller."""
    hidden = [e.pk for n, e in enumerate(site.experiments) if not expected_access.sees(site.plan, caller, n)]
    models.ApiToken.objects.filter(run__experiment__in=hidden).update(run=None)
    models.Experiment.objects.filter(pk__in=hidden).delete()
    owner = expected_access.person_of(caller)
    for view, planned in zip(site.views, site.plan.views, strict=True):
        if planned.owner != owner and not planned.shared:
            models.SavedView.objects.filter(pk=view.pk).delete()
