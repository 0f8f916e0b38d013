"""Hostile texts: NUL and halves of surrogate pairs, which PostgreSQL cannot store, text that is not UTF-8, very long
text, and JSON nested so deep that recursion fails. None of them may cause a 500."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from websockets.sync.client import connect

from esweb.api import api
from judging.models import GoldSet
from runs.models import Cluster, Experiment, Run
from tests.cases import each_case
from tests.esweb.test_access_of_routes import routes
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.runs.live_server import PATIENT, page, serving
from workers.config.shallow_json import MAX_DEPTH

ROOT = Path(__file__).resolve().parents[2]
NUL = "a%00b"
SOAK = {"not UTF-8": "%ED%A0%80%FF%C0%AF", "long": "a" * 5000}
"""Texts that `make test` sends as one: only NUL is refused where it is first read, and hides what comes after it."""
TEXTS = [
    pytest.param(NUL, id="NUL"), pytest.param("".join(SOAK.values()), id="long, not UTF-8"),
    *(pytest.param(text, id=name, marks=pytest.mark.soak) for name, text in SOAK.items()),
]  # fmt: skip
TEXT_PARAMETERS = (
    "uid", "key", "token", "name", "slug", "uidb64", "url", "app_label", "object_id", "content_type_id",
)  # fmt: skip
MARK = "abcdefghjk"
DEEP = {depth: "[" * depth + "]" * depth for depth in (MAX_DEPTH + 1, 900, 100_000)}
OBJECTS = {depth: '{"a":' * depth + "1" + "}" * depth for depth in (MAX_DEPTH + 1, 900, 100_000)}
depths = pytest.mark.parametrize(
    "depth", [pytest.param(depth, marks=pytest.mark.soak if depth == 900 else ()) for depth in DEEP]
)
"""The least depth that is refused, and one that no parser survives; 900 is in between."""
TOO_DEEP = f"at most {MAX_DEPTH} deep"


@dataclass(frozen=True)
class Route:
    """A route with one parameter in place, and the names that its module reads from the query."""

    name: str
    address: str
    query: frozenset[str]
    module: str
    """The module of its view; empty for the API, which declares its names."""


@pytest.fixture
def parameters(ada: User, experiment: Experiment, runs_dir: Path) -> dict[str, Any]:
    """Return parameters of addresses that name existing rows."""
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return {"pk": experiment.pk, "uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": 5}


@pytest.fixture
def admin(ada: User) -> Client:
    """Return the browser of Ada as an administrator. A server error is a response here, and not raised."""
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.get(pk=ada.pk))
    return browser


def with_text(parameters: dict[str, Any], text: str) -> Iterator[tuple[str, str]]:
    """Yield (route, address) with this text in place of each parameter that may be a text, one at a time."""
    plain = dict(routes(parameters))
    for parameter in TEXT_PARAMETERS:
        for name, address in routes({**parameters, parameter: MARK + "0"}):
            if MARK + "0" in address and plain.get(name) != address:
                yield name, address.replace(MARK + "0", text)
    for name, address in routes(parameters):
        if MARK in address:
            yield name, address.replace(MARK, text)


@pytest.mark.parametrize("text", TEXTS)
def test_route_answers_hostile_path_without_error(text: str, admin: Client, parameters: dict[str, Any]) -> None:
    addresses = sorted(set(with_text(parameters, text)))
    assert len(addresses) > 30
    for name, address in addresses:
        for method in ("get", "post"):
            response = getattr(admin, method)(address)
            assert response.status_code < 500, f"{method} {name} {address[:200]} answered {response.status_code}"


@pytest.mark.parametrize("text", [*TEXTS[1:], pytest.param(NUL, id="NUL", marks=pytest.mark.soak)])
def test_route_answers_hostile_query_without_error(text: str, admin: Client, parameters: dict[str, Any]) -> None:
    """All names that a route reads have the text at once. The next test has NUL in one name at a time."""
    tested = 0
    for route in {route.address: route for route in routes_with_queries(parameters)}.values():
        query = "&".join(f"{name}={text}" for name in sorted(route.query))
        check_query(admin, route, query)
        tested += 1
    assert tested > 60


@pytest.mark.parametrize("of_each_module", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_route_answers_a_single_nul_without_error(
    of_each_module: bool, admin: Client, parameters: dict[str, Any]
) -> None:
    """NUL is refused at the first name that reads it, so that each name is tried alone: once for each module that reads
    it, or in a soak once for the routes of each module of views."""
    seen = set[tuple[str, object]]()
    for route in sorted(routes_with_queries(parameters), key=lambda route: route.name):
        for name in sorted(route.query):
            by_reader = route.module and not of_each_module
            readers = readers_of(name, route.module) if by_reader else [route.query]
            if new := {(name, reader) for reader in readers} - seen:
                seen |= new
                check_query(admin, route, f"{name}={NUL}")
    assert len(seen) > 60


def check_query(admin: Client, route: Route, query: str) -> None:
    response = admin.get(f"{route.address}?{query}")
    assert response.status_code < 500, f"{route.address}?{query[:50]} answered {response.status_code}"


def routes_with_queries(parameters: dict[str, Any]) -> Iterator[Route]:
    """Yield every route with the names of its query: of the API as described, of pages as their modules read them."""
    for path, operations in api.get_openapi_schema()["paths"].items():
        names = {
            parameter["name"]
            for parameter in operations.get("get", {}).get("parameters", ())
            if parameter["in"] == "query"
        }
        yield Route(
            path, re.sub(r"{(\w+)}", lambda match: str(parameters.get(match[1], "1")), path), frozenset(names), ""
        )
    modules = dict(callbacks(get_resolver().url_patterns, ""))
    for name, address in routes(parameters):
        if not name.startswith(("api:", "admin:")):
            yield Route(name, address, query_names(modules[name]), modules[name])


def callbacks(patterns: list[URLPattern | URLResolver], space: str) -> Iterator[tuple[str, str]]:
    """Yield (route, module of its view)."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from callbacks(pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else space)
        else:
            yield f"{space}{pattern.name}", inspect.unwrap(pattern.callback).__module__


@cache
def query_names(module: str) -> frozenset[str]:
    """Return the names that a module of views reads from queries, including those of modules that it imports."""
    return frozenset().union(*(names_in(reader) for reader in reading_modules(module)))


def readers_of(name: str, module: str) -> list[str]:
    """Return the modules, of a module of views and those that it imports, that read this name from queries."""
    return [reader for reader in reading_modules(module) if name in names_in(reader)]


@cache
def reading_modules(module: str) -> list[str]:
    """Return a module of views, if it is ours, and our modules of which it uses anything."""
    others = {getattr(value, "__module__", "") or "" for value in vars(sys.modules[module]).values()}
    own = [module] if module.startswith(("runs", "judging", "esweb")) else []
    return own + sorted(m for m in others - {module} if m.startswith(("runs.", "judging.")) and m in sys.modules)


@cache
def names_in(module: str) -> frozenset[str]:
    """Return the names that this module reads from queries."""
    source = inspect.getsource(sys.modules[module])
    return frozenset(re.findall(r'(?:GET\.get(?:list)?\(|choice\(request, |request, )"([a-z_]+)"', source))


def test_api_refuses_deep_json_and_names_the_limit(admin: Client, parameters: dict[str, Any]) -> None:
    refusals, depth = 0, 900
    for name, address in sorted(set(routes(parameters))):
        if not name.startswith("api:"):
            continue
        for method in ("post", "put", "patch"):
            has_operation = api.operation(name.removeprefix("api:"), method.upper()) is not None
            # An address without the operation refuses any body; one is enough, and one method.
            bodies = (DEEP[depth], f'{{"config": {OBJECTS[depth]}}}')[: 2 * has_operation or method == "post"]
            for body in bodies:
                response = getattr(admin, method)(address, body, content_type="application/json")
                assert response.status_code < 500, f"{method} {address} answered {response.status_code}"
                refusals += TOO_DEEP in response.content.decode()
    assert refusals > 30


@depths
def test_pages_refuse_deep_json_in_forms(
    depth: int, admin: Client, experiment: Experiment, local: Cluster, parameters: dict[str, Any]
) -> None:
    before = Run.objects.count()
    own_task = {"method": "es", "task.name": "own", "task.options.path": "a:B", "task.options.options": OBJECTS[depth]}
    for field in (own_task, {"method": "grpo", "grpo.extra": OBJECTS[depth]}, {"es.lora.targets": DEEP[depth]},
                  {"sweep-listed": OBJECTS[depth], "seeds": "0"}):  # fmt: skip
        for route in ("launch", "launch-check"):
            response = admin.post(reverse(route, args=[experiment.pk]), field)
            assert response.status_code < 500, f"{route} answered {response.status_code} to {list(field)}"
    assert Run.objects.count() == before
    response = admin.post("/settings/clusters/new/", {"name": "far", "kind": "slurm", "more": OBJECTS[depth]})
    assert response.status_code < 500
    response = admin.post("/admin/runs/cluster/add/", {"name": "far", "kind": "slurm", "config": OBJECTS[depth]})
    assert response.status_code == 200 and TOO_DEEP in response.content.decode()
    assert not Cluster.objects.filter(name="far").exists()


@depths
@each_case("route", ["import", "judgments-import", "gold-sets"])
def test_uploads_refuse_deep_json(depth: int, route: str, admin: Client, db: None) -> None:
    for text in (DEEP[depth], OBJECTS[depth], f'{{"prompt": {OBJECTS[depth]}}}'):
        upload = SimpleUploadedFile("a.jsonl", text.encode())
        response = admin.post(reverse(route), {"files": upload, "file": upload, "name": "a", "experiment": "a"})
        assert response.status_code < 500
    assert not GoldSet.objects.exists()


@pytest.mark.parametrize("text", ["a\0b", "a\udfff", pytest.param("\ud800", marks=pytest.mark.soak)])
def test_api_answers_hostile_body_without_error(text: str, admin: Client, parameters: dict[str, Any]) -> None:
    keys = (
        "name", "note", "question", "experiment", "preset", "kind", "address", "scorer", "criterion", "said", "tags",
    )  # fmt: skip
    body = json.dumps(dict.fromkeys(keys, text))
    for name, address in sorted(set(routes(parameters))):
        if name.startswith("api:"):
            response = admin.post(address, body, content_type="application/json")
            assert response.status_code < 500, f"{address} answered {response.status_code}"
    for key in ("name", "experiment_name"):
        response = admin.post("/api/v1/experiments", json.dumps({key: text}), content_type="application/json")
        assert 400 <= response.status_code < 500
    assert admin.get("/login/").status_code == 302


HOSTILE_UIDS = ["a\0b", "\0", "\ud800", "\udfff\ud800", "a" * 60_000, "", "É", "../..", "%00"]


@pytest.mark.django_db(transaction=True)
def test_socket_refuses_hostile_uids_and_stays_open(ada: User, experiment: Experiment) -> None:
    run = make_run(experiment)
    with serving() as port, page(port, ada) as connection:
        for uid in HOSTILE_UIDS:
            connection.socket.send(json.dumps({"watch": {uid: 0}}))
            messages = [connection.hear(), connection.hear()]
            assert [message["type"] for message in messages] == ["refused", "watching"]
            assert len(messages[0]["run"]) <= 60
        for text in ("[" * 60_000, '{"watch":' * 6_000, "\0", "", '{"watch": {"a": {"b": 1}}}'):
            connection.socket.send(text)
            assert connection.hear()["type"] == "error"
        connection.socket.send(b"\xff\xfe\0")
        assert connection.hear()["type"] == "error"
        connection.socket.send(json.dumps({"watch": {run.uid: 0}}))
        assert connection.hear()["type"] == "watching"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tail", ["?a=%00", "?%ED%A0%80=1", "?a=" + "b" * 5000])
def test_socket_accepts_hostile_query(ada: User, tail: str) -> None:
    browser = Client()
    browser.force_login(ada)
    cookie = f"sessionid={browser.cookies['sessionid'].value}"
    with serving() as port:
        headers = {"Origin": f"http://127.0.0.1:{port}", "Cookie": cookie}
        with connect(f"ws://127.0.0.1:{port}/ws/live{tail}", additional_headers=headers, **PATIENT) as socket:
            socket.send('{"watch": {}}')
            assert "watching" in str(socket.recv())
