"""A board of 100 000 votes on 20 models: point estimates, and intervals from 1000 resamples of prompts.

    python -m benchmarks.ratings

The peer is evalica's own bootstrap of Bradley-Terry, which resamples single votes: fifty resamples are timed, and
scaled. Both fits must agree before anything is timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import evalica
import numpy as np

from benchmarks import results
from judging.stats.ratings import RatingOptions, Resampling, compute_board
from judging.stats.ratings.bootstrap import bootstrap
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome, Votes, votes_from_arrays

VOTES, MODELS, PROMPTS, ANNOTATORS = 100_000, 20, 3_000, 50
RESAMPLES, EVALICA_RESAMPLES = 1000, 50
GOAL, POINT_GOAL = 1.0, 0.2
ROUNDS = 3
WINNER = {Outcome.A: evalica.Winner.X, Outcome.B: evalica.Winner.Y, Outcome.TIE: evalica.Winner.Draw}


def make_votes() -> Votes:
    """Return Bradley-Terry votes, a fifth of them ties."""
    rng = np.random.default_rng(0)
    theta, a = rng.normal(0, 0.5, MODELS), rng.integers(0, MODELS, VOTES)
    b = (a + rng.integers(1, MODELS, VOTES)) % MODELS
    won = rng.random(VOTES) < 1 / (1 + np.exp(theta[b] - theta[a]))
    outcome = np.where(rng.random(VOTES) < 0.2, Outcome.TIE, np.where(won, Outcome.A, Outcome.B)).astype(np.int64)
    names = tuple(f"model-{k:02}" for k in range(MODELS))
    return votes_from_arrays(names, a, b, outcome, rng.integers(0, PROMPTS, VOTES), rng.integers(0, ANNOTATORS, VOTES))


def best(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the seconds of the quickest of some rounds."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


def evalica_votes(ballots: Votes) -> tuple[list[str], list[str], list[evalica.Winner]]:
    """Return the votes as evalica takes them."""
    names = np.array(ballots.contestants)
    return (
        names[ballots.a].tolist(),
        names[ballots.b].tolist(),
        [WINNER[Outcome(outcome)] for outcome in ballots.outcome],
    )


def check(ballots: Votes) -> None:
    """Raise AssertionError if the two fits differ."""
    scores = evalica.bradley_terry(*evalica_votes(ballots), tolerance=1e-12).scores.reindex(ballots.contestants)
    logs = np.log(scores.to_numpy())
    assert np.allclose(fit(pair_counts(ballots)).theta, logs - logs.mean(), atol=1e-6)


def their_bootstrap(ballots: Votes) -> float:
    """Return the seconds for all resamples, from a few of them."""
    arguments = evalica_votes(ballots)

    def resample() -> None:
        evalica.bootstrap(
            evalica.bradley_terry,
            *arguments,
            n_resamples=EVALICA_RESAMPLES,
            bootstrap_method="percentile",
            random_state=0,
        )

    return best(resample, rounds=1) * RESAMPLES / EVALICA_RESAMPLES


def main() -> int:
    """Measure, record, and return the exit code."""
    ballots = make_votes()
    check(ballots)
    point = best(lambda: fit(pair_counts(ballots)))
    whole = best(lambda: compute_board(ballots, RatingOptions(resampling=Resampling(resamples=RESAMPLES))))
    print(f"{VOTES} votes, {MODELS} models, {PROMPTS} prompts, {RESAMPLES} resamples")
    results.at_most("point estimates", point, POINT_GOAL, "s")
    results.at_most(f"board, {RESAMPLES} resamples of prompts", whole, GOAL, "s")
    rows, crosswise = (
        best(lambda unit=unit: bootstrap(ballots, Resampling(unit, RESAMPLES)), rounds=1) for unit in ("vote", "both")
    )
    results.without_goal("resampling prompts and annotators", crosswise, "s")
    peer = their_bootstrap(ballots)
    results.without_goal("resampling single votes", rows, "s", ratio=peer / rows, peer="faster than evalica")
    results.without_goal(f"evalica, single votes, from {EVALICA_RESAMPLES} resamples", peer, "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
