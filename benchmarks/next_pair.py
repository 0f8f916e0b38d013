"""Which pair is judged next: how far ratings are from the truth after so many votes, by three ways to choose.

    python -m benchmarks.next_pair

Eight models whose strengths are known, evenly apart; 60 replays each. Errors are root mean squares of strengths, in
nats, of the same fit. `rounds` is what tournaments do by default; `random` draws every pair; `informative` chooses
"where a vote tells most", eight pairs ahead as for voters. It promises nothing: it says what choosing is worth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import results
from judging.stats.ratings import next_pairs
from judging.stats.ratings.counts import Counts
from judging.stats.ratings.maximum_likelihood import fit

MODELS, REPLAYS, AHEAD = 8, 60, 8
STRENGTHS = np.linspace(-2, 2, MODELS)
MARKS = (100, 200, 400)
PRIOR = 0.1
"""Wins each way in the fit that errors are taken of: early on somebody is always unbeaten."""
PLENTY = 10_000
Chooser = Callable[[np.ndarray, np.random.Generator], Iterator[tuple[int, int]]]


def rounds(wins: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Every pair once, in an order of its own, and again."""
    pairs = np.argwhere(np.triu(np.ones_like(wins), 1))
    while True:
        yield from ((int(one), int(other)) for one, other in rng.permutation(pairs))


def at_random(wins: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Any pair, each time."""
    while True:
        one, other = rng.choice(len(wins), 2, replace=False)
        yield int(one), int(other)


def informative(wins: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """As tournaments choose, with what `wins` holds by then."""
    free = PLENTY * (1 - np.eye(len(wins), dtype=np.int64))
    while True:
        known = Counts(wins.copy(), np.zeros_like(wins))
        for choice in next_pairs([known], known.games.astype(np.int64), free, AHEAD, rng):
            yield choice.one, choice.other


def errors(chooser: Chooser, seed: int) -> list[float]:
    """At each of MARKS, of one replay."""
    rng = np.random.default_rng(seed)
    strengths, wins = rng.permutation(STRENGTHS), np.zeros((MODELS, MODELS))
    found = []
    for votes, (one, other) in enumerate(chooser(wins, rng), 1):
        one_wins = rng.random() < 1 / (1 + np.exp(strengths[other] - strengths[one]))
        wins[(one, other) if one_wins else (other, one)] += 1
        if votes in MARKS:
            theta = fit(Counts(wins, np.zeros_like(wins)), prior=PRIOR).theta
            found.append(float(np.sqrt(((theta - strengths) ** 2).mean())))
        if votes == MARKS[-1]:
            return found
    return found


def main() -> int:
    """Print the errors after each of MARKS, record the last, and return the exit code."""
    named: dict[str, Chooser] = {"rounds": rounds, "random": at_random, "informative": informative}
    all_ = {name: np.array([errors(one, seed) for seed in range(REPLAYS)]) for name, one in named.items()}
    base = all_["rounds"].mean(axis=0)
    print(f"{MODELS} models, {REPLAYS} replays; error in nats after {', '.join(map(str, MARKS))} votes (x rounds)")
    for name, found in all_.items():
        mean, spread = found.mean(axis=0), found.std(axis=0) / np.sqrt(REPLAYS)
        cells = zip(mean, spread, mean / base, strict=True)
        print(f"  {name:11}" + "".join(f"  {value:.3f} ± {own:.3f} ({ratio:.2f}x)" for value, own, ratio in cells))
    for name, found in all_.items():
        error, ratio = found.mean(axis=0)[-1], (found.mean(axis=0) / base)[-1]
        results.without_goal(f"{name}, error after {MARKS[-1]} votes", error, "nats", ratio=ratio, peer="rounds")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
