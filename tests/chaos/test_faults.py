"""While runs train, everything is killed and frozen in turn, memory and disks are full, and the clock is set.

`make test` injects the faults of one short plan while a few runs train, and compares the stored records with the files
after each kill of PostgreSQL; `make soak PART=chaos` runs for its duration with four open runs, by a plan of its seed.
Visitors open pages and call the API throughout.
"""

from __future__ import annotations

from functools import partial

import pytest

from tests import soak_plugin
from tests.chaos.database_view import DatabaseView
from tests.chaos.invariants import find_violations
from tests.chaos.plan import FEW_FAULTS, KILL, Fault, fault_kinds, generate_faults
from tests.chaos.scenario import ChaosScenario
from tests.chaos.stored_records import compare_after_read, records_are_stored
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
SEED = soak_plugin.seed(1)
SETTLING_SECONDS = 120.0


def test_runs_reach_true_state_with_each_record_stored_once(chaos: ChaosScenario) -> None:
    kinds = fault_kinds(with_clock=chaos.clock is not None, with_disks=bool(chaos.disks))
    print(f"\nseed {SEED}, {len(kinds)} kinds of faults")
    few = [fault for fault in FEW_FAULTS if (fault.kind, fault.victim) in kinds]
    plan = generate_faults(SEED, kinds) if soak_plugin.SECONDS else iter(few)
    chaos.start()
    wait_until(partial(records_are_stored, chaos), "the first records of a run")
    for _ in soak_plugin.rounds(len(few), "faults", settling_seconds=SETTLING_SECONDS):
        inject(chaos, next(plan))
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


def inject(chaos: ChaosScenario, fault: Fault) -> None:
    """Inject a fault. Outside a soak, kill PostgreSQL when it has stored records, and compare them afterwards."""
    if soak_plugin.SECONDS or fault.kind != KILL or not fault.victim.startswith("postgres"):
        chaos.inject(fault)
        return
    chaos.inject(fault, partial(records_are_stored, chaos))
    assert compare_after_read(chaos)
