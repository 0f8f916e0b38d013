"""While runs train, PostgreSQL or one of its processes is killed again and again.

After each kill, the database holds each record of a file up to the offset that it stores, and in the end all records.

Metrics are committed without waiting for the disk, so each kill loses the last of them, which must be read again.
test_faults.py has one kill of each kind with the same comparison; this test runs in the soak only.
"""

from __future__ import annotations

from functools import partial

import pytest

from tests import soak_plugin
from tests.chaos.invariants import find_violations
from tests.chaos.plan import KILL, generate_faults
from tests.chaos.scenario import ChaosScenario
from tests.chaos.stored_records import compare_after_read, records_are_stored
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.soak]
SEED, KILLS = soak_plugin.seed(61), 2
KINDS = ((KILL, "postgres"), (KILL, "postgres child"))
SETTLING_SECONDS = 60.0


def test_records_match_files_after_each_postgresql_kill(chaos: ChaosScenario) -> None:
    print(f"\nseed {SEED}")
    chaos.start()
    plan, compared_records = generate_faults(SEED, KINDS, phases=[""], max_wait=1.0), 0
    wait_for_commit = partial(wait_until, partial(records_are_stored, chaos), "the follower to store records")
    for _ in soak_plugin.rounds(KILLS, "kills of PostgreSQL", settling_seconds=SETTLING_SECONDS):
        chaos.inject(next(plan), wait_for_commit)
        compared_records += compare_after_read(chaos)
    chaos.wait_until_settled()
    print(f"{chaos.table}\n{compared_records} records compared after kills")
    soak_plugin.count(compared_records, "comparisons of a record")
    assert compared_records
    violations = find_violations(
        chaos.supervisor.data, chaos.launched, chaos.killed, chaos.starved, chaos.watch.sightings
    )
    violations += chaos.visits.find_problems()
    assert not violations, "\n".join(violations)
