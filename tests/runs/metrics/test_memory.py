"""One budget of memory for the points of all requests: they wait for each other, and the oldest always continues."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from runs.metrics import memory, read
from runs.metrics.memory import POINT_BYTES, Lease, MemoryBudget, MemoryBusy, request_memory
from runs.models import Attempt, Experiment
from tests.runs.attempt_records import make_attempt, make_run, metrics
from tests.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture
def budget() -> MemoryBudget:
    return MemoryBudget(100)


def taking(lease: Lease, size: int) -> threading.Thread:
    """Return a started thread in which the lease takes memory."""
    thread = threading.Thread(target=lease.take, args=(size,))
    thread.start()
    return thread


def test_lease_waits_until_others_give_memory_back(budget: MemoryBudget) -> None:
    first, second = Lease(budget), Lease(budget, PATIENCE_SECONDS)
    first.take(80)
    waiting = taking(second, 30)
    assert waiting.is_alive()
    assert second.size == 0
    first.give_back()
    waiting.join()
    assert (first.size, second.size, budget.used) == (0, 30, 30)


def test_lease_that_waits_in_vain_is_refused(budget: MemoryBudget) -> None:
    first, second = Lease(budget), Lease(budget, 0.01)
    first.take(80)
    with pytest.raises(MemoryBusy):
        second.take(30)
    second.give_back()
    assert budget.used == 80


def test_oldest_lease_takes_more_than_is_left_so_that_none_waits_for_ever(budget: MemoryBudget) -> None:
    leases = [Lease(budget, PATIENCE_SECONDS) for _ in range(3)]
    for lease in leases:
        lease.take(30)
    waiting = [taking(lease, 60) for lease in leases[1:]]
    leases[0].take(60)
    assert budget.used == 150
    leases[0].give_back()
    waiting[0].join()
    leases[1].give_back()
    waiting[1].join()
    assert budget.used == 90


def test_single_request_may_take_more_than_the_budget(budget: MemoryBudget) -> None:
    lease = Lease(budget, 0.01)
    lease.take(1000)
    assert budget.used == 1000


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    from runs.ingest import ingest

    attempt = make_attempt(make_run(experiment))
    ingest(attempt, 0, metrics(50, 0))
    return attempt


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryBudget]:
    budget = MemoryBudget(100)
    monkeypatch.setattr(memory, "budget", budget)
    monkeypatch.setattr(memory, "PATIENCE_SECONDS", 0.01)
    yield budget
    assert budget.used == 0


@pytest.mark.django_db
def test_read_holds_memory_for_its_points_until_its_request_ends(attempt: Attempt, small: MemoryBudget) -> None:
    with request_memory():
        read([attempt.run], ["reward/mean"])
        assert small.used > 50 * POINT_BYTES


@pytest.mark.django_db
def test_read_outside_of_a_request_is_not_counted(attempt: Attempt, small: MemoryBudget) -> None:
    assert read([attempt.run], ["reward/mean"])
    assert small.used == 0


@pytest.mark.django_db
def test_read_is_refused_while_another_request_holds_all_memory(attempt: Attempt, small: MemoryBudget) -> None:
    other = Lease(small)
    other.take(100)
    with request_memory() as lease:
        lease.patience_seconds = 0.01
        with pytest.raises(MemoryBusy):
            read([attempt.run], ["reward/mean"])
    other.give_back()
    with request_memory():
        wait_until(lambda: read([attempt.run], ["reward/mean"]), "the next read to work")
