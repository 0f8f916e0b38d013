"""Every page and every reading operation answers, whatever times are stored."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client

from runs.ingest import compact
from runs.metrics import pack, unpack
from runs.models import Batch, Chunk, EngineReport, Run
from tests.runs import checkpoint_files
from tests.runs.api_client import calls
from tests.runs.http.test_api_examples import OPERATIONS, address
from tests.security.every_object import Names, make_every_object, page_addresses, path_of
from tests.security.test_every_object import SENT

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
BAD = (1.7e18, 1e300, -1.0, np.nan, 1.7e12, np.inf, -1.7e15)
BY_TIME = ("wall", "relative")
OF_ALL_RUNS = ("/", "/standing/", "/experiments/", "/queue/", "/costs/")
READ_RECORDS = ("/runs/", "/experiments/", "/compare/", "/sweeps/", "/shared/", "/attempts/")
"""Beginnings of the addresses of pages and operations that read records."""
OF_OTHER_ROWS = re.compile("launch|label|audit|edit|flags|restore|undo|resume|cancel|bulk|shelve")


def test_pages_and_operations_answer_whatever_times_are_stored(ada: User, bo: User) -> None:
    names = make_every_object(ada)
    store_bad_times()
    broken = [
        f"{name}: {response.status_code}"
        for name, response in (*page_responses(ada, names), *operation_responses(ada, names))
        if response.status_code >= 500
    ]
    assert broken == []


def store_bad_times() -> None:
    """Give all stored records bad times, past ingest. The points of every second run are in chunks, as of versions that
    took each number for a time."""
    times = itertools.cycle(BAD)
    for batch in Batch.objects.all():
        points = unpack(batch.keys, batch.data)
        points.t[:] = list(itertools.islice(times, len(points.t)))
        Batch.objects.filter(pk=batch.pk).update(data=pack(points))
    for run, report in itertools.product(Run.objects.all(), EngineReport.objects.all()):
        EngineReport.objects.filter(pk=report.pk).update(t=next(times))
        if run.pk % 2:
            compact(run.pk)
    Chunk.objects.filter(key="").update(min_value=-1.7e15)


def page_responses(person: User, names: Names) -> Iterator[tuple[str, HttpResponse]]:
    browser = Client(raise_request_exception=False)
    browser.force_login(person)
    uids = [str(names["runs", "uid"]), *Run.objects.filter(deleted_at=None).values_list("uid", flat=True)[:3]]
    pages = {page: page for page in OF_ALL_RUNS} | page_addresses(names)
    pages["compare"] = f"/compare/?runs={','.join(dict.fromkeys(uids))}"
    for name, page in pages.items():
        if (page.startswith(READ_RECORDS) and not OF_OTHER_ROWS.search(page)) or page in OF_ALL_RUNS:
            sent = SENT.get(name, {})
            yield from closed(name, browser.get(page, sent | {"x": "wall"}))
            if "chart" in name:
                yield from closed(f"{name}, relative", browser.get(page, sent | {"x": "relative"}))
                yield from closed(f"{name}, CSV", browser.get(page, sent | {"x": "wall", "as": "csv"}))


def operation_responses(person: User, names: Names) -> Iterator[tuple[str, HttpResponse]]:
    script = calls(person, "read")
    for name, (method, path, operation) in OPERATIONS.items():
        if method == "get" and path.startswith(tuple(f"/api/v1{start}" for start in READ_RECORDS)):
            yield from closed(name, script.get(address(path_of(name, path, names), operation), {"x": "wall"}))
    for x in BY_TIME:
        series = {"runs": str(names["runs", "uid"]), "keys": "reward/mean", "x": x}
        yield from closed(f"series by {x}", script.get("/api/v1/series", series))


def closed(name: str, response: HttpResponse) -> Iterator[tuple[str, HttpResponse]]:
    yield name, response
    if isinstance(response, StreamingHttpResponse):
        checkpoint_files.close(response)
