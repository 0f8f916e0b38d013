"""/healthz names the server that has frozen, and does so soon: PostgreSQL and Valkey of the test's own are stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.esweb.web_process import LATE_SECONDS, WebProcess, frozen
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    """Return a site that is well."""
    running = WebProcess(tmp_path_factory.mktemp("site"))
    try:
        wait_until(lambda: running.health()[0] == 200, "the site to be well", details=running.health)
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("part", ["database", "redis"])
def test_health_names_a_frozen_server_within_seconds(site: WebProcess, part: str) -> None:
    other = {"database": "redis", "redis": "database"}[part]
    with frozen(site.postgres if part == "database" else site.valkey):
        began = time.monotonic()
        status, parts = site.health()
        seconds = time.monotonic() - began
        assert (status, parts[part]) == (503, "does not answer")
        assert seconds < LATE_SECONDS, f"/healthz answered after {seconds:.1f} s"
        wait_until(lambda: site.health()[1][other] == "ok", "the other server to be reported as well")
    wait_until(lambda: site.health() == (200, {"database": "ok", "redis": "ok"}), "the site to be well again")


def test_health_asks_a_frozen_database_in_one_thread_only(site: WebProcess) -> None:
    site.health()
    before, counts = site.threads(), []
    with frozen(site.postgres):
        for _ in range(6):
            assert site.health()[0] == 503
            counts.append(site.threads())
    # Threads of the requests themselves, which end soon after the response, are at times among them.
    assert min(counts[2:]) <= before + 2, counts
    wait_until(lambda: site.health()[0] == 200, "the site to be well again")
