"""The run's page shows where it stands on boards, the first page what is being judged; or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging import boards, judge_runs, judges
from judging.models import Tournament
from judging.tournaments import Draft, Entry, make
from judging.tournaments.commands import delete
from runs.models import Experiment, Run
from tests.judging.tournament_factory import answered_run, held, rubric

pytestmark = pytest.mark.django_db
WORDS = ("brief", "a little longer than that", "so long that it says many many more words than anybody ever asked for")


def met(owner: User, experiment: Experiment, name: str, **draft: object) -> Tournament:
    """Three runs, the first the briefest in most answers, judged by rules."""
    runs = [
        answered_run(experiment, f"{name} {k}", [f"{WORDS[(k + n // 5) % 3]} {n}." for n in range(12)])
        for k in range(3)
    ]
    entries = [Entry(run, 0, "eval") for run in runs]
    made = make(owner, Draft(name, entries, [rubric("helpfulness")], prompts=12, **draft))  # type: ignore[arg-type]
    judge_runs.judge_all(made, judges.rules_judge())
    return made


def of(client: Client, run: Run | None) -> str:
    """What the run's page fetches; empty where there is nothing to show."""
    assert run is not None
    return client.get(reverse("run-ratings", args=[run.uid])).content.decode()


def test_a_run_shows_its_rating_with_what_is_known_of_it(ada_client: Client, ada: User, experiment: Experiment) -> None:
    made = met(ada, experiment, "Which is brief?")
    first = made.contestants.get(place=0)
    assert "no board yet" in of(ada_client, first.run)
    snapshot = boards.keep(made, made.rubrics.get())
    standing = next(one for one in snapshot.board["board"]["standings"] if one["contestant"] == first.name)
    page = of(ada_client, first.run)
    assert f"<strong>{standing['rating']['value']:.0f}</strong>" in page
    assert f"{standing['rating']['low']:.0f} … {standing['rating']['high']:.0f}" in page
    assert f"{reverse('tournament-board', args=[made.pk])}?criterion=helpfulness" in page
    assert "helpfulness v1" in page and " of 3<" in page and ">48<" in page


def test_who_cannot_be_rated_has_no_number(ada_client: Client, ada: User, experiment: Experiment) -> None:
    runs = [answered_run(experiment, str(k), [f"{word} {n}." for n in range(3)]) for k, word in enumerate(WORDS[::2])]
    made = make(ada, Draft("One always wins", [Entry(run, 0, "eval") for run in runs], [rubric("helpfulness")], 3))
    judge_runs.judge_all(made, judges.rules_judge())
    boards.keep(made, made.rubrics.get())
    assert "none can be given: its board says why" in of(ada_client, runs[0])


def test_a_run_in_no_tournament_that_one_may_see_shows_nothing(
    ada_client: Client, bo_client: Client, ada: User, experiment: Experiment, private_experiment: Experiment
) -> None:
    hidden = met(ada, experiment, "Mine", is_private=True)
    run = hidden.contestants.get(place=0).run
    assert "Mine" in of(ada_client, run)
    assert bo_client.get(reverse("run-ratings", args=[run.uid])).status_code == 204  # type: ignore[union-attr]
    delete(hidden, ada)
    assert of(ada_client, run) == ""
    secret = answered_run(private_experiment, "secret", ["x"])
    assert bo_client.get(reverse("run-ratings", args=[secret.uid])).status_code == 404


def test_it_asks_as_often_for_many_tournaments_as_for_one(
    ada_client: Client, ada: User, experiment: Experiment
) -> None:
    made = met(ada, experiment, "First")
    run = made.contestants.get(place=0).run
    assert run is not None
    counts = []
    for n in range(2):
        with CaptureQueriesContext(connection) as asked:
            assert of(ada_client, run).count("<tr>") == 2 + 3 * n
        counts.append(len(asked))
        other = made.contestants.get(place=1).run
        assert other is not None
        for k in range(3):
            entries = [Entry(run, 0, "eval"), Entry(other, 0, "eval")]
            again = make(ada, Draft(f"Again {k}", entries, [rubric("helpfulness")], prompts=2))
            boards.keep(again, again.rubrics.get())
    assert counts[0] == counts[1]


def test_the_first_page_tells_what_is_being_judged(
    ada_client: Client, bo_client: Client, ada: User, experiment: Experiment, runs_dir: Path
) -> None:
    assert ada_client.get(reverse("judging-news")).status_code == 204
    made = held(ada, experiment, name="Whose?", is_private=True)
    page = ada_client.get(reverse("judging-news")).content.decode()
    assert made.get_absolute_url() in page and reverse("vote", args=[made.pk]) in page
    assert bo_client.get(reverse("judging-news")).status_code == 204
    assert f'hx-get="{reverse("judging-news")}"' in ada_client.get(reverse("home")).content.decode()
