"""Test the KL to the base model: beside other runs at the same step, and against the ceiling of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from statistics import fmean, stdev

from workers.analysis.detectors.evaluation import Evaluation, Peer
from workers.analysis.exact_tests import tail
from workers.analysis.keys import KL
from workers.analysis.student_t import t_quantile, two_sided_p

MIN_PEERS = 4
"""Fewer runs do not show how far apart honest ones are."""
UNIFORM_KL = 12.5
"""Nats per token: ln 268 000, above the vocabularies in use. A text with more KL is less likely under the base model
than uniformly random tokens."""


@dataclass(frozen=True)
class KlReference:
    """Limits of the KL from honest runs of one model, by one estimator. floor: their largest KL; no run is flagged up
    to it. ceiling: beyond it a run is flagged without peers; None if `runs`, their number, does not suffice to state
    one."""

    model: str
    estimator: str
    runs: int
    floor: float
    ceiling: float | None
    source: str


EXACT = "exact"
"""The evaluator's estimator: the KL of the whole next-token distribution, averaged over the tokens of the samples."""
REFERENCES: Mapping[str, KlReference] = {
    reference.model: reference
    for reference in (
        KlReference(
            "tiny", EXACT, 8, 0.44, 2.0,
            "presets es-tiny and grpo-tiny, seeds 11 to 14, step 60: 0.17 to 0.44; the ceiling is the upper limit of "
            "the 99.8 % prediction interval of the logarithms",
        ),
        KlReference(
            "smollm2", EXACT, 30, 2.51, None,
            "honest training runs of docs/studies/detectors, ES and GRPO, two tasks of the built-in facts: 0.00 to "
            "2.51; the 99.8 % prediction interval of the logarithms ends at 152, so no ceiling is stated",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class KlTest:
    """p of a test; the KL that it had to exceed; the peers' geometric mean, None for the ceiling; n peers or
    responses."""

    p: float
    limit: float
    before: float | None
    n: int
    key: str


def reference_of(model: str) -> KlReference | None:
    """Return the reference of a model, by the last part of its path; None if no honest run of it is known."""
    return REFERENCES.get(PurePosixPath(model).name.casefold())


def kl_tests(evaluation: Evaluation, peers: Sequence[Peer], ceiling: float, alpha: float) -> list[KlTest]:
    """Return the tests that are possible, the smallest p-value first, each multiplied by their number."""
    value = evaluation.values.get(KL, math.nan)
    if not math.isfinite(value):
        return []
    against = _against(value, evaluation, ceiling)
    beside = _beside(value, evaluation, peers, alpha / 2 if against else alpha)
    tests = [test for test in (beside, against) if test]
    corrected = [replace(test, p=min(1.0, len(tests) * test.p)) for test in tests]
    return sorted(corrected, key=lambda test: test.p)


def _beside(value: float, evaluation: Evaluation, peers: Sequence[Peer], alpha: float) -> KlTest | None:
    """Return the test against the prediction interval of one further run: t of the logarithms, exact if the KL of
    honest runs at one step is log-normal."""
    logs = [math.log(kl) for peer in peers if not peer.is_flagged and (kl := peer.kl.get(evaluation.step, 0.0)) > 0]
    if len(logs) < MIN_PEERS or (spread := stdev(logs)) == 0.0 or not all(map(math.isfinite, logs)):
        return None
    freedom, mean, width = len(logs) - 1, fmean(logs), spread * math.sqrt(1 + 1 / len(logs))
    reference = reference_of(evaluation.model)
    floor = reference.floor if reference else 0.0
    looks = looks_factor(len(logs))
    limit = max(floor, math.exp(mean + t_quantile(freedom, 1 - 2 * alpha / looks) * width))
    t = (math.log(value) - mean) / width if value > 0 else -math.inf
    p = min(1.0, looks * two_sided_p(t, freedom) / 2) if t > 0 and value > floor else 1.0
    return KlTest(p, limit, math.exp(mean), len(logs), "peers")


def looks_factor(peers: int) -> float:
    """Return the factor of the p-value for so many peers. They arrive one by one, and the test is repeated with each.

    By simulation the repeated tests of 4 to 20 peers are refused up to 6.4 times as often as one of them; the factor is
    7.7 then.
    """
    return 2 * (1 + math.log(peers - MIN_PEERS + 1))


def _against(value: float, evaluation: Evaluation, ceiling: float) -> KlTest | None:
    """Return the sign test of the responses' KL: at most half of an honest model's responses are beyond the ceiling."""
    measured = [kl for response in evaluation.responses if (kl := response.kl_per_token) is not None]
    if not measured:
        return None
    beyond = sum(kl > ceiling for kl in measured)
    p = tail(beyond, len(measured), 0.5) if value > ceiling else 1.0
    return KlTest(p, ceiling, None, len(measured), "ceiling")
