"""Pages of tournaments: created from runs' answers, managed by their owner, visible with the runs."""

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
from tests.cases import each_case
from tests.judging.tournament_factory import answered_run, make_gold_set, make_tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Return two runs of Ada's with four answers each."""
    return [answered_run(experiment, name, [f"{name} {k}" for k in range(4)]) for name in ("first", "second")]


def form(client: Client, runs: list[Run], **changes: object) -> dict[str, object]:
    """Return a filled-in form for a tournament of these runs, by both of the site's criteria."""
    client.get(reverse("criteria"))
    rubrics = [criterion.newest() for criterion in Criterion.objects.order_by("slug")]
    return {
        "name": "Which?", "prompts": 3, "seed": 1, "overlap": 1, "gold_every": 15, "reveals": "on",
        "criteria": [rubric.pk for rubric in rubrics if rubric],
        "contestant": [f"{run.uid}:0:eval" for run in runs], "run": [run.uid for run in runs],
    } | changes  # fmt: skip


def test_tournament_is_created_from_runs_in_address(ada_client: Client, runs: list[Run]) -> None:
    page = ada_client.get(reverse("tournament-new"), {"run": [run.uid for run in runs]}).content.decode()
    assert re.findall(r'value="(\w+):0:eval"\s+checked', page) == [run.uid for run in reversed(runs)]
    alone = ada_client.get(reverse("tournament-new"), {"run": runs[0].uid}).content.decode()
    assert re.findall(r'value="(\w+):0:eval"(?:\s+(checked))?', alone) == [(runs[0].uid, "checked"), (runs[1].uid, "")]
    assert not re.search(r':0:eval"\s+checked', ada_client.get(reverse("tournament-new")).content.decode())

    answer = ada_client.post(reverse("tournament-new"), form(ada_client, runs))

    tournament = Tournament.objects.get()
    assert answer["Location"] == tournament.get_absolute_url()
    assert (tournament.comparisons.count(), tournament.rubrics.count(), tournament.owner.username) == (3, 2, "ada")
    assert "0 of 3 pairs judged" in ada_client.get(tournament.get_absolute_url()).content.decode()


def test_runs_beyond_the_limit_of_a_tournament_are_reported(
    ada_client: Client, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.tournaments.create_view.MAX_RUNS", 1)
    page = ada_client.get(reverse("tournament-new"), {"run": [run.uid for run in runs]}).content.decode()
    assert "A tournament can have at most 1 runs: the newest 1 of 2 are offered." in page


@each_case(
    ("changes", "words"),
    [
        ({"contestant": []}, "2 to 20 contestants, not 0"),
        ({"criteria": []}, "This field is required"),
        ({"overlap": 0}, "greater than or equal to 1"),
        ({"prompts": 0}, "greater than or equal to 1"),
        ({"gold_every": 1}, "greater than or equal to 2"),
    ],
)
def test_invalid_tournament_form_is_shown_again_with_input(
    ada_client: Client, runs: list[Run], changes: dict[str, object], words: str
) -> None:
    answer = ada_client.post(reverse("tournament-new"), form(ada_client, runs, **changes))

    page = answer.content.decode()
    assert answer.status_code == 400
    assert words in page and 'value="Which?"' in page
    assert not Tournament.objects.exists()


def test_tournament_of_hidden_runs_cannot_be_created(
    cy_client: Client, runs: list[Run], experiment: Experiment
) -> None:
    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)

    answer = cy_client.post(reverse("tournament-new"), form(cy_client, runs))

    assert answer.status_code == 400
    assert runs[0].uid not in answer.content.decode()


def test_tournament_of_hidden_runs_is_hidden(cy_client: Client, ada: User, private_experiment: Experiment) -> None:
    tournament = make_tournament(ada, private_experiment)

    for name in ("tournament", "tournament-standing"):
        assert cy_client.get(reverse(name, args=[tournament.pk])).status_code == 404
    assert cy_client.post(reverse("tournament-change", args=[tournament.pk]), {"do": "close"}).status_code == 404
    assert "Which is better?" not in cy_client.get(reverse("tournaments")).content.decode()


def test_only_owner_can_change_tournament(
    ada_client: Client, cy_client: Client, ada: User, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment)
    change = reverse("tournament-change", args=[tournament.pk])
    assert cy_client.post(change, {"do": "close"}).status_code == 403
    assert (
        cy_client.post(reverse("tournament-invite", args=[tournament.pk]), {"names": "x", "days": 1}).status_code == 403
    )
    assert b"Pause" not in cy_client.get(tournament.get_absolute_url()).content

    for do, state in (("pause", "paused"), ("go-on", "open"), ("close", "closed"), ("go-on", "open")):
        page = ada_client.post(change, {"do": do}, follow=True).content.decode()
        assert f"</span>{state}</span>" in page
    assert ada_client.post(change, {"do": "dance"}).status_code == 404


def test_deleted_tournament_can_be_restored(ada_client: Client, ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment)
    change = reverse("tournament-change", args=[tournament.pk])

    page = ada_client.post(change, {"do": "delete"}, follow=True).content.decode()
    assert "It can be restored from there" in page and "No tournaments yet" in page
    assert tournament.name in ada_client.get(reverse("tournaments"), {"shelf": "bin"}).content.decode()

    assert tournament.name in ada_client.post(change, {"do": "restore"}, follow=True).content.decode()


def test_viewer_can_only_read_tournaments(bo_client: Client, bo: User, ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment)
    give_role(bo, "viewer")

    page = bo_client.get(tournament.get_absolute_url())
    assert (page.status_code, b">Vote</a>" in page.content) == (200, False)
    assert bo_client.get(reverse("vote", args=[tournament.pk])).status_code == 404
    assert bo_client.post(reverse("vote-choices", args=[tournament.pk]), "{}", content_type="x/json").status_code == 404
    assert bo_client.get(reverse("tournament-new")).status_code == 403
    assert bo_client.post(reverse("criteria"), {"name": "x"}).status_code == 403


def test_contestant_keeps_name_after_run_is_deleted(ada_client: Client, ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment)
    Contestant.objects.filter(name__startswith="runner 0").update(run=None)

    page = ada_client.get(tournament.get_absolute_url()).content.decode()

    assert "runner 0 · step 0 · eval" in page and "(its run was deleted)" in page


def test_tournament_pages_query_count_is_constant(ada_client: Client, ada: User, experiment: Experiment) -> None:
    few = make_tournament(ada, experiment, prompts=1, contestants=2, name="few")
    many = make_tournament(ada, experiment, prompts=6, contestants=5, name="many", gold_set=make_gold_set(ada))
    Voter.objects.create(tournament=few, number=0, imported_name="person 0")
    Voter.objects.bulk_create(Voter(tournament=many, number=k, imported_name=f"person {k}") for k in range(60))

    def count_queries(address: str) -> int:
        ada_client.get(address)
        with CaptureQueriesContext(connection) as queries:
            assert ada_client.get(address).status_code == 200
        return len(queries)

    assert count_queries(many.get_absolute_url()) <= count_queries(few.get_absolute_url()) + 1
    before = count_queries(reverse("tournaments"))
    for k in range(5):
        make_tournament(ada, experiment, prompts=1, contestants=2, name=f"more {k}")
    assert count_queries(reverse("tournaments")) == before
    assert count_queries(reverse("tournament-new")) <= 15


def test_tournament_page_describes_sampling_and_hides_gold(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment
) -> None:
    telling = make_tournament(ada, experiment, picks="telling", overlap=2, gold_set=make_gold_set(ada, 2), gold_every=9)
    balanced = make_tournament(ada, experiment, seed=42)

    pages = (client.get(telling.get_absolute_url()).content.decode() for client in (ada_client, bo_client))
    own, others = (" ".join(page.split()) for page in pages)
    assert "The most informative. Each pair of contestants is judged 3 times first" in own
    assert "Each comparison goes to 2 voters. One pair in 9 is gold, from gold." in own
    assert "The most informative" in others and "is gold" not in others
    pages = [client.get(balanced.get_absolute_url()).content.decode() for client in (ada_client, bo_client)]
    assert all("Pairs come in rounds. The seed determines their order" in page for page in pages)
    assert [", seed 42" in page for page in pages] == [True, False], "sides follow from it"
    files = [client.get(reverse("tournament-file", args=[telling.pk, "setup"])) for client in (ada_client, bo_client)]
    assert [file.json()["gold_set"] and file.json()["gold_set"]["name"] for file in files] == ["gold", None]
    assert [file.json()["gold_every"] for file in files] == [9, None]
    assert [file.json()["seed"] for file in files] == [telling.seed, None]
    ada_client.post(reverse("tournament-change", args=[balanced.pk]), {"do": "close"})
    assert ", seed 42" in bo_client.get(balanced.get_absolute_url()).content.decode()
    assert (files[0].json()["picks"], files[0].json()["overlap"], files[0].json()["judges"]) == ("telling", 2, [])
