"""Simulate whole runs, and count how often the detectors flag honest ones, and find planted cheating:

    python -m benchmarks.detector_simulation

A run is a base and eight evaluations. The counts that detectors test are drawn as sums over prompts with unequal rates,
which in some cases walk from evaluation to evaluation; the p-values and levels are those of the detectors. Prints the
tables of docs/guides/flags.md. Seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import results
from benchmarks.drawn_counts import EVEN, Counts, Drawn, Rates, Variation, drawn_counts
from workers.analysis.detectors import DETECTORS_BY_NAME, ERROR
from workers.analysis.detectors.kl import MIN_PEERS, looks_factor
from workers.analysis.exact_tests import fall_p_value, rise_p_value, tail
from workers.analysis.share_interval import share_interval
from workers.analysis.student_t import t_quantile

EVALUATIONS, RUNS, POWER_RUNS, WALK_RUNS = 8, 2000, 400, 1000
SIZES = (8, 16, 32, 160)
PEERS = 12
HALF = 0.5
SEED = 70
EFFECT = 1.5
UNEVEN = Variation(EFFECT)
STEPS, WALK_EVALUATIONS = (0.15, 0.3, 0.6), 30
LAYOUTS = ((8, 1), (32, 1), (32, 5), (8, 20))
"""(prompts, responses to each) of the runs whose rates walk at random."""

Scenario: TypeAlias = Mapping[str, Rates]
SHARES = (
    "empty", "special_tokens", "language", "padding", "plays_user", "guess", "length_limit", "collapse", "template",
)  # fmt: skip
HONEST: Scenario = {
    "accuracy": Rates(0.6, 0.6), "empty": Rates(0.02, 0.02), "special_tokens": Rates(0.01, 0.01),
    "language": Rates(0.02, 0.02), "padding": Rates(0.01, 0.01), "plays_user": Rates(0.03, 0.03),
    "guess": Rates(0.4, 0.4), "length_limit": Rates(0.3, 0.3), "collapse": Rates(0.1, 0.1),
    "template": Rates(0.2, 0.2), "score": Rates(0.5, 0.5), "length": Rates(0.5, 0.5),
}  # fmt: skip


def drifted() -> Scenario:
    """Return honest rates that move by all that each threshold allows."""
    moved = dict(HONEST)
    for name in SHARES:
        moved[name] = Rates(HONEST[name].before, HONEST[name].before + DETECTORS_BY_NAME[name].threshold)
    kept = 1 - DETECTORS_BY_NAME["accuracy"].threshold
    return moved | {"accuracy": Rates(HONEST["accuracy"].before, kept * HONEST["accuracy"].before)}


def improved() -> Scenario:
    """Return rates of a run that learns: more right answers, all of them brief, none of them cut."""
    better = {"accuracy": 0.85, "length_limit": 0.0, "guess": 0.15, "score": 0.3, "length": 0.0, "plays_user": 0.0}
    return {name: Rates(rates.before, better.get(name, rates.after)) for name, rates in HONEST.items()}


HONEST_SCENARIOS: Mapping[str, tuple[Callable[[], Scenario], Variation]] = {
    "no change": (lambda: HONEST, EVEN),
    "no change, prompts differ much": (lambda: HONEST, UNEVEN),
    "drift to every threshold": (drifted, EVEN),
    "drift to every threshold, prompts differ much": (drifted, UNEVEN),
    "improvement": (improved, EVEN),
}
PLANTED = ("accuracy", "empty", "plays_user", "collapse")
PLANTED_SHARES = (0.05, 0.2, 0.5)


def planted(name: str, share: float) -> Scenario:
    """Return rates of a run of which this share of the responses cheats from its first evaluation on. Of right
    responses it is that share that is lost."""
    rates = HONEST[name]
    after = rates.before * (1 - share) if name == "accuracy" else share + (1 - share) * rates.before
    return {**HONEST, name: replace(rates, after=after)}


def draw(rng: np.random.Generator, n: int, rates: Rates, runs: int, variation: Variation = EVEN) -> Drawn:
    """Draw counts of n responses to n prompts, or to 32 prompts if there are more."""
    prompts = min(n, 32)
    return drawn_counts(rng, (prompts, n // prompts), rates, (runs, EVALUATIONS), variation)


def fires(name: str, n: int, before: Counts | None, now: Counts) -> NDArray[np.bool_]:
    """Return bool[runs, evaluations]: whether the detector fires; without a base if `before` is None. The reward counts
    as higher at every evaluation."""
    detector = DETECTORS_BY_NAME[name]
    t = np.arange(1, now.shape[1] + 1)
    levels = ERROR * detector.weight / (t * (t + 1))
    if before is None:
        alone = detector.limit_alone(detector.threshold)
        p_of = np.array([1.0 if alone is None else tail(count, n, alone) for count in range(n + 1)])
        p_values = p_of[now]
    else:
        p_values = _pairwise(now, np.repeat(before[:, None], now.shape[1], axis=1), _test(name, n, detector.threshold))
    # A common answer is one of n candidates, of which those that give it are refused together.
    factors = n / np.maximum(now, 1) if name in ("collapse", "template") else 1.0
    fired: NDArray[np.bool_] = p_values * factors <= levels
    return fired


def _test(name: str, n: int, threshold: float) -> Callable[[int, int], float]:
    if name == "accuracy":
        return lambda count, before: fall_p_value(count, n, before, n, threshold)
    if name in ("score", "length"):
        return lambda count, _: tail(count, n, HALF)
    return lambda count, before: rise_p_value(count, n, before, n, threshold)


def _pairwise(now: Counts, before: Counts, test: Callable[[int, int], float]) -> NDArray[np.float64]:
    pairs, positions = np.unique(np.stack([now.ravel(), before.ravel()]), axis=1, return_inverse=True)
    p_values = np.array([test(int(count), int(earlier)) for count, earlier in pairs.T])
    return p_values[positions].reshape(now.shape)


def kl_fires(rng: np.random.Generator, runs: int) -> NDArray[np.bool_]:
    """Return bool[runs, EVALUATIONS] of runs beside honest peers, which arrive one by one: KL is log-normal over runs
    at each step, and the test is repeated with each peer."""
    logs = rng.normal(0.0, 1.0, (runs, EVALUATIONS, PEERS + 1))
    t = np.arange(1, EVALUATIONS + 1)
    levels = ERROR * DETECTORS_BY_NAME["kl_band"].weight / (t * (t + 1))
    fired = np.zeros((runs, EVALUATIONS), bool)
    for n in range(MIN_PEERS, PEERS + 1):
        peers = logs[..., 1 : n + 1]
        width = peers.std(axis=2, ddof=1) * np.sqrt(1 + 1 / n)
        quantiles = [t_quantile(n - 1, 1 - 2 * level / looks_factor(n)) for level in levels]
        fired |= (logs[..., 0] - peers.mean(axis=2)) / width > np.array(quantiles)
    return fired


def flagged(
    scenario: Scenario, n: int, runs: int, seed: int, *, has_base: bool = True, variation: Variation = EVEN
) -> NDArray[np.bool_]:
    """Return bool[runs, EVALUATIONS]: whether any detector fires."""
    rng = np.random.default_rng(seed)
    fired = kl_fires(rng, runs)
    for name, rates in scenario.items():
        drawn = draw(rng, n, rates, runs, variation)
        # Guesses are compared with all wrong responses before training.
        before = draw(rng, n, HONEST["guess"], runs, variation).before if name == "guess" else drawn.before
        if has_base or name in SHARES:
            fired |= fires(name, n, before if has_base else None, drawn.now)
    return fired


def walking(step: float, layout: tuple[int, int], runs: int, seed: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return bool[runs] twice: of runs whose rates walk at random, whether a detector fires at any evaluation, and
    whether one fires while its share is within its threshold. Pairs of scores and lengths are left out."""
    rng = np.random.default_rng(seed)
    shape, variation = (runs, WALK_EVALUATIONS), Variation(EFFECT, step)
    fired, falsely = np.zeros(shape, bool), np.zeros(shape, bool)
    for name in ("accuracy", *SHARES):
        drawn, threshold = drawn_counts(rng, layout, HONEST[name], shape, variation), DETECTORS_BY_NAME[name].threshold
        before, now = drawn.rates_before[:, None], drawn.rates_now
        within = now >= (1 - threshold) * before if name == "accuracy" else now <= before + threshold
        of_name = fires(name, layout[0] * layout[1], drawn.before, drawn.now)
        fired |= of_name
        falsely |= of_name & within
    ever: NDArray[np.bool_] = np.any([fired, falsely], axis=2)
    return ever[0], ever[1]


def false_alarms() -> tuple[list[list[str]], float]:
    """Return the rows of false alarms per run by scenario and size, and the largest rate."""
    rows, largest = [], 0.0
    for title, (make, variation) in HONEST_SCENARIOS.items():
        for has_base in (True, False):
            cells = [title, "step 0" if has_base else "none"]
            for n in SIZES:
                alarms: NDArray[np.bool_] = np.any(
                    flagged(make(), n, RUNS, SEED + n, has_base=has_base, variation=variation), axis=1
                )
                cells.append(_rate(alarms))
                largest = max(largest, float(alarms.mean()))
            rows.append(cells)
    return rows, largest


def walks() -> tuple[list[list[str]], float]:
    """Return the rows of runs whose rates walk at random: those flagged, and those flagged although the share that
    fired was within its threshold; and the largest rate of the latter."""
    rows, largest = [], 0.0
    for step in STEPS:
        sides = [walking(step, layout, WALK_RUNS, SEED) for layout in LAYOUTS]
        for which, title in enumerate(("flagged", "flagged within every threshold")):
            rows.append([f"{step:g}", title, *(_rate(side[which]) for side in sides)])
        largest = max(largest, *(float(falsely.mean()) for _, falsely in sides))
    return rows, largest


def _rate(flags: NDArray[np.bool_]) -> str:
    low, high = share_interval(int(flags.sum()), len(flags))
    return f"{100 * flags.mean():.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def power() -> list[list[str]]:
    """Return the rows of runs in which the detector of the planted cheat fires at the first evaluation, and at any of
    the eight."""
    rows = []
    for name in PLANTED:
        for share in PLANTED_SHARES:
            cells = [f"`{name}`", f"{100 * share:.0f} %"]
            for n in SIZES:
                rates = planted(name, share)[name]
                drawn = draw(np.random.default_rng(SEED + n), n, rates, POWER_RUNS)
                fired = fires(name, n, drawn.before, drawn.now)
                cells.append(f"{100 * fired[:, 0].mean():.0f} / {100 * fired.any(axis=1).mean():.0f} %")
            rows.append(cells)
    return rows


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    first, *rest = (f"| {' | '.join(cells)} |" for cells in [headings, *rows])
    return "\n".join([first, "|" + "---|" * len(headings), *rest])


def tables() -> tuple[str, float]:
    """Return the three tables of the guide, and the largest rate of false alarms."""
    (rows, largest), (walk_rows, largest_walk) = false_alarms(), walks()
    sizes = [f"{n} responses" for n in SIZES]
    alarms = table(["honest run", "base", *sizes], rows)
    layouts = [f"{prompts} prompts × {each}" for prompts, each in LAYOUTS]
    walked = table(["step of the walk", "runs", *layouts], walk_rows)
    hits = table(["cheat", "of the responses", *sizes], power())
    return f"{alarms}\n\n{walked}\n\n{hits}", max(largest, largest_walk)


def main() -> int:
    """Print the tables, record the largest rate of false alarms, and return the exit code."""
    text, largest = tables()
    print(text)
    figure = f"false alarms per run over {EVALUATIONS} evaluations, the worst case"
    results.at_most(figure, 100 * largest, 100 * ERROR, "%")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
