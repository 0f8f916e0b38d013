"""While runs train, everything is killed and frozen in turn, memory and disks are full, and the clock is set.

`make test` injects a few faults while two runs are open, by the plan of one seed; `make soak PART=chaos` goes on for
its duration with four open runs, by another seed. Somebody opens pages and calls the API throughout.
"""

from __future__ import annotations

import pytest

from tests import soaking
from tests.chaos.database_view import Books
from tests.chaos.invariants import untruths
from tests.chaos.plan import every_kind, faults
from tests.chaos.scenario import Chaos

pytestmark = pytest.mark.slow
SEED, FAULTS = soaking.seed(57126), 5
"""By this seed a training is killed while it saves a checkpoint, the disk of the runs is full, a child of the worker is
killed, PostgreSQL freezes, and the clock is set."""
SETTLING_SECONDS = 120.0


def test_every_run_ends_in_a_true_state_and_its_records_are_kept_once(chaos: Chaos) -> None:
    kinds = every_kind(with_clock=chaos.clock is not None, with_disks=bool(chaos.disks))
    print(f"\nseed {SEED}, {len(kinds)} kinds of faults")
    chaos.begin()
    plan = faults(SEED, kinds)
    for _ in soaking.rounds(FAULTS, "faults", settling_seconds=SETTLING_SECONDS):
        chaos.inject(next(plan))
    chaos.rest()
    with Books(chaos.house.data) as books:
        print(books.story())
        soaking.count(len(books.attempts()), "attempts")
    print(chaos.table)
    found = untruths(chaos.house.data, chaos.launched, chaos.hit, chaos.starved, chaos.watch.seen)
    found += chaos.visits.bad()
    assert not found, "\n".join(found)
    assert chaos.house.close() == 0
    assert not chaos.house.living(), "something lives on after the end"
