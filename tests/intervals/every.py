"""All intervals that pages show, with what `make soak PART=coverage` simulates of them."""

from __future__ import annotations

from tests.intervals import of_outcomes, of_probes, over_prompts, over_seeds, over_votes
from tests.intervals.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *over_seeds.CLAIMS, *over_prompts.CLAIMS, *of_outcomes.CLAIMS, *over_votes.CLAIMS, *of_probes.CLAIMS,
)  # fmt: skip
NO_INTERVAL = {
    "judging.judge_runs.api": "the estimate of a duration is one number",
    "workers.engines.es.quantiles": "quantiles of the normal distribution, of which noise is made",
    "workers.probes.audit.tail": "p-value of a probe, whose verdict corrects for the number of pairs",
    "workers.probes.geometry.growth": "simulated walks; coverage in tests/workers/probes/geometry/test_growth.py",
}
"""Modules that call such functions for other purposes, with the purpose."""
