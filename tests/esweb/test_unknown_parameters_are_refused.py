"""Every parameter that a GET route reads: an unknown value is refused, unless the parameter selects no data.

The parameters of a page are those that its view reads while it answers (`Recorded`), those of the API are in its
OpenAPI document. So a new one that ignores what it does not know fails here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse, QueryDict
from django.test import Client
from django.urls import path
from django.utils.functional import cached_property
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from esweb import urls
from esweb.api import api
from esweb.middleware.fragments import PAGES
from tests.esweb.row_of_each_kind import OneOfEach, make_one_of_each
from tests.runs import checkpoint_files
from tests.security.conftest import module_runs_dir, open_connection

__all__ = ["module_runs_dir", "open_connection"]

NONSENSE = "nonsense"
REFUSED = {400, 404, 422}


@dataclass(frozen=True)
class Exempt:
    """Parameters that select no data, in the routes that the pattern matches whole."""

    names: str
    routes: str
    reason: str

    def holds(self, route: str, name: str) -> bool:
        """Return whether the parameter of the route is one of them."""
        return name in self.names.split() and re.fullmatch(self.routes, route) is not None


COMPARED = "compare|compare-.*|experiment-lambda|experiment-lambda-chart|shared|shared-.*"
CHARTED = f"{COMPARED}|experiment|experiment-chart|run|run-.*|sweep|sweep-.*"
TEXTS = [
    Exempt("q", "experiments|palette|viewer|viewer-.*", "words to search for"),
    Exempt("q", "compare|compare-chart|experiment|experiment-.*", "a word of a name; mistakes have own tests"),
    Exempt("log_find", "run|run-log", "words to search for"),
    Exempt("key", COMPARED, "a pattern of keys, which says that it matches none"),
    Exempt("key value", "experiment", "a form writes it into q, whose mistakes have own tests"),
    Exempt("experiment", "import", "a new name, for a field of a form"),
    Exempt("name", "judgments-import|labels-import|experiment-import", "a new name, for a field of a form"),
    Exempt("next", "login", "Django checks where it leads"),
    Exempt("charts", CHARTED, "the order of charts, which selects no data; a page reports its mistakes"),
]
"""Any value is one that there is."""
LOOKS = [
    Exempt("x xscale y smooth", CHARTED, "the page shows the default with a notice"),
    Exempt("config", COMPARED, "the page shows the default with a notice"),
    Exempt("sort", "viewer|experiment|experiment-.*", "the page shows the default with a notice"),
    Exempt("col add", "experiment|experiment-.*", "the page shows the default with a notice"),
    Exempt("spread pin", "experiment|experiment-.*", "the page shows the default with a notice"),
    Exempt("diff", "viewer", "the page shows the default with a notice"),
    Exempt("page", ".*", "a place in a list: the page shows the nearest and says which"),
    Exempt("going waiting", "queue|queue-standing", "a place in a list"),
    Exempt("work calibrations", "judge", "a place in a list"),
    Exempt("voters invited", "tournament|tournament-standing", "a place in a list"),
    Exempt("speakers", "tournament-board", "a place in a list"),
    Exempt("prompts", "run|run-responses", "a place in a list"),
    Exempt("after before", "viewer", "a place in a list: the page shows the first with a notice"),
    Exempt("after", "experiment|experiment-.*", "a place in a list: the page shows the first with a notice"),
    Exempt("log_from log_until log_after log_before log_line", "run|run-log", "a place in a log: its end is shown"),
    Exempt(
        "shown awaited", "tournament-board", "which board an open page shows already, and whether it awaits another"
    ),
    Exempt("beside", "vote-turns", "which turns an open page has already"),
    Exempt("asked", "run-responses", "that a person and not the page asks"),
    Exempt("grown", "run-log", "that the page and not a person asks"),
    Exempt("keep", "experiment", "that a form of columns was sent"),
    Exempt("with value", "launch", "a field of a form, which says that it does not know it, and launches nothing"),
]
"""The same data is displayed, and no file is sent."""
API_TEXTS = {
    "q": "words to search for",
    "tag": "a list of those that have it may be empty",
    "seed": "a list of those that have it may be empty",
    "cursor": "a place in a list",
}
OF_OPERATION = {
    ("find_services", "kind"): "services come and go: callers ask until there is one",
    ("find_services", "name"): "services come and go: callers ask until there is one",
}
POSTED = 405
WITHOUT_ROWS = {"vote-link", "attempt-packages", "attempt-code"}
"""Routes that find nothing on this site, and read no parameter."""
QUERIES = {
    "compare": ["run={uid}&baseline={uid}", "experiment={experiment}"],
    "compare-chart": ["run={uid}&name=reward/mean", "run={uid}&name=kl&as=csv", "experiment={experiment}&name=kl"],
    "compare-section": ["run={uid}&section=train"],
    "compare-table": ["run={uid}&table=config&as=csv", "run={uid}&table=results&as=latex"],
    "costs-table": ["", "as=latex&by=experiment&since=all"],
    "evaluations-chart": ["name=pass@k", "name=pass^k&as=csv"],
    "evaluations-table": ["as=csv", "as=latex&table=protocols"],
    "experiment": ["", "key=kl&op=:&value=1", "keep=1&add=kl"],
    "experiment-chart": ["name=reward", "name=reward&as=csv"],
    "experiment-lambda-chart": ["name=lambda", "name=lambda&as=csv"],
    "experiment-table": ["as=csv", "as=latex&group=preset"],
    "launch": ["", "clone={uid}&with=es.sigma&value=1", "evaluate={uid}", "probe={uid}", "audit={uid}"],
    "probes": ["", "tensor=model.norm.weight", "measure=interpolation/reward"],
    "probes-chart": ["name=reward&measure=interpolation/reward", "name=reward&measure=interpolation/reward&as=csv"],
    "probes-table": ["as=csv", "as=latex&measure=interpolation/reward"],
    "run-chart": ["name=reward", "name=population&as=csv"],
    "run-evaluations-table": ["as=csv", "as=latex"],
    "run-ratings-table": ["as=csv", "as=latex"],
    "run-collapse-chart": ["name=collapse/shared&as=csv"],
    "share": ["page=compare&run={uid}", "page=experiment&experiment={experiment}", "page=run&run={uid}"],
    "shared-chart": ["name=reward/mean", "name=reward/mean&as=csv"],
    "shared-section": ["section=train"],
    "sweep-chart": ["name=reward", "name=reward&as=csv"],
    "time-machine": ["run={uid}"],
    "time-machine-chart": ["run={uid}", "run={uid}&as=csv"],
    "tournament-board-file": ["", "as=csv", "as=latex&table=controlled"],
    "tournament-board-history-chart": ["name=time", "name=time&as=csv"],
    "viewer": ["", "run={uid}", "experiment={experiment}"],
    "viewer-scatter": ["run={uid}", "run={uid}&as=csv"],
    "viewer-export": ["run={uid}&form=csv"],
}
"""Queries other than the empty one, so that a route reads all its parameters."""
PARTS = {"run-responses", "run-log", *PAGES}
"""Routes that lead anybody but htmx to their page."""


class Recorded(QueryDict):
    """The parameters of a request. `read` are those that a view, or what it calls, has looked for."""

    read: set[str]

    def get(self, key: str, default: object = None) -> object:
        self.note(key)
        return super().get(key, default)

    def getlist(self, key: str, default: object = None) -> object:
        self.note(key)
        return super().getlist(key, default)

    def __getitem__(self, key: str) -> object:
        self.note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.note(key)
        return super().__contains__(key)

    def note(self, key: object) -> None:
        """Remember the name. Copies become addresses, and templates look for methods by the same way."""
        if not self._mutable and isinstance(key, str) and not hasattr(QueryDict, key):
            self.read.add(key)


@dataclass(frozen=True)
class Recorder:
    """A browser, and the names that were read while the last request was answered."""

    client: Client
    read: set[str]

    def get(self, address: str, query: QueryDict, *, htmx: bool = False) -> int:
        """Return the status. An address that leads on with the nonsense in it is followed."""
        self.read.clear()
        headers = {"Accept": "text/html"} | ({"HX-Request": "true"} if htmx else {})
        answer = self.client.get(f"{address}?{query.urlencode()}", headers=headers)
        if answer.status_code == 302 and NONSENSE in answer["Location"]:
            names = set(self.read)
            answer = self.client.get(answer["Location"], headers=headers)
            self.read.intersection_update(names)
        if answer.streaming:
            checkpoint_files.close(answer)
        return answer.status_code


@pytest.fixture(scope="module")
def rows(shared_rows: DjangoDbBlocker, module_runs_dir: None) -> OneOfEach:
    """Return a row of each kind, which all tests here only read."""
    with shared_rows.unblock():
        return make_one_of_each()


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, settings: Settings, open_connection: None) -> Recorder:
    """Return the browser of an anonymous user, whose requests record the parameters that are read.

    Two thirds of the requests are refused, so that the page that says so, which is tested elsewhere, is not rendered.
    """
    monkeypatch.setattr(urls, "handler404", lambda request, exception: HttpResponse(status=404))
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    read: set[str] = set()
    recorded = cached_property(partial(_record, read))
    recorded.__set_name__(WSGIRequest, "GET")
    monkeypatch.setattr(WSGIRequest, "GET", recorded)
    return Recorder(Client(raise_request_exception=False), read)


def _record(read: set[str], request: WSGIRequest) -> Recorded:
    query = Recorded(request.META.get("QUERY_STRING", ""))
    query.read = read
    return query


def test_pages_ignore_no_unknown_value(recorder: Recorder, rows: OneOfEach) -> None:
    recorder.client.force_login(rows.person)
    tried, ignored = 0, list[str]()
    for route, address in rows.addresses():
        if route.startswith(("api:", "admin:")):
            continue
        for written in QUERIES.get(route, [""]):
            query = QueryDict(written.format(uid=rows.run.uid, experiment=rows.experiment.pk))
            outcomes = list(probe(recorder, route, address, query))
            tried += len(outcomes)
            ignored += [f"{route}?{written}: {name} answered {status}" for name, status in outcomes if status]
    assert not ignored, "\n".join(ignored)
    assert tried > 300


def probe(recorder: Recorder, route: str, address: str, query: QueryDict) -> Iterator[tuple[str, int]]:
    """Yield (name, status) of each parameter that is read; status 0 if nonsense is refused or selects no data."""
    status = recorder.get(address, query, htmx=route in PARTS)
    assert status in (200, 204, 302, POSTED) or route in WITHOUT_ROWS, f"{route}?{query.urlencode()}: {status}"
    for name in sorted(recorder.read):
        is_file = "csv" in (query.get("as"), query.get("form"))
        if any(exemption.holds(route, name) for exemption in (TEXTS if is_file else TEXTS + LOOKS)):
            yield name, 0
            continue
        changed = query.copy()
        changed.setlist(name, [NONSENSE])
        status = recorder.get(address, changed, htmx=route in PARTS)
        yield name, 0 if status in REFUSED else status


def ignoring(request: HttpRequest) -> HttpResponse:
    """Show the default if the value is none that is known: what no page may do."""
    return HttpResponse({"b": "other"}.get(request.GET.get("new", "a"), "usual"))


urlpatterns = [path("ignoring/", ignoring)]


def test_page_that_ignores_a_new_parameter_is_reported(recorder: Recorder, rows: OneOfEach, settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    recorder.client.force_login(rows.person)
    assert list(probe(recorder, "ignoring", "/ignoring/", QueryDict())) == [("new", 200)]


@pytest.mark.usefixtures("open_connection")
def test_api_operations_ignore_no_unknown_value(rows: OneOfEach) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(rows.person)
    tried, ignored = 0, list[str]()
    for address, operation in operations(rows):
        names = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
        query = {"run": rows.run.uid, "key": "reward/mean"} if address.endswith("/series") else {}
        if names:
            assert client.get(address, query).status_code == 200, address
        for name in names:
            for value in (NONSENSE, "987654321"):
                status = client.get(address, query | {name: value}).status_code
                is_allowed = name in API_TEXTS or (operation["operationId"], name) in OF_OPERATION
                tried += 1
                ignored += [] if status in REFUSED or is_allowed else [f"{address}?{name}={value}: {status}"]
    assert not ignored, "\n".join(ignored)
    assert tried > 100


def operations(rows: OneOfEach) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield every GET operation of the document with the address of a row."""
    addresses = [address for name, address in rows.addresses() if name.startswith("api:")]
    for written, methods in api.get_openapi_schema()["paths"].items():
        if "get" in methods:
            pattern = re.sub(r"{\w+}", "[^/]+", written)
            yield next(address for address in addresses if re.fullmatch(pattern, address)), methods["get"]
