"""Four runs going, and everything that can be killed is killed, in turn and all at once, and the clock is set.

ESWEB_CHAOS_KILLS and ESWEB_CHAOS_SEED choose how often and how; `make soak` is this test with two hundred kills.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.books import Books
from tests.chaos.chaos import Chaos
from tests.chaos.clock import COMPILER, Clock
from tests.chaos.house import House
from tests.chaos.plan import blows
from tests.chaos.truth import untruths
from tests.lived_in import lived_in

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("ESWEB_CHAOS_KILLS", "20"))
SEED = int(os.environ.get("ESWEB_CHAOS_SEED", "1"))


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[Chaos]:
    """A house that is not open yet, with a clock of its own where this machine has a C compiler."""
    clock = Clock(tmp_path) if COMPILER else None
    house = House(lived_in(tmp_path / "data"), clock.env if clock else {})
    striking = Chaos(house, clock, lambda words: print(words, flush=True))
    yield striking
    striking.end()
    house.kill_everything()


def test_every_run_ends_in_a_true_state_and_its_records_are_kept_once(chaos: Chaos) -> None:
    print(f"\nseed {SEED}, {KILLS} kills, the clock is {'moved' if chaos.clock else 'left alone: no C compiler'}")
    house = chaos.house
    chaos.begin()
    for blow in blows(SEED, KILLS, with_clock=chaos.clock is not None):
        chaos.strike(blow)
    chaos.rest()
    with Books(house.data) as books:
        print(books.story())
    assert chaos.kills == KILLS
    found = untruths(house.data, chaos.launched, chaos.hit, chaos.watch.seen)
    assert not found, "\n".join(found)
    assert house.close() == 0
    assert not house.living(), "something lives on after the end"
