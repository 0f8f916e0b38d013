"""While runs train, everything is killed and frozen in turn, memory and disks are full, and the clock is set.

`make test` injects a few faults while two runs are open, by the plan of one seed; `make soak PART=chaos` runs for its
duration with four open runs, by another seed. Visitors open pages and call the API throughout.
"""

from __future__ import annotations

import pytest

from tests import soak_plugin
from tests.chaos.database_view import DatabaseView
from tests.chaos.invariants import find_violations
from tests.chaos.plan import fault_kinds, generate_faults
from tests.chaos.scenario import ChaosScenario

pytestmark = pytest.mark.slow
SEED, FAULTS = soak_plugin.seed(57126), 5
"""The seed with which a training is killed while it saves a checkpoint, the disk of the runs is full, a child of the
worker is killed, PostgreSQL freezes, and the clock is set."""
SETTLING_SECONDS = 120.0


def test_runs_reach_true_state_with_each_record_stored_once(chaos: ChaosScenario) -> None:
    kinds = fault_kinds(with_clock=chaos.clock is not None, with_disks=bool(chaos.disks))
    print(f"\nseed {SEED}, {len(kinds)} kinds of faults")
    chaos.start()
    plan = generate_faults(SEED, kinds)
    for _ in soak_plugin.rounds(FAULTS, "faults", settling_seconds=SETTLING_SECONDS):
        chaos.inject(next(plan))
    chaos.wait_until_settled()
    with DatabaseView(chaos.supervisor.data) as database:
        print(database.summary())
        soak_plugin.count(len(database.attempts()), "attempts")
    print(chaos.table)
    violations = find_violations(
        chaos.supervisor.data, chaos.launched, chaos.killed, chaos.starved, chaos.watch.sightings
    )
    violations += chaos.visits.find_problems()
    assert not violations, "\n".join(violations)
    assert chaos.supervisor.stop() == 0
    assert not chaos.supervisor.processes(), "something lives on after the end"
