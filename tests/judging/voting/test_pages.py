"""The voting page: blind, for those of the site and for who was invited, who sees nothing else."""

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
from judging.tournaments import Draft, Entry, commands, make
from judging.voting import invite
from runs.models import Experiment, Run
from tests.esweb.test_every_address_is_closed import CLOSED, OPEN, routes
from tests.judging.tournament_factory import answered_run, gold, held, rubric

pytestmark = pytest.mark.django_db
WITH_CONTENT = ("get", "post")


@pytest.fixture
def tournament(ada: User, private_experiment: Experiment) -> Tournament:
    """Ada's, of runs that nobody else may see."""
    return held(ada, private_experiment)


@pytest.fixture
def dee(tournament: Tournament, ada: User) -> Client:
    """The browser of somebody who was invited."""
    ((_, text),) = invite(tournament, ada, ["Dee"])
    client = Client()
    assert client.get(reverse("vote-link", args=[text]))["Location"] == reverse("vote", args=[tournament.pk])
    return client


def send(client: Client, tournament: Tournament, *choices: dict[str, Any]) -> dict[str, Any]:
    """The answer to some choices."""
    address = reverse("vote-choices", args=[tournament.pk])
    answer = client.post(address, json.dumps({"choices": choices}), content_type="application/json")
    assert answer.status_code == 200
    return answer.json()


def test_whoever_was_invited_votes_without_an_account(dee: Client, tournament: Tournament) -> None:
    page = dee.get(reverse("vote", args=[tournament.pk])).content.decode()
    assert page.count("data-turn=") == 8

    turn, by = Turn.objects.order_by("n")[0], tournament.rubrics.order_by("pk")[0]
    said = send(dee, tournament, {"key": "k1", "turn": turn.pk, "rubric": by.pk, "said": "left", "seconds": 1.5})

    assert said == {"kept": ["k1"], "refused": [], "later": [], "done": 0, "left": 12}
    verdict = Verdict.objects.get()
    assert (str(verdict.voter), verdict.outcome, verdict.seconds) == ("Dee", turn.left, 1.5)
    again = dee.get(reverse("vote", args=[tournament.pk])).content.decode()
    assert re.findall(r'data-said="(\w+)" aria-pressed="true"', again) == ["left"]


def test_a_voters_link_opens_no_other_address_of_the_site(
    dee: Client, tournament: Tournament, private_experiment: Experiment
) -> None:
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


def test_no_page_of_a_voter_names_a_contestant_or_another_voter(
    dee: Client, tournament: Tournament, ada: User, ada_client: Client
) -> None:
    invite(tournament, ada, ["Eve"])
    ada_client.get(reverse("vote", args=[tournament.pk]))
    Tournament.objects.update(name="runners of Ada", question="Is runner 1 better?")

    for address in (reverse("vote", args=[tournament.pk]), reverse("vote-turns", args=[tournament.pk])):
        for client in (dee, ada_client):
            page = client.get(address).content.decode()
            assert "answer" in page
            assert not re.search(r"runner|\b(Eve|Dee|ada|Ada|Secret)\b", page)


def test_names_in_answers_are_hidden_and_what_models_wrote_is_text(
    ada_client: Client, ada: User, experiment: Experiment
) -> None:
    runs = [
        answered_run(experiment, "sly fox", ["I am sly fox, of Qwen2.5 <script>alert(1)</script>"]),
        answered_run(experiment, "owl run", [""]),
    ]
    entries = [tournaments.Entry(run, 0, "eval") for run in runs]
    made = tournaments.make(ada, tournaments.Draft("t", entries, [rubric("helpfulness")], prompts=1))

    page = ada_client.get(reverse("vote", args=[made.pk])).content.decode()

    assert "I am ▒▒▒, of ▒▒▒ &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "(an empty answer)" in page


def test_who_answered_is_told_after_ones_own_vote_on_all_criteria(dee: Client, tournament: Tournament) -> None:
    dee.get(reverse("vote", args=[tournament.pk]))
    turn = Turn.objects.select_related("comparison__a", "comparison__b").order_by("n")[0]
    reveal = reverse("vote-reveal", args=[tournament.pk, turn.pk])
    assert dee.post(reveal).status_code == 409

    for k, by in enumerate(tournament.rubrics.all()):
        send(dee, tournament, {"key": f"k{k}", "turn": turn.pk, "rubric": by.pk, "said": "tie"})
    told = dee.post(reveal).json()

    assert turn.comparison.a and turn.comparison.b
    names = [turn.comparison.a.name, turn.comparison.b.name]
    assert [told["left"], told["right"]] == (names if turn.left == "a" else names[::-1])
    after = send(dee, tournament, {"key": "k9", "undo": "k0"})
    assert after["refused"][0]["why"].endswith("the vote stays as it was.")


def test_nothing_tells_gold_from_the_rest(ada_client: Client, ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment, prompts=2, contestants=2, gold_set=gold(ada), gold_every=2)

    page = ada_client.get(reverse("vote", args=[made.pk])).content.decode()

    bare = [re.sub(r"\d+", "", article.split("said", 1)[0]) for article in page.split('<article class="turn"')[1:]]
    assert "gold" in page and len(bare) > 2 and len(set(bare)) == 1


def test_a_batch_is_kept_in_order_and_what_cannot_be_is_said_one_by_one(dee: Client, tournament: Tournament) -> None:
    dee.get(reverse("vote", args=[tournament.pk]))
    first, second = Turn.objects.order_by("n")[:2]
    by = tournament.rubrics.order_by("pk")[0].pk

    said = send(
        dee, tournament,
        {"key": "k1", "turn": first.pk, "rubric": by, "said": "tie"}, {"key": "k2", "undo": "k1"},
        {"key": "k3", "turn": second.pk, "reason": "unsure"},
        {"key": "k4", "turn": 10**12, "rubric": by, "said": "tie"},
    )  # fmt: skip

    assert (said["kept"], [one["key"] for one in said["refused"]], said["done"]) == (["k1", "k2", "k3"], ["k4"], 1)
    assert set(Verdict.objects.current().values_list("outcome", flat=True)) == {"skip"}


NO_CHOICES = (
    "", "[]", "{}", '{"choices": 1}', '{"choices": [1]}', '{"choices": [{"key": ""}]}', '{"choices": [{"key": 3}]}',
    '{"choices": [{"key": "k", "turn": "1"}]}', '{"choices": [{"key": "k", "seconds": NaN}]}', "[" * 9000,
    '{"choices": [{"key": "k", "said": "\\u0000"}]}', json.dumps({"choices": [{"key": "k"}] * 101}),
)  # fmt: skip


def test_what_is_no_choice_is_refused_as_a_whole(dee: Client, tournament: Tournament) -> None:
    for body in NO_CHOICES:
        answer = dee.post(reverse("vote-choices", args=[tournament.pk]), body, content_type="application/json")
        assert answer.status_code == 400, body[:100]
        assert "Send {" in answer.json()["why"], body[:100]
    assert not Verdict.objects.exists()


def test_a_pause_keeps_votes_waiting_and_an_end_is_told(dee: Client, tournament: Tournament) -> None:
    dee.get(reverse("vote", args=[tournament.pk]))
    turn, by = Turn.objects.order_by("n")[0], tournament.rubrics.order_by("pk")[0]
    choice = {"key": "k1", "turn": turn.pk, "rubric": by.pk, "said": "tie"}

    commands.pause(tournament)
    assert send(dee, tournament, choice)["later"][0]["key"] == "k1"
    assert "takes no votes now" in dee.get(reverse("vote", args=[tournament.pk])).content.decode()
    commands.go_on(tournament)
    assert send(dee, tournament, choice)["kept"] == ["k1"]


def test_a_link_that_was_taken_back_ends_at_once(dee: Client, tournament: Tournament, ada_client: Client) -> None:
    invitation = Invitation.objects.get()
    ada_client.post(reverse("tournament-uninvite", args=[tournament.pk, invitation.pk]))

    assert dee.get(reverse("vote", args=[tournament.pk]))["Location"].startswith("/login/?")
    answer = dee.post(reverse("vote-choices", args=[tournament.pk]), "{}", content_type="application/json")
    assert answer.status_code == 404


def test_links_are_shown_once_and_lead_to_the_voting_page(ada_client: Client, tournament: Tournament) -> None:
    address = reverse("tournament-invite", args=[tournament.pk])
    page = ada_client.post(address, {"names": "Eve\nFay\n", "days": 3}).content.decode()
    links = re.findall(r">http://testserver(/vote/link/[^<]+)<", page)

    assert len(links) == 2
    assert all(Client().get(link).status_code == 302 for link in links)
    assert not re.search("vote/link/", ada_client.get(tournament.get_absolute_url()).content.decode())
    assert Client().get(reverse("vote-link", args=["guessed"])).status_code == 404
    refused = ada_client.post(address, {"names": "Eve", "days": 3})
    assert (refused.status_code, b"Already invited: Eve" in refused.content) == (400, True)


@pytest.mark.usefixtures("time_stands_still")
def test_links_are_not_tried_without_end(client: Client, settings: Any) -> None:
    settings.STRANGERS_PER_MINUTE = 3

    answers = [client.get("/vote/link/guess/", REMOTE_ADDR="203.0.113.77").status_code for _ in range(5)]

    assert answers == [404, 404, 404, 429, 429]


def test_space_that_only_one_contestant_writes_is_not_shown(ada: User, experiment: Experiment, client: Client) -> None:
    plain = answered_run(experiment, "plain run", ["fox", "", "two  words\n here"])
    padded = answered_run(experiment, "padded run", ["\n cat \n", " \n\t", "  one\u3000"])
    entries = [Entry(run, 0, "eval") for run in (plain, padded)]
    made = make(ada, Draft("space", entries, [rubric("helpfulness")], prompts=3))
    client.force_login(ada)

    page = client.get(reverse("vote", args=[made.pk])).content.decode()

    shown = re.findall(r'<div class="said" dir="auto" tabindex="0">(.*?)</div>', page, re.DOTALL)
    assert {"fox", "cat", "two  words\n here", "one"} <= set(shown)
    assert {text for text in shown if "empty answer" in text} <= {'<em class="quiet">(an empty answer)</em>'}
    assert all(text == text.strip() for text in shown)
