"""The voting page: blind, for users of the site and for invited voters, who see nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging import tournaments
from judging.models import Invitation, Tournament, Turn, Verdict
from judging.tournaments import Entry, commands, create_tournament
from judging.voting import create_invitations
from runs.models import Experiment, Run
from tests.esweb.test_access_of_routes import CLOSED, OPEN, routes
from tests.judging.tournament_factory import answered_run, make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db
WITH_CONTENT = ("get", "post")


@pytest.fixture
def tournament(ada: User, private_experiment: Experiment) -> Tournament:
    """Return a tournament of Ada's, of runs that nobody else may see."""
    return make_tournament(ada, private_experiment)


@pytest.fixture
def dee(tournament: Tournament, ada: User) -> Client:
    """Return the client of an invited voter."""
    ((_, text),) = create_invitations(tournament, ada, ["Dee"])
    client = Client()
    assert client.get(reverse("vote-link", args=[text]))["Location"] == reverse("vote", args=[tournament.pk])
    return client


def send(client: Client, tournament: Tournament, *choices: dict[str, Any]) -> dict[str, Any]:
    """Send these choices; return the parsed reply."""
    address = reverse("vote-choices", args=[tournament.pk])
    answer = client.post(address, json.dumps({"choices": choices}), content_type="application/json")
    assert answer.status_code == 200
    return answer.json()


def test_invited_voter_votes_without_account(dee: Client, tournament: Tournament) -> None:
    page = dee.get(reverse("vote", args=[tournament.pk])).content.decode()
    assert page.count("data-turn=") == 8

    turn, by = Turn.objects.order_by("n")[0], tournament.rubrics.order_by("pk")[0]
    reply = send(dee, tournament, {"key": "k1", "turn": turn.pk, "rubric": by.pk, "said": "left", "seconds": 1.5})

    assert reply == {"kept": ["k1"], "refused": [], "later": [], "done": 0, "left": 12}
    verdict = Verdict.objects.get()
    assert (str(verdict.voter), verdict.outcome, verdict.seconds) == ("Dee", turn.left, 1.5)
    again = dee.get(reverse("vote", args=[tournament.pk])).content.decode()
    assert re.findall(r'data-verdict="(\w+)"\s+aria-pressed="true"', again) == ["left"]


def test_invitation_opens_no_other_address(dee: Client, tournament: Tournament, private_experiment: Experiment) -> None:
    run = Run.objects.filter(experiment=private_experiment).first()
    assert run is not None
    dee.get(reverse("vote", args=[tournament.pk]))
    here = {"pk": private_experiment.pk, "uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": 0}
    of_it = {route for route in routes({**here, "pk": tournament.pk}) if re.search("judging|tournament", route[1])}
    tried = 0
    for name, address in sorted({*routes(here), *of_it}):
        if name in OPEN or name.startswith("vote"):
            continue
        for method in WITH_CONTENT:
            answer = getattr(dee, method)(address)
            to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?")
            assert to_login or answer.status_code in CLOSED, f"{method} {address} answered {answer.status_code}"
            assert b"runner" not in answer.content
            tried += 1
    assert tried > 200


def test_voting_pages_name_no_contestant_or_voter(
    dee: Client, tournament: Tournament, ada: User, ada_client: Client
) -> None:
    create_invitations(tournament, ada, ["Eve"])
    ada_client.get(reverse("vote", args=[tournament.pk]))
    Tournament.objects.update(name="runners of Ada", question="Is runner 1 better?")

    for address in (reverse("vote", args=[tournament.pk]), reverse("vote-turns", args=[tournament.pk])):
        for client in (dee, ada_client):
            page = client.get(address).content.decode()
            assert "answer" in page
            assert not re.search(r"runner|\b(Eve|Dee|ada|Ada|Secret)\b", page)


def test_vote_page_hides_names_and_escapes_answers(ada_client: Client, ada: User, experiment: Experiment) -> None:
    runs = [
        answered_run(experiment, "sly fox", ["I am sly fox, of Qwen2.5 <script>alert(1)</script>"]),
        answered_run(experiment, "owl run", [""]),
    ]
    entries = [tournaments.Entry(run, 0, "eval") for run in runs]
    tournament = create_tournament(Tournament(owner=ada, name="t"), entries, [rubric("helpfulness")], prompts=1)

    page = ada_client.get(reverse("vote", args=[tournament.pk])).content.decode()

    assert "I am ▒▒▒, of ▒▒▒ &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "(an empty response)" in page


def test_contestants_are_revealed_after_own_votes(dee: Client, tournament: Tournament) -> None:
    dee.get(reverse("vote", args=[tournament.pk]))
    turn = Turn.objects.select_related("comparison__a", "comparison__b").order_by("n")[0]
    reveal = reverse("vote-reveal", args=[tournament.pk, turn.pk])
    assert dee.post(reveal).status_code == 409

    for k, by in enumerate(tournament.rubrics.all()):
        send(dee, tournament, {"key": f"k{k}", "turn": turn.pk, "rubric": by.pk, "said": "tie"})
    names_by_side = dee.post(reveal).json()

    assert turn.comparison.a and turn.comparison.b
    names = [turn.comparison.a.name, turn.comparison.b.name]
    assert [names_by_side["left"], names_by_side["right"]] == (names if turn.left == "a" else names[::-1])
    after = send(dee, tournament, {"key": "k9", "undo": "k0"})
    assert after["refused"][0]["why"].endswith("so your vote can no longer change.")


def test_gold_turns_look_like_others(ada_client: Client, ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=2, contestants=2, gold_set=make_gold_set(ada), gold_every=2)

    page = ada_client.get(reverse("vote", args=[tournament.pk])).content.decode()

    # Only the first turn is shown.
    turns = [article.split("said", 1)[0] for article in page.split('<article class="turn"')[1:]]
    bare = [re.sub(r"\d+|\s+(hidden)?>", "", turn) for turn in turns]
    assert "gold" in page and len(bare) > 2 and len(set(bare)) == 1


def test_batch_of_choices_is_saved_in_order_with_refusals(dee: Client, tournament: Tournament) -> None:
    dee.get(reverse("vote", args=[tournament.pk]))
    first, second = Turn.objects.order_by("n")[:2]
    by = tournament.rubrics.order_by("pk")[0].pk

    reply = send(
        dee, tournament,
        {"key": "k1", "turn": first.pk, "rubric": by, "said": "tie"}, {"key": "k2", "undo": "k1"},
        {"key": "k3", "turn": second.pk, "reason": "unsure"},
        {"key": "k4", "turn": 10**12, "rubric": by, "said": "tie"},
    )  # fmt: skip

    assert (reply["kept"], [refusal["key"] for refusal in reply["refused"]], reply["done"]) == (
        ["k1", "k2", "k3"],
        ["k4"],
        1,
    )
    assert set(Verdict.objects.current().values_list("outcome", flat=True)) == {"skip"}


NO_CHOICES = (
    "", "[]", "{}", '{"choices": 1}', '{"choices": [1]}', '{"choices": [{"key": ""}]}', '{"choices": [{"key": 3}]}',
    '{"choices": [{"key": "k", "turn": "1"}]}', '{"choices": [{"key": "k", "seconds": NaN}]}', "[" * 9000,
    '{"choices": [{"key": "k", "said": "\\u0000"}]}', json.dumps({"choices": [{"key": "k"}] * 101}),
)  # fmt: skip


def test_invalid_choices_are_refused(dee: Client, tournament: Tournament) -> None:
    for body in NO_CHOICES:
        answer = dee.post(reverse("vote-choices", args=[tournament.pk]), body, content_type="application/json")
        assert answer.status_code == 400, body[:100]
        assert "The body must be {" in answer.json()["why"], body[:100]
    assert not Verdict.objects.exists()


def test_paused_tournament_defers_votes(dee: Client, tournament: Tournament) -> None:
    dee.get(reverse("vote", args=[tournament.pk]))
    turn, by = Turn.objects.order_by("n")[0], tournament.rubrics.order_by("pk")[0]
    choice = {"key": "k1", "turn": turn.pk, "rubric": by.pk, "said": "tie"}

    commands.pause(tournament)
    assert send(dee, tournament, choice)["later"][0]["key"] == "k1"
    assert "accepts no votes now" in dee.get(reverse("vote", args=[tournament.pk])).content.decode()
    commands.resume(tournament)
    assert send(dee, tournament, choice)["kept"] == ["k1"]


def test_revoked_invitation_ends_access(dee: Client, tournament: Tournament, ada_client: Client) -> None:
    invitation = Invitation.objects.get()
    ada_client.post(reverse("tournament-uninvite", args=[tournament.pk, invitation.pk]))

    assert dee.get(reverse("vote", args=[tournament.pk]))["Location"].startswith("/login/?")
    answer = dee.post(reverse("vote-choices", args=[tournament.pk]), "{}", content_type="application/json")
    assert answer.status_code == 404


def test_invitation_links_are_shown_once(ada_client: Client, tournament: Tournament) -> None:
    address = reverse("tournament-invite", args=[tournament.pk])
    page = ada_client.post(address, {"names": "Eve\nFay\n", "days": 3}).content.decode()
    links = re.findall(r">http://testserver(/vote/link/[^<]+)<", page)

    assert len(links) == 2
    assert all(Client().get(link).status_code == 302 for link in links)
    assert not re.search("vote/link/", ada_client.get(tournament.get_absolute_url()).content.decode())
    assert Client().get(reverse("vote-link", args=["guessed"])).status_code == 404
    refused = ada_client.post(address, {"names": "Eve", "days": 3})
    assert (refused.status_code, b"Already invited: Eve" in refused.content) == (400, True)


@pytest.mark.usefixtures("frozen_time")
def test_invitation_guesses_are_rate_limited(client: Client, settings: Any) -> None:
    settings.STRANGERS_PER_MINUTE = 3

    answers = [client.get("/vote/link/guess/", REMOTE_ADDR="203.0.113.77").status_code for _ in range(5)]

    assert answers == [404, 404, 404, 429, 429]


def test_vote_page_strips_space_around_answers(ada: User, experiment: Experiment, client: Client) -> None:
    plain = answered_run(experiment, "plain run", ["fox", "", "two  words\n here"])
    padded = answered_run(experiment, "padded run", ["\n cat \n", " \n\t", "  one\u3000"])
    entries = [Entry(run, 0, "eval") for run in (plain, padded)]
    tournament = create_tournament(Tournament(owner=ada, name="space"), entries, [rubric("helpfulness")], prompts=3)
    client.force_login(ada)

    page = client.get(reverse("vote", args=[tournament.pk])).content.decode()

    answers = re.findall(r'<div class="said" dir="auto" tabindex="0">(.*?)</div>', page, re.DOTALL)
    assert {"fox", "cat", "two  words\n here", "one"} <= set(answers)
    assert {text for text in answers if "empty answer" in text} <= {'<em class="quiet">(an empty response)</em>'}
    assert all(text == text.strip() for text in answers)
