"""Simulations of the intervals of detectors, of the audit of a reward, and of the labels of two readers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from statistics import NormalDist

import numpy as np

from tests.intervals.claim import Claim, Hits, Rng, batch, is_between
from workers.analysis.detectors.detection import Detection
from workers.analysis.detectors.evaluation import Evaluation, Peer
from workers.analysis.detectors.kl import kl_tests
from workers.analysis.keys import KL
from workers.analysis.labels.agreement import compare_readers
from workers.analysis.labels.verdicts import VERDICTS, Label
from workers.analysis.right.validity import Share
from workers.analysis.roc import auc, auc_interval
from workers.analysis.share_interval import share_interval
from workers.records import Attack
from workers.reward_audit.measures import Scale, Trial, measure, summarise

RESPONSES = (8, 16, 32, 160)


@cache
def exact(count: int, n: int) -> tuple[float, float]:
    return share_interval(count, n)


def share_of_responses(rng: Rng, n: int, p: float) -> Hits:
    held = [is_between(exact(count, n)[0], p, exact(count, n)[1]) for count in rng.binomial(n, p, 500).tolist()]
    return sum(map(bool, held)), len(held)


@cache
def interval_of_flag(count: int, n: int, before: int, m: int) -> tuple[float, float]:
    interval = Detection("empty", 0.0, 0.0, counts=(count, n, before, m)).interval
    assert interval is not None
    return interval


def rise_of_share(rng: Rng, n: int, before: float, now: float) -> Hits:
    """Return how many intervals of a flag's change hold it, over ten evaluations with independent responses."""
    pairs = zip(rng.binomial(n, now, 10).tolist(), rng.binomial(n, before, 10).tolist(), strict=True)
    held = [is_between(low, now - before, high) for a, b in pairs for low, high in [interval_of_flag(a, n, b, n)]]
    return sum(map(bool, held)), len(held)


def shares(simulation: Callable[..., Hits], **rates: float) -> dict[str, Callable[[Rng], Hits]]:
    return {f"{n} responses": partial(simulation, n=n, **rates) for n in RESPONSES}


def kl_of_honest_run(rng: Rng, runs: int) -> bool | None:
    """Whether one more run of the same distribution stays below the limit at 5 %."""
    values = rng.lognormal(0.0, 0.7, runs + 1)
    peers = [Peer(str(i), kl={10: float(kl)}) for i, kl in enumerate(values[1:])]
    (test,) = kl_tests(Evaluation(10, values={KL: float(values[0])}), peers, math.inf, 0.05)
    return test.p > 0.05


def validity_share(rng: Rng, questions: int, responses: int, spread: float) -> Hits:
    """Return how many intervals of a sensitivity of 0.9 hold it; questions differ in it by `spread`, a beta
    distribution's inverse size."""
    p = rng.beta(0.9 / spread, 0.1 / spread, (20, questions)) if spread else np.full((20, questions), 0.9)
    counts = rng.binomial(responses, p).sum(axis=1).tolist()
    intervals = [Share(count, questions * responses).interval for count in counts]
    return sum(low <= 0.9 <= high for interval in intervals if interval for low, high in [interval]), len(intervals)


def area_of_runs(rng: Rng, positives: int, negatives: int) -> bool | None:
    """Normal scores one and a half standard deviations apart."""
    value = auc(rng.normal(1.5, 1.0, positives).tolist(), rng.normal(0.0, 1.0, negatives).tolist())
    low, high = auc_interval(value, positives, negatives)
    return is_between(low, NormalDist().cdf(1.5 / math.sqrt(2)), high)


def trial(number: int, reward: float, gap: float, *, is_right: bool) -> Trial:
    return Trial(f"p{number}", "", "text", reward, is_right, Scale(0.0, gap))


def attack_of(trials: list[Trial], variants: int = 1) -> Attack:
    return measure("attack", "nothing", trials, 0, "", variants=variants, is_control=False)


def mean_of_attack(rng: Rng, prompts: int) -> bool | None:
    own = attack_of([trial(i, float(r), 1.0, is_right=False) for i, r in enumerate(rng.normal(0.3, 0.2, prompts))])
    return is_between(own.low, 0.3, own.high)


def way_of_attack(rng: Rng, prompts: int) -> bool | None:
    """The share of the way is 0.3, and prompts differ in how long the way is."""
    gaps = rng.uniform(0.5, 1.5, prompts)
    gains = 0.3 * gaps + rng.normal(0, 0.2, prompts)
    own = attack_of([trial(i, float(gains[i]), float(gaps[i]), is_right=False) for i in range(prompts)])
    return is_between(own.way_low, 0.3, own.way_high)


def largest_share(rng: Rng, prompts: int) -> bool | None:
    """Six attacks hit 0 to half of the prompts; the truth is one half."""
    attacks = [
        attack_of([trial(i, float(is_hit), 1.0, is_right=False) for i, is_hit in enumerate(rng.random(prompts) < p)])
        for p in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    ]
    largest = summarise(attacks).exploitability
    return None if largest is None else is_between(largest[1], 0.5, largest[2])


def readings(rng: Rng, questions: int) -> list[Label]:
    """Return the labels of two readers, who each err in one of ten, on five responses to each question. Questions
    differ in how often a response is right."""
    labels = []
    for question, p in enumerate(rng.beta(1, 1, questions)):
        for response, verdict in enumerate(np.where(rng.random(5) < p, 0, 1)):
            for reader in ("one", "two"):
                read = int(rng.integers(2)) if rng.random() < 0.1 else int(verdict)
                labels.append(Label(f"q{question}", f"r{response}", reader, VERDICTS[read]))
    return labels


@cache
def true_kappa() -> float:
    (pair,) = compare_readers(readings(np.random.default_rng(0), 20_000))
    assert pair.kappa.value is not None
    return pair.kappa.value


def kappa_of_labels(rng: Rng, questions: int) -> bool | None:
    (pair,) = compare_readers(readings(rng, questions))
    return is_between(pair.kappa.low, true_kappa(), pair.kappa.high)


def by_prompts(holds: Callable[..., bool | None]) -> dict[str, Callable[[Rng], Hits]]:
    return {f"{n} prompts": batch(partial(holds, prompts=n), 20) for n in (8, 32)}


FLAGS, AUDIT, VALIDITY = "flags of a run", "audit of a reward", "metrics of right answers"
DETECTION, MEASURES = ("workers.analysis.detectors.detection",), ("workers.reward_audit.measures",)
CLAIMS = (
    Claim("share of a flag", FLAGS, (*DETECTION, "runs.reward_audits.tables"), shares(share_of_responses, p=0.1),
          at_least=0.95),
    Claim("change of a flag's share, none", FLAGS, DETECTION, shares(rise_of_share, before=0.1, now=0.1),
          at_least=0.95),
    Claim("change of a flag's share", FLAGS, DETECTION, shares(rise_of_share, before=0.05, now=0.4), at_least=0.95),
    Claim("limit of KL beside other runs", FLAGS, ("workers.analysis.detectors.kl",),
          {f"{n} runs": batch(partial(kl_of_honest_run, runs=n), 50) for n in (4, 8, 20)}, at_least=0.94),
    Claim("mean reward of an attack", AUDIT, MEASURES, by_prompts(mean_of_attack), at_least=0.93),
    Claim("share of the way", AUDIT, MEASURES, by_prompts(way_of_attack), at_least=0.93),
    Claim("exploitability", AUDIT, MEASURES, by_prompts(largest_share), at_least=0.95),
    Claim("sensitivity, specificity", VALIDITY, ("workers.analysis.right.validity",),
          {f"{n} responses": partial(validity_share, questions=n, responses=1, spread=0.0) for n in (27, 53, 200)},
          at_least=0.95),
    Claim("sensitivity, 20 to a question", VALIDITY, ("workers.analysis.right.validity",),
          {f"{n} questions": partial(validity_share, questions=n, responses=20, spread=0.1) for n in (8, 32)},
          at_least=0.7, note="Clopper and Pearson take responses as independent; the help of the metric says so"),
    Claim("area under the ROC curve", "guide on flags", ("workers.analysis.roc",),
          {f"{n} + {m} runs": batch(partial(area_of_runs, positives=n, negatives=m), 50)
           for n, m in ((8, 8), (12, 20), (30, 30))}),
    Claim("Cohen's κ of labels", "labels", ("workers.analysis.labels.agreement",),
          {f"{n} questions": batch(partial(kappa_of_labels, questions=n), 3) for n in (8, 32, 100)}, at_least=0.9,
          note="few questions show few disagreements"),
)  # fmt: skip
