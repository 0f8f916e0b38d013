"""How often the intervals that pages show hold the truth, for data with a known one: `make soak PART=coverage`.

Each case is simulated in turn until the time of the part is over, always with new data of the soak's seed. The table
has the coverage with its Monte Carlo error. The test fails if a coverage is significantly below its tolerance.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from benchmarks.results import aligned
from tests.intervals.claim import HEADER, Tally
from tests.intervals.every import CLAIMS
from tests.soak_plugin import rounds, seed

USUAL_SEED = 70
TURN_SECONDS = 0.1
"""Time of a case in each round. A case whose batch takes longer waits for as many rounds."""
ENOUGH = 0.003
"""Monte Carlo error at which a case has been simulated enough, as long as others have not."""


@pytest.mark.soak
def test_intervals_cover_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    tallies = [Tally(claim, case) for claim in CLAIMS for case in claim.cases]
    spent = [0.0] * len(tallies)
    generators = [np.random.default_rng([seed(USUAL_SEED), place]) for place in range(len(tallies))]
    for number in rounds(3, "rounds"):
        unsure = [place for place, tally in enumerate(tallies) if not tally.draws or tally.error > ENOUGH]
        for place in unsure or range(len(tallies)):
            tally = tallies[place]
            while spent[place] < TURN_SECONDS * (number + 1):
                started_at = time.monotonic()
                tally.add(tally.claim.cases[tally.case](generators[place]))
                spent[place] += time.monotonic() - started_at
    with capsys.disabled():
        print(f"\n{aligned([HEADER, *(tally.cells for tally in tallies)])}")
    low = [tally.cells for tally in tallies if tally.is_low]
    assert not low, low
