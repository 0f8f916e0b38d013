"""Compute a leaderboard of 100 000 verdicts on 20 models from the database, by the job that keeps leaderboards current.

    python -m benchmarks.boards

The limit is the goal's own: 5 s for reading the verdicts and rating them with 1000 resamples of prompts. Also measured,
with no limit, are the other parts of a leaderboard's page: controls, 200 orders of online Elo, held-out prompts,
agreement, and the snapshot.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import results, servers
from benchmarks.ratings import best

if TYPE_CHECKING:
    from judging.models import Rubric, Tournament
    from runs.models import Run

MODELS, PROMPTS, VERDICTS, WORDS = 20, 260, 100_000, 130
VOTERS = 3
GOAL = 5.0
BATCH_SIZE = 5000


def fill() -> tuple[Tournament, Rubric]:
    """Create a tournament of all models on all prompts, judged by three voters."""
    from judging.judges import create_standard_rubrics
    from judging.models import Rubric, Tournament
    from judging.tournaments import Entry, create_tournament

    create_standard_rubrics()
    rubric = Rubric.objects.select_related("criterion").order_by("pk")[0]
    entries = [Entry(run, 0, "eval") for run in make_runs()]
    owner = servers.experiment().owner
    new = Tournament(owner=owner, name="Benchmark", seed=1, overlap=VOTERS)
    tournament = create_tournament(new, entries, [rubric], prompts=PROMPTS)
    vote(tournament, rubric)
    servers.settle()
    return tournament, rubric


def make_runs() -> list[Run]:
    """Create runs that answered every prompt."""
    from runs.models import Attempt, Cluster, Prompt, Response, Run

    rng, experiment = np.random.default_rng(0), servers.experiment()
    prompts = Prompt.objects.bulk_create(
        Prompt(name=str(k), digest=f"{k:064x}", text=f"Question {k}?") for k in range(PROMPTS)
    )
    runs = []
    for k in range(MODELS):
        run = Run.objects.create(
            experiment=experiment, name=f"model-{k:02}", method="es", seed=k, config={}, created_by=experiment.owner
        )
        cluster = Cluster.objects.get(name="local")
        attempt = Attempt.objects.create(run=run, n=1, key=f"esweb-{run.uid}-a1", cluster=cluster, state="completed")
        Response.objects.bulk_create(
            Response(
                run=run, attempt=attempt, epoch=1, seq=n, step=0, split="eval", prompt=prompt, sample=0,
                text="word " * int(rng.integers(WORDS // 2, 2 * WORDS)), tokens=WORDS, reward=0.0,
            )
            for n, prompt in enumerate(prompts)
        )  # fmt: skip
        runs.append(run)
    return runs


def vote(tournament: Tournament, rubric: Rubric) -> None:
    """Store Bradley-Terry verdicts, a fifth of them ties, on as many comparisons as there are to be verdicts."""
    from judging.models import Comparison, Verdict, Voter

    rng = np.random.default_rng(1)
    theta = rng.normal(0, 0.5, MODELS)
    voters = Voter.objects.bulk_create(
        Voter(tournament=tournament, number=k, imported_name=f"voter {k}") for k in range(VOTERS)
    )
    comparisons = list(Comparison.objects.filter(tournament=tournament).values_list("pk", "a__place", "b__place"))
    turns = [(comparison, voter.pk) for voter in voters for comparison in comparisons][:VERDICTS]
    chance, tie, side = rng.random(VERDICTS), rng.random(VERDICTS) < 0.2, rng.random(VERDICTS) < 0.5
    rows = [
        Verdict(
            comparison_id=pk, rubric=rubric, voter_id=voter, first="a" if side[n] else "b",
            outcome="tie" if tie[n] else "a" if chance[n] < 1 / (1 + np.exp(theta[b] - theta[a])) else "b",
        )
        for n, ((pk, a, b), voter) in enumerate(turns)
    ]  # fmt: skip
    Verdict.objects.bulk_create(rows, batch_size=BATCH_SIZE)


def open_board(tournament: Tournament) -> None:
    """Open the leaderboard's page, as its owner's browser does."""
    from django.test import Client
    from django.urls import reverse

    browser = Client()
    browser.force_login(tournament.owner)
    assert browser.get(reverse("tournament-board", args=[tournament.pk]), SERVER_NAME="localhost").status_code == 200


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site():
        from judging.boards import compute_due_boards, save_board, votes_in
        from judging.models import Snapshot
        from judging.stats.ratings import RatingOptions, compute_board

        tournament, rubric = fill()
        read = best(lambda: votes_in(tournament, rubric))
        votes = votes_in(tournament, rubric)
        rate = best(lambda: compute_board(votes, RatingOptions()))
        whole = best(lambda: save_board(tournament, rubric), rounds=1)
        due, page = best(compute_due_boards), best(partial(open_board, tournament))
        snapshot = Snapshot.objects.get()
        assert snapshot.digest == compute_board(votes).hash
    print(
        f"{len(votes)} verdicts, {MODELS} models, {PROMPTS} prompts, {RatingOptions().resampling.resamples} resamples"
    )
    results.without_goal("read the verdicts", read, "s")
    results.without_goal("rate them", rate, "s")
    results.at_most("read and rate 100 000 verdicts", read + rate, GOAL, "s")
    results.without_goal("everything of a board, stored", whole, "s")
    results.without_goal("find the boards that are due", due, "s")
    results.without_goal("the board's page", page, "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
