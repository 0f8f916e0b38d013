"""A link opens what it was made for: a share link one page of one run or experiment, a voter's link one tournament."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging.models import Tournament
from judging.voting import invite
from judging.voting.invitations import take_back
from runs.access import Scope, link_text
from runs.models import Experiment, Run
from tests.esweb.test_every_address_is_closed import CLOSED, OPEN, routes
from tests.judging.tournament_factory import held
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.security.sample_rows import SECRET

SHARED = ("shared", "shared-chart", "shared-section")
VOTING = ("vote", "vote-link", "vote-turns", "vote-choices", "vote-reveal")
QUERY = (
    "run", "runs", "uid", "pk", "experiment", "with", "of", "in", "section", "name", "key", "by", "x", "y", "group",
    "baseline", "clone", "value", "prompt", "step", "page", "as", "q", "scorer",
)  # fmt: skip
"""Parameters by which pages of the site name other things."""


@pytest.fixture
def shown(experiment: Experiment, runs_dir: Path) -> Run:
    """Return the run that a link shows."""
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def hidden(ada: User, runs_dir: Path) -> Run:
    """Return a run of the same person, whose name and experiment's name are the secret."""
    run = make_run(Experiment.objects.create(name=SECRET, question=SECRET, owner=ada))
    Run.objects.filter(pk=run.pk).update(name=SECRET, note=SECRET, tags=[SECRET])
    record(run, a_bit_of_everything())
    return run


def check_closed(client: Client, name: str, address: str) -> None:
    """Check that reading and writing are refused, or sent to sign in."""
    for method in ("get", "post"):
        answer = getattr(client, method)(address)
        to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?")
        assert to_login or answer.status_code in CLOSED, f"{method} {name} {address} answered {answer.status_code}"


@pytest.mark.parametrize("scope", list(Scope))
def test_share_link_shows_nothing_else_whatever_its_address_names(
    scope: Scope, client: Client, ada: User, shown: Run, hidden: Run
) -> None:
    what = [shown.experiment.pk] if scope == Scope.EXPERIMENT else [shown.uid]
    text = link_text(ada, scope, what, "day")
    for route in SHARED:
        address = reverse(route, args=[text])
        values = (hidden.uid, str(hidden.pk), str(hidden.experiment.pk), f"{shown.uid},{hidden.uid}")
        alone = [{name: hidden.uid} for name in QUERY if route == "shared"]
        for query in (*alone, *(dict.fromkeys(QUERY, value) for value in values)):
            answer = client.get(address, query)
            assert answer.status_code < 500
            assert SECRET not in answer.content.decode(), (route, query)
        for method in ("post", "put", "patch", "delete"):
            assert getattr(client, method)(address).status_code in (403, 405)


def test_share_link_opens_no_other_route(client: Client, ada: User, shown: Run) -> None:
    """It is neither a token nor a session, wherever it is shown."""
    text = link_text(ada, Scope.RUN, [shown.uid], "day")
    client.get(reverse("shared", args=[text]))
    assert not client.cookies
    there = {"pk": shown.experiment.pk, "uid": shown.uid, "key": f"esweb-{shown.uid}-a1", "n": 1, "step": 5}
    bearer = Client(headers={"authorization": f"Bearer {text}"})
    bearer.cookies["sessionid"] = text[:200]
    for name, address in routes(there):
        if name not in {*OPEN, *SHARED}:
            check_closed(bearer, name, address)


def voter(tournament: Tournament, ada: User) -> tuple[Client, Any]:
    """Return a browser that has opened an invitation, and the invitation."""
    ((invitation, text),) = invite(tournament, ada, ["Dee"])
    browser = Client()
    opened = browser.get(reverse("vote-link", args=[text]), follow=True)
    assert opened.status_code == 200
    return browser, invitation


def test_voter_link_opens_no_route_but_its_votes(ada: User, experiment: Experiment, runs_dir: Path) -> None:
    tournament = held(ada, experiment, prompts=2, contestants=2)
    browser, _ = voter(tournament, ada)
    assert browser.get(reverse("vote", args=[tournament.pk])).status_code == 200
    run = Run.objects.filter(experiment=experiment).first()
    assert run is not None
    there = {"pk": tournament.pk, "uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": 5}
    for name, address in routes(there):
        if name not in {*OPEN, *SHARED, *VOTING}:
            check_closed(browser, name, address)


def test_voter_link_opens_no_other_tournament(ada: User, experiment: Experiment, runs_dir: Path) -> None:
    own, other = (held(ada, experiment, prompts=1, contestants=2) for _ in range(2))
    browser, _ = voter(own, ada)
    for name in ("vote", "vote-turns", "vote-choices"):
        assert browser.get(reverse(name, args=[own.pk])).status_code in (200, 405), name
        check_closed(browser, name, reverse(name, args=[other.pk]))
    check_closed(browser, "vote-reveal", reverse("vote-reveal", args=[other.pk, 1]))


def test_voter_link_opens_nothing_once_it_is_revoked(ada: User, experiment: Experiment, runs_dir: Path) -> None:
    tournament = held(ada, experiment, prompts=1, contestants=2)
    browser, invitation = voter(tournament, ada)
    take_back(invitation)
    for name in ("vote", "vote-turns", "vote-choices"):
        check_closed(browser, name, reverse(name, args=[tournament.pk]))
