"""Pages of tournaments: made from runs' answers, looked after by their owner, seen by whoever may see the runs."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.models import Contestant, Criterion, Tournament, Voter
from runs.access import give_role
from runs.models import Experiment, Run
from tests.judging.tournament_factory import answered_run, gold, held

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Two of Ada's, with four answers each."""
    return [answered_run(experiment, name, [f"{name} {k}" for k in range(4)]) for name in ("first", "second")]


def form(client: Client, runs: list[Run], **said: object) -> dict[str, object]:
    """A filled-in form for a tournament of these runs, by both of the site's criteria."""
    client.get(reverse("criteria"))
    rubrics = [criterion.newest() for criterion in Criterion.objects.order_by("slug")]
    return {
        "name": "Which?", "prompts": 3, "seed": 1, "overlap": 1, "gold_every": 15, "reveals": "on",
        "criteria": [rubric.pk for rubric in rubrics if rubric],
        "contestant": [f"{run.uid}:0:eval" for run in runs], "run": [run.uid for run in runs],
    } | said  # fmt: skip


def test_a_tournament_is_made_from_the_runs_that_the_address_names(ada_client: Client, runs: list[Run]) -> None:
    page = ada_client.get(reverse("tournament-new"), {"run": [run.uid for run in runs]}).content.decode()
    assert re.findall(r'value="(\w+):0:eval" checked', page) == [run.uid for run in reversed(runs)]
    alone = ada_client.get(reverse("tournament-new"), {"run": runs[0].uid}).content.decode()
    assert re.findall(r'value="(\w+):0:eval"( checked)?', alone) == [(runs[0].uid, " checked"), (runs[1].uid, "")]
    assert ':0:eval" checked' not in ada_client.get(reverse("tournament-new")).content.decode()

    answer = ada_client.post(reverse("tournament-new"), form(ada_client, runs))

    made = Tournament.objects.get()
    assert answer["Location"] == made.get_absolute_url()
    assert (made.comparisons.count(), made.rubrics.count(), made.owner.username) == (3, 2, "ada")
    assert "0 of 3 pairs judged" in ada_client.get(made.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"contestant": []}, "2 to 20 contestants, not 0"),
        ({"criteria": []}, "This field is required"),
        ({"overlap": 0}, "greater than or equal to 1"),
        ({"prompts": 0}, "greater than or equal to 1"),
        ({"gold_every": 1}, "greater than or equal to 2"),
    ],
)
def test_what_makes_no_tournament_is_said_and_what_was_typed_stays(
    ada_client: Client, runs: list[Run], said: dict[str, object], words: str
) -> None:
    answer = ada_client.post(reverse("tournament-new"), form(ada_client, runs, **said))

    page = answer.content.decode()
    assert answer.status_code == 400
    assert words in page and 'value="Which?"' in page
    assert not Tournament.objects.exists()


def test_nobody_lets_runs_meet_that_they_may_not_see(
    cy_client: Client, runs: list[Run], experiment: Experiment
) -> None:
    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)

    answer = cy_client.post(reverse("tournament-new"), form(cy_client, runs))

    assert answer.status_code == 400
    assert runs[0].uid not in answer.content.decode()


def test_a_tournament_of_hidden_runs_is_not_there_for_others(
    cy_client: Client, ada: User, private_experiment: Experiment
) -> None:
    made = held(ada, private_experiment)

    for name in ("tournament", "tournament-standing"):
        assert cy_client.get(reverse(name, args=[made.pk])).status_code == 404
    assert cy_client.post(reverse("tournament-change", args=[made.pk]), {"do": "close"}).status_code == 404
    assert "Which is better?" not in cy_client.get(reverse("tournaments")).content.decode()


def test_only_who_looks_after_it_changes_it(
    ada_client: Client, cy_client: Client, ada: User, experiment: Experiment
) -> None:
    made = held(ada, experiment)
    change = reverse("tournament-change", args=[made.pk])
    assert cy_client.post(change, {"do": "close"}).status_code == 403
    assert cy_client.post(reverse("tournament-invite", args=[made.pk]), {"names": "x", "days": 1}).status_code == 403
    assert b"Pause" not in cy_client.get(made.get_absolute_url()).content

    for do, state in (("pause", "paused"), ("go-on", "open"), ("close", "closed"), ("go-on", "open")):
        page = ada_client.post(change, {"do": do}, follow=True).content.decode()
        assert f"</span>{state}</span>" in page
    assert ada_client.post(change, {"do": "dance"}).status_code == 404


def test_what_was_deleted_lies_in_the_bin_and_comes_back(ada_client: Client, ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment)
    change = reverse("tournament-change", args=[made.pk])

    page = ada_client.post(change, {"do": "delete"}, follow=True).content.decode()
    assert "It can be restored from the bin" in page and "No tournament yet" in page
    assert made.name in ada_client.get(reverse("tournaments"), {"shelf": "bin"}).content.decode()

    assert made.name in ada_client.post(change, {"do": "restore"}, follow=True).content.decode()


def test_a_viewer_sees_tournaments_and_neither_makes_one_nor_votes(
    bo_client: Client, bo: User, ada: User, experiment: Experiment
) -> None:
    made = held(ada, experiment)
    give_role(bo, "viewer")

    page = bo_client.get(made.get_absolute_url())
    assert (page.status_code, b">Vote</a>" in page.content) == (200, False)
    assert bo_client.get(reverse("vote", args=[made.pk])).status_code == 404
    assert bo_client.post(reverse("vote-choices", args=[made.pk]), "{}", content_type="x/json").status_code == 404
    assert bo_client.get(reverse("tournament-new")).status_code == 403
    assert bo_client.post(reverse("criteria"), {"name": "x"}).status_code == 403


def test_a_contestant_keeps_its_name_when_its_run_is_gone(
    ada_client: Client, ada: User, experiment: Experiment
) -> None:
    made = held(ada, experiment)
    Contestant.objects.filter(name__startswith="runner 0").update(run=None)

    page = ada_client.get(made.get_absolute_url()).content.decode()

    assert "runner 0 · step 0 · eval" in page and "(its run was deleted)" in page


def test_the_pages_ask_the_database_as_often_for_many_as_for_few(
    ada_client: Client, ada: User, experiment: Experiment
) -> None:
    few = held(ada, experiment, prompts=1, contestants=2, name="few")
    many = held(ada, experiment, prompts=6, contestants=5, name="many", gold_set=gold(ada))
    Voter.objects.create(tournament=few, number=0, imported_name="person 0")
    Voter.objects.bulk_create(Voter(tournament=many, number=k, imported_name=f"person {k}") for k in range(60))

    def asked(address: str) -> int:
        ada_client.get(address)
        with CaptureQueriesContext(connection) as queries:
            assert ada_client.get(address).status_code == 200
        return len(queries)

    assert asked(many.get_absolute_url()) <= asked(few.get_absolute_url()) + 1
    before = asked(reverse("tournaments"))
    for k in range(5):
        held(ada, experiment, prompts=1, contestants=2, name=f"more {k}")
    assert asked(reverse("tournaments")) == before
    assert asked(reverse("tournament-new")) <= 15


def test_it_says_how_the_next_pair_is_chosen_and_hides_the_gold_from_who_may_vote(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment
) -> None:
    telling = held(ada, experiment, picks="telling", overlap=2, gold_set=gold(ada, 2), gold_every=9)
    balanced = held(ada, experiment, seed=42)

    own, others = (client.get(telling.get_absolute_url()).content.decode() for client in (ada_client, bo_client))
    assert "Where a vote tells most. Each pair of contestants is judged 3 times first" in own
    assert "Each comparison goes to 2 people. One in 9 is gold, from gold." in own
    assert "Where a vote tells most" in others and "is gold" not in others
    pages = [client.get(balanced.get_absolute_url()).content.decode() for client in (ada_client, bo_client)]
    assert all("They come in rounds, in an order from its seed" in page for page in pages)
    assert [", seed 42" in page for page in pages] == [True, False], "sides follow from it"
    files = [client.get(reverse("tournament-file", args=[telling.pk, "setup"])) for client in (ada_client, bo_client)]
    assert [one.json()["gold_set"] and one.json()["gold_set"]["name"] for one in files] == ["gold", None]
    assert [one.json()["gold_every"] for one in files] == [9, None]
    assert [one.json()["seed"] for one in files] == [telling.seed, None]
    ada_client.post(reverse("tournament-change", args=[balanced.pk]), {"do": "close"})
    assert ", seed 42" in bo_client.get(balanced.get_absolute_url()).content.decode()
    assert (files[0].json()["picks"], files[0].json()["overlap"], files[0].json()["judges"]) == ("telling", 2, [])
