"""While runs train, everything that can be killed is killed, in turn and all at once, and the clock is set.

`make test` kills twice while two runs are open, by the plan of one seed; `make soak PART=chaos` goes on for its
duration with four open runs, by another seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import soaking
from tests.chaos.books import Books
from tests.chaos.chaos import Chaos
from tests.chaos.clock import COMPILER, Clock
from tests.chaos.house import House
from tests.chaos.plan import Blow, blows
from tests.chaos.truth import untruths
from tests.lived_in import lived_in

pytestmark = pytest.mark.slow
SEED, KILLS = soaking.seed(408), 2
"""By this seed the clock is set, a training is killed while it saves a checkpoint, and then PostgreSQL."""
SETTLING_SECONDS = 120.0


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
    print(f"\nseed {SEED}, the clock is {'moved' if chaos.clock else 'left alone: no C compiler'}")
    house, plan = chaos.house, blows(SEED, with_clock=chaos.clock is not None)
    chaos.begin()
    for _ in soaking.rounds(KILLS, "kills", settling_seconds=SETTLING_SECONDS):
        strike_until_one_is_killed(chaos, plan)
    chaos.rest()
    with Books(house.data) as books:
        print(books.story())
        soaking.count(len(books.attempts()), "attempts")
    found = untruths(house.data, chaos.launched, chaos.hit, chaos.watch.seen)
    assert not found, "\n".join(found)
    assert house.close() == 0
    assert not house.living(), "something lives on after the end"


def strike_until_one_is_killed(chaos: Chaos, plan: Iterator[Blow]) -> None:
    """Take blows from the plan up to its next kill; the clock may be set before."""
    before = chaos.kills
    while chaos.kills == before:
        chaos.strike(next(plan))
