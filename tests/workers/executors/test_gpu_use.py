"""Which GPU a job gets: by shares, by planned memory, and by the memory that other programs hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tests.cases import each_case
from workers.executors.local.gpu_use import Assignment, GpuUse
from workers.executors.tickets import Ticket
from workers.gpus import Card

CARD = Card("GPU-a", 0, "NVIDIA H200", 100_000)
OTHER_CARD = replace(CARD, device="GPU-b", index=1)


def job(gpus: float, memory_mb: int = 0, *devices: str) -> Ticket:
    return Ticket("job", 1, "/job", 1, gpus, memory_mb, devices=devices)


def assign(
    waiting: Ticket, cards: Collection[Card], *running: Ticket, processes: Collection[int] | None = None
) -> Assignment:
    return GpuUse(tuple(cards), running, lambda: processes).assign(waiting)


def test_job_without_gpus_gets_none() -> None:
    assert assign(job(0), []) == Assignment()


def test_shared_jobs_are_spread_over_gpus() -> None:
    running = [job(0.3, 0, "GPU-a"), job(0.1, 0, "GPU-b")]
    assert assign(job(0.25), [CARD, OTHER_CARD], *running).devices == ("GPU-b",)


def test_shares_of_gpu_add_up_to_one() -> None:
    running = [job(0.1, 0, "GPU-a")] * 7
    assert assign(job(0.3), [CARD], *running).devices == ("GPU-a",)
    assert assign(job(0.31), [CARD], *running) == Assignment(reason="waiting for 0.31 of a GPU: 0.7 of 1 in use")


def test_whole_gpu_and_shares_exclude_each_other() -> None:
    shared, whole = job(0.02, 0, "GPU-a"), job(1, 0, "GPU-a")
    assert assign(job(1), [CARD], shared).reason == "waiting for 1 GPU: 1 of 1 in use"
    assert assign(job(0.02), [CARD], whole).reason == "waiting for 0.02 of a GPU: 1 of 1 in use"
    assert assign(job(1), [CARD, OTHER_CARD], shared).devices == ("GPU-b",)


def test_two_gpus_are_two_whole_ones() -> None:
    assert assign(job(2), [CARD, OTHER_CARD]).devices == ("GPU-a", "GPU-b")
    assert assign(job(2), [CARD, OTHER_CARD], job(0.5, 0, "GPU-a")).reason == "waiting for 2 GPUs: 1 of 2 in use"


@each_case("gpus, offer", [(1, "none"), (0.5, "none"), (2, "1 GPU")])
def test_job_waits_for_gpu_that_disappeared(gpus: float, offer: str) -> None:
    cards = [CARD] if gpus == 2 else []
    assignment = assign(job(gpus), cards)
    assert assignment.is_external and assignment.devices == ()
    assert assignment.reason.startswith("waiting for ")
    assert assignment.reason.endswith(f": this machine offers {offer} now")


def test_planned_memory_counts_before_it_is_used() -> None:
    """Eight jobs of 12 000 MB are planned for 88 320 MB, of which none is in use yet."""
    running = [job(0.02, 12_000, "GPU-a")] * 8
    assert assign(job(0.02, 12_000), [CARD], *running).devices == ("GPU-a",)
    assert assign(job(0.02, 13_000), [CARD], *running).reason == "waiting for 0.02 of a GPU: 0.16 of 1 in use"


def test_job_waits_for_memory_that_other_programs_hold() -> None:
    full = replace(CARD, used_mb=95_000, process_mb={7: 94_000})
    assignment = assign(job(0.1, 10_000), [full], processes=())
    assert assignment == Assignment(
        (), "waiting for 9200 MB of GPU memory: other programs hold 95000 of the 100000 MB of GPU 0", is_external=True
    )
    assert assign(job(0.1, 10_000), [full, OTHER_CARD], processes=()).devices == ("GPU-b",)


@each_case("memory_mb, waits", [(0, True), (45_000, False)])
def test_whole_gpu_needs_its_plan_or_half_of_memory(memory_mb: int, waits: bool) -> None:
    used = replace(CARD, used_mb=51_000)
    assert assign(job(1, memory_mb), [used]).is_external == waits


def test_memory_of_own_jobs_is_not_that_of_others() -> None:
    used = replace(CARD, used_mb=61_000, process_mb={7: 60_000, 8: 500})
    running = [job(0.1, 10_000, "GPU-a")]
    assert assign(job(0.5, 50_000), [used], *running, processes={7}).devices == ("GPU-a",)
    assert assign(job(0.5, 50_000), [used], *running, processes={8}).is_external


def test_reservations_stand_for_processes_that_are_not_comparable() -> None:
    running = [job(0.4, 40_000, "GPU-a")]
    used = replace(CARD, used_mb=50_000, process_mb={7: 50_000})
    for card in (used, replace(used, process_mb={})):
        assert assign(job(0.4, 40_000), [card], *running).devices == ("GPU-a",)
        assert assign(job(0.6, 60_000), [card], *running).reason == "waiting for 0.6 of a GPU: 0.4 of 1 in use"


def test_gpu_of_unknown_memory_is_shared_by_shares() -> None:
    unknown = Card("0")
    assert assign(job(0.5, 90_000), [unknown], job(0.5, 90_000, "0")).devices == ("0",)
    assert assign(job(1), [unknown]).devices == ("0",)
