"""Many launches that arrive together at a site on a busy machine are all stored, each once, and none is refused.

`make soak PART=launches`. In `make test`, launches that wait hold no connection
(tests/runs/launching/test_launch_turns.py), and a connection is waited for as long as others are given back
(tests/esweb/test_database_pool.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from esweb.embedded import database_url
from runs.launching.config_form import initial_from
from tests import soak_plugin
from tests.esweb.web_process import Site, running_site
from workers.config import presets

pytestmark = [pytest.mark.slow, pytest.mark.soak]
PARALLEL = (20, 40, 100)
BUSY_PROCESSES = 8
"""Processes that compute meanwhile, as trainings do, on two cores."""
EXPERIMENT = "Parallel"
CSRF = "a" * 32
Launch = Callable[[Site, str], httpx.Response]


def by_api(site: Site, name: str) -> httpx.Response:
    """Launch a run over the API."""
    return _post(site, name, {})


def by_api_with_a_key(site: Site, name: str) -> httpx.Response:
    """Launch a run over the API, twice with the same key, as a script does that has lost a response."""
    first, second = (_post(site, name, {"Idempotency-Key": name.replace(" ", "-")}) for _ in range(2))
    assert (first.status_code, first.text) == (second.status_code, second.text)
    return first


def by_form(site: Site, name: str) -> httpx.Response:
    """Launch a run with the form."""
    filled = {k: v for k, v in initial_from(presets()["es-micro"].config).items() if v is not None and v is not False}
    form = {**filled, "preset": "es-micro", "seeds": "0", "name": name, "csrfmiddlewaretoken": CSRF}
    cookies = f"sessionid={site.session}; csrftoken={CSRF}"
    return site.ask("POST", "/experiments/1/launch/", data=form, headers={"Cookie": cookies})


LAUNCHES: tuple[tuple[Launch, int], ...] = ((by_api, 201), (by_api_with_a_key, 201), (by_form, 302))
"""Each way to launch, and the status of a stored launch."""


def test_parallel_launches_are_all_stored_once(tmp_path: Path) -> None:
    with running_site(tmp_path / "data") as site, ThreadPoolExecutor(max(PARALLEL)) as threads:
        assert by_api(site, "first").status_code == 201
        expected = {"first": 1}
        for number in soak_plugin.rounds(1, "rounds", settling_seconds=10.0):
            for launch, stored in LAUNCHES:
                for parallel in PARALLEL:
                    names = [f"{launch.__name__} {number} {parallel} {n}" for n in range(parallel)]
                    with busy_machine():
                        answers = list(threads.map(launch, [site] * parallel, names))
                    assert Counter(answer.status_code for answer in answers) == {stored: parallel}, _problems(
                        answers, stored
                    )
                    expected |= dict.fromkeys(names, 1)
                    soak_plugin.count(parallel, "launches")
        assert stored_runs(tmp_path / "data") == expected


@contextmanager
def busy_machine() -> Iterator[None]:
    """Compute in other processes while the block runs."""
    argv = [sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10**6))"]
    busy = [subprocess.Popen(argv) for _ in range(BUSY_PROCESSES)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def stored_runs(data: Path) -> dict[str, int]:
    """Return the number of stored runs of each name that have exactly one attempt. PostgreSQL counts."""
    counted = """SELECT name, count(*) FROM runs_run r
        WHERE (SELECT count(*) FROM runs_attempt a WHERE a.run_id = r.id) = 1 GROUP BY name"""
    with psycopg.connect(database_url(data)) as connection:
        return dict(connection.execute(counted).fetchall())


def _post(site: Site, name: str, headers: dict[str, str]) -> httpx.Response:
    new = {"experiment_name": EXPERIMENT, "preset": "es-micro", "name": name}
    return site.ask("POST", "/api/v1/runs", json=new, headers={"Authorization": f"Bearer {site.launch}", **headers})


def _problems(answers: Sequence[httpx.Response], stored: int) -> set[str]:
    """Return the ends of the other answers: a page of an error ends with its sentence."""
    return {answer.text[-1500:] for answer in answers if answer.status_code != stored}
