"""Compare three ways to choose the next pair: the error of ratings after so many votes.

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
from judging.stats.ratings import select_next_pairs
from judging.stats.ratings.counts import Counts
from judging.stats.ratings.maximum_likelihood import fit

MODELS, REPLAYS, AHEAD = 8, 60, 8
STRENGTHS = np.linspace(-2, 2, MODELS)
MARKS = (100, 200, 400)
PRIOR = 0.1
"""Wins each way in the fit that errors are taken of: early on, some model is always unbeaten."""
PLENTY = 10_000
Chooser = Callable[[np.ndarray, np.random.Generator], Iterator[tuple[int, int]]]


def rounds(wins: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield every pair once, in a random order, and again."""
    pairs = np.argwhere(np.triu(np.ones_like(wins), 1))
    while True:
        yield from ((int(first), int(other)) for first, other in rng.permutation(pairs))


def at_random(wins: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield a random pair each time."""
    while True:
        first, other = rng.choice(len(wins), 2, replace=False)
        yield int(first), int(other)


def informative(wins: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield the pairs that tournaments choose, given the content of `wins` at that time."""
    free = PLENTY * (1 - np.eye(len(wins), dtype=np.int64))
    while True:
        counts = Counts(wins.copy(), np.zeros_like(wins))
        for choice in select_next_pairs([counts], counts.games.astype(np.int64), free, AHEAD, rng):
            yield choice.first, choice.second


def errors(chooser: Chooser, seed: int) -> list[float]:
    """Return the error of one replay at each of MARKS."""
    rng = np.random.default_rng(seed)
    strengths, wins = rng.permutation(STRENGTHS), np.zeros((MODELS, MODELS))
    sizes = []
    for votes, (first, other) in enumerate(chooser(wins, rng), 1):
        one_wins = rng.random() < 1 / (1 + np.exp(strengths[other] - strengths[first]))
        wins[(first, other) if one_wins else (other, first)] += 1
        if votes in MARKS:
            theta = fit(Counts(wins, np.zeros_like(wins)), prior=PRIOR).theta
            sizes.append(float(np.sqrt(((theta - strengths) ** 2).mean())))
        if votes == MARKS[-1]:
            return sizes
    return sizes


def main() -> int:
    """Print the errors after each of MARKS, record the last, and return the exit code."""
    choosers: dict[str, Chooser] = {"rounds": rounds, "random": at_random, "informative": informative}
    errors_by_name = {
        name: np.array([errors(chooser, seed) for seed in range(REPLAYS)]) for name, chooser in choosers.items()
    }
    base = errors_by_name["rounds"].mean(axis=0)
    print(f"{MODELS} models, {REPLAYS} replays; error in nats after {', '.join(map(str, MARKS))} votes (x rounds)")
    for name, replays in errors_by_name.items():
        mean, spread = replays.mean(axis=0), replays.std(axis=0) / np.sqrt(REPLAYS)
        cells = zip(mean, spread, mean / base, strict=True)
        print(f"  {name:11}" + "".join(f"  {value:.3f} ± {own:.3f} ({ratio:.2f}x)" for value, own, ratio in cells))
    for name, replays in errors_by_name.items():
        error, ratio = replays.mean(axis=0)[-1], (replays.mean(axis=0) / base)[-1]
        results.without_goal(f"{name}, error after {MARKS[-1]} votes", error, "nats", ratio=ratio, peer="rounds")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
