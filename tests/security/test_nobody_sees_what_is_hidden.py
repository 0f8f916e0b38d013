"""On sites drawn at random, with requests drawn at random: nobody is told of what the oracle says is hidden from them.

An answer must be the same, letter by letter, when everything that is hidden from the caller is gone: so no name, count,
search, list, chart or estimate tells of it. What is not hidden must be there: else showing nothing would do.
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
from tests.security.site_rows import Site, build, mark

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
OWN_TOKENS = {"settings-tokens", "api:list_tokens", "api:make_token"}
"""A person's tokens name their runs, also one that has been hidden from them since."""
NEW_EACH_TIME = re.compile(rb'(csrfmiddlewaretoken" value="|x-csrftoken": ")[\w-]+')


def test_nobody_is_told_of_what_is_hidden_from_them() -> None:
    seen: Counter[int] = Counter()

    @on_random_sites(8)
    def look(data: st.DataObject, plan: Plan) -> None:
        some = [
            who
            for who in callers(plan)
            if expected_access.may_read(plan, who) and not expected_access.sees_all(plan, who)
        ]
        caller, asked = data.draw(st.sampled_from(some)), data.draw(reads(plan))
        site = build(plan)
        client = site.client(caller)
        check_lists(client, site, caller)
        # The clock stands still, since pages say how long ago things were.
        with mock.patch("django.utils.timezone.now", return_value=timezone.now()):
            told = [answer_to(client, site, request) for request in asked]
            forget(site, caller)
            for request, before in zip(asked, told, strict=True):
                check_same(request, before, answer_to(client, site, request))
        seen.update(status for status, _ in told)

    look()
    assert seen[200] > 30, "it was shown nothing that could have told of anything"


def test_whoever_may_not_read_is_told_nothing_at_all() -> None:
    """Strangers, people who were shut out, scripts whose token has expired or may do something else."""

    @on_random_sites(6)
    def ask(data: st.DataObject, plan: Plan) -> None:
        asked = data.draw(reads(plan))
        site = build(plan)
        for caller in callers(plan):
            if not expected_access.may_read(plan, caller):
                client = site.client(caller)
                for request in asked:
                    check_refused(client, site, request)

    ask()


def test_a_shared_link_shows_what_it_may_and_no_more() -> None:
    shown: Counter[int] = Counter()

    @on_random_sites(6)
    def open_links(data: st.DataObject, plan: Plan) -> None:
        site = build(plan)
        for link, text in zip(site.plan.links, site.links, strict=True):
            runs = expected_access.shows(site.plan, link)
            allowed = {site.plan.runs[run].experiment for run in runs}
            for tail in ("", "chart/?name=reward/mean", "chart/?name=reward", "section/?section=reward"):
                answer = Client().get(f"/shared/{text}/{tail}")
                shown[answer.status_code] += 1
                assert answer.status_code in ((200, 404) if runs else (410,))
                for experiment in set(range(len(site.experiments))) - allowed:
                    assert mark(experiment).encode() not in answer.content

    open_links()
    assert shown[200] and shown[410]


def test_a_socket_lets_nobody_watch_what_is_hidden() -> None:
    """What the socket asks for each message that names runs. The socket itself is in test_sockets_are_closed."""

    @on_random_sites(6)
    def watch(data: st.DataObject, plan: Plan) -> None:
        site = build(plan)
        uids = [run.uid for run in site.runs]
        for n, person in enumerate(site.people):
            may = [run for run in range(len(uids)) if is_there(site, run) and _sees(site, Caller(n), run)]
            assert set(consumer._visible.func(person.pk, uids)) == {uids[run] for run in may}

    watch()


def check_refused(client: Client, site: Site, request: Request) -> None:
    """The answer holds nothing of any experiment."""
    answer = read(client, site, request)
    assert answer.status_code in (302, 401, 403, 404), request
    assert not any(mark(n).encode() in answer.content for n in range(len(site.experiments)))


def check_lists(client: Client, site: Site, caller: Caller) -> None:
    """The lists of the API hold all that the caller may see, and nothing else."""
    runs = client.get("/api/v1/runs?limit=500").json()["items"]
    current = [n for n, run in enumerate(site.plan.runs) if run.shelf == "current" and is_there(site, n)]
    assert {run["uid"] for run in runs} == {site.runs[n].uid for n in current if _sees(site, caller, n)}


def is_there(site: Site, run: int) -> bool:
    """True where neither the run nor its experiment is in the bin."""
    planned = site.plan.runs[run]
    return "bin" not in (planned.shelf, site.plan.experiments[planned.experiment].shelf)


def _sees(site: Site, caller: Caller, run: int) -> bool:
    return expected_access.sees(site.plan, caller, site.plan.runs[run].experiment)


def check_same(request: Request, before: tuple[int, bytes], after: tuple[int, bytes]) -> None:
    """Says in which lines two answers differ."""
    assert after[0] == before[0], request
    assert after[1] == before[1], (request, set(before[1].split(b"\n")) ^ set(after[1].split(b"\n")))


def answer_to(client: Client, site: Site, request: Request) -> tuple[int, bytes]:
    """The answer, less what is new each time and what one's own tokens say."""
    answer = read(client, site, request)
    content = whole(answer) if answer.streaming else answer.content  # type: ignore[arg-type]
    return answer.status_code, b"" if request.name in OWN_TOKENS else NEW_EACH_TIME.sub(rb"\1", content)


def whole(answer: StreamingHttpResponse) -> bytes:
    """All of a download."""

    async def pieces() -> bytes:
        return b"".join([piece async for piece in answer])

    content = async_to_sync(pieces)() if answer.is_async else b"".join(answer)
    checkpoint_files.close(answer)
    return content


def forget(site: Site, caller: Caller) -> None:
    """Removes all that is hidden from the caller."""
    hidden = [e.pk for n, e in enumerate(site.experiments) if not expected_access.sees(site.plan, caller, n)]
    models.ApiToken.objects.filter(run__experiment__in=hidden).update(run=None)
    models.Experiment.objects.filter(pk__in=hidden).delete()
    owner = expected_access.acts_for(caller)
    for view, planned in zip(site.views, site.plan.views, strict=True):
        if planned.owner != owner and not planned.shared:
            models.SavedView.objects.filter(pk=view.pk).delete()
