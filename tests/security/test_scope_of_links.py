"""A link opens only its scope: a share link one page of one run or experiment, a voter's link one tournament."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from judging.models import Tournament
from judging.voting import create_invitations
from judging.voting.invitations import revoke_invitation
from runs.access import Scope, link_text
from runs.models import Experiment, Flag, Run
from tests.cases import each_case
from tests.esweb.test_access_of_routes import CLOSED, OPEN, routes
from tests.judging.tournament_factory import make_tournament
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.security.sample_rows import SECRET
from workers.records import Metric

SHARED = ("shared", "shared-chart", "shared-section")
VOTING = ("vote", "vote-link", "vote-turns", "vote-choices", "vote-reveal")
QUERY = (
    "run", "runs", "uid", "pk", "experiment", "with", "of", "in", "section", "name", "key", "by", "x", "y", "group",
    "baseline", "clone", "value", "prompt", "step", "page", "as", "q", "scorer",
)  # fmt: skip
"""Parameters by which pages of the site name other rows."""


@pytest.fixture
def shared_run(experiment: Experiment, runs_dir: Path) -> Run:
    """Return the run that a link shows."""
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


@pytest.fixture
def hidden_run(ada: User, runs_dir: Path) -> Run:
    """Return a run of the same user, whose name and experiment's name are the secret."""
    run = make_run(Experiment.objects.create(name=SECRET, question=SECRET, owner=ada))
    Run.objects.filter(pk=run.pk).update(name=SECRET, note=SECRET, tags=[SECRET])
    record(run, a_bit_of_everything())
    return run


def check_closed(client: Client, name: str, address: str) -> None:
    """Check that reading and writing are refused, or redirected to sign in."""
    for method in ("get", "post"):
        response = getattr(client, method)(address)
        is_sent_to_login = response.status_code == 302 and response["Location"].startswith("/login/?")
        assert is_sent_to_login or response.status_code in CLOSED, (
            f"{method} {name} {address} answered {response.status_code}"
        )


def check_all_closed(client: Client, parameters: dict[str, Any], exceptions: set[str]) -> None:
    """Check every address of all other routes; operations of the API share some."""
    for address, name in {address: name for name, address in routes(parameters) if name not in exceptions}.items():
        check_closed(client, name, address)


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.soak)], ids=["a-third", "all"])
@each_case("scope", list(Scope))
def test_share_link_shows_only_its_scope(
    scope: Scope, share: int, client: Client, ada: User, shared_run: Run, hidden_run: Run
) -> None:
    """Every parameter is tried with all others; alone it is tried on the page of one scope, in a soak of each."""
    names = QUERY[list(Scope).index(scope) % share :: share]
    targets = [shared_run.experiment.pk] if scope == Scope.EXPERIMENT else [shared_run.uid]
    text = link_text(ada, scope, targets, "day")
    for route in SHARED:
        address = reverse(route, args=[text])
        values = (
            hidden_run.uid,
            str(hidden_run.pk),
            str(hidden_run.experiment.pk),
            f"{shared_run.uid},{hidden_run.uid}",
        )
        single_parameters = [{name: hidden_run.uid} for name in names if route == "shared"]
        for query in (*single_parameters, *(dict.fromkeys(QUERY, value) for value in values)):
            response = client.get(address, query)
            assert response.status_code < 500
            assert SECRET not in response.content.decode(), (route, query)
        for method in ("post", "put", "patch", "delete"):
            assert getattr(client, method)(address).status_code in (403, 405)


def test_share_link_grants_no_other_route(client: Client, ada: User, shared_run: Run) -> None:
    """The link's text is neither a token nor a session."""
    text = link_text(ada, Scope.RUN, [shared_run.uid], "day")
    client.get(reverse("shared", args=[text]))
    assert not client.cookies
    parameters = {
        "pk": shared_run.experiment.pk,
        "uid": shared_run.uid,
        "key": f"esweb-{shared_run.uid}-a1",
        "n": 1,
        "step": 5,
    }
    bearer = Client(headers={"authorization": f"Bearer {text}"})
    bearer.cookies["sessionid"] = text[:200]
    check_all_closed(bearer, parameters, {*OPEN, *SHARED})


def open_invitation(tournament: Tournament, ada: User) -> tuple[Client, Any]:
    """Return a browser that has opened an invitation, and the invitation."""
    ((invitation, text),) = create_invitations(tournament, ada, ["Dee"])
    browser = Client()
    response = browser.get(reverse("vote-link", args=[text]), follow=True)
    assert response.status_code == 200
    return browser, invitation


def test_voter_link_grants_only_voting_routes(ada: User, experiment: Experiment, runs_dir: Path) -> None:
    tournament = make_tournament(ada, experiment, prompts=2, contestants=2)
    browser, _ = open_invitation(tournament, ada)
    assert browser.get(reverse("vote", args=[tournament.pk])).status_code == 200
    run = Run.objects.filter(experiment=experiment).first()
    assert run is not None
    parameters = {"pk": tournament.pk, "uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": 5}
    check_all_closed(browser, parameters, {*OPEN, *SHARED, *VOTING})


def test_voter_link_grants_no_other_tournament(ada: User, experiment: Experiment, runs_dir: Path) -> None:
    own, other = (make_tournament(ada, experiment, prompts=1, contestants=2) for _ in range(2))
    browser, _ = open_invitation(own, ada)
    for name in ("vote", "vote-turns", "vote-choices"):
        assert browser.get(reverse(name, args=[own.pk])).status_code in (200, 405), name
        check_closed(browser, name, reverse(name, args=[other.pk]))
    check_closed(browser, "vote-reveal", reverse("vote-reveal", args=[other.pk, 1]))


def test_revoked_voter_link_grants_nothing(ada: User, experiment: Experiment, runs_dir: Path) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    browser, invitation = open_invitation(tournament, ada)
    revoke_invitation(invitation)
    for name in ("vote", "vote-turns", "vote-choices"):
        check_closed(browser, name, reverse(name, args=[tournament.pk]))


TEXT = f"see /srv/{SECRET}/a.csv, run:{SECRET}a@3, http://ada:{SECRET}@host/, api_key={SECRET} and --token {SECRET}"
"""A text of a user with a secret of each form."""
NAME = f"/srv/{SECRET}/a run:{SECRET}a@3 http://ada:{SECRET}@host api_key={SECRET}"
FOREIGN = {
    "apiKey": SECRET,
    "HF_TOKEN": SECRET,
    "data": ["/srv/zq7hidden/a.csv", [f"~/{SECRET}/b.csv"], f"run:{SECRET}a@3", {"password": [SECRET]}],
    "nested": {"deep": {"url": f"https://ada:{SECRET}@host/x?token={SECRET}", "text": TEXT}},
    f"/srv/{SECRET}/weights": 0.5,
    "args": ["--api-key", SECRET, f"--secret={SECRET}"],
    "env": [{"name": "WANDB_API_KEY", "value": SECRET}],
}
"""Settings of another program's config."""
HIDDEN_KEYS = (f"system/{SECRET}", f"eval//srv/{SECRET}/loss", f"loss of run:{SECRET}a@3")


@pytest.fixture
def telling_runs(ada: User, runs_dir: Path) -> list[Run]:
    """Return two runs of an experiment, with secrets in everything that a link can show."""
    experiment = Experiment.objects.create(name=TEXT, question=TEXT, note=SECRET, owner=ada)
    runs = [make_run(experiment, seed=seed, state=state) for seed, state in enumerate(("partial", "running"))]
    for run in runs:
        record(run, a_bit_of_everything())
        record(run, [Metric(step, dict.fromkeys(HIDDEN_KEYS, 1.0 + step)) for step in (1, 2)])
        run.config["compute"]["cluster"] = run.config["tracking"]["token_file"] = SECRET
        run.config["model"]["path"] = f"/srv/{SECRET}/tiny"
        run.config |= {"foreign": {**FOREIGN, "seed": run.seed}}
        run.name, run.preset, run.note, run.tags = f"{NAME} {run.seed}", NAME, SECRET, [SECRET]
        run.save()
        run.attempts.update(reason=TEXT)
        Flag.objects.create(
            run=run,
            detector="score",
            key=f"score/{SECRET}/mean",
            step=5,
            first_step=5,
            value=1.0,
            limit=0.1,
            before=0.5,
            compared_with=SECRET,
            detected_at=timezone.now(),
        )
    return runs


SHOWN_IN = (
    {}, {"config": "everything", "key": "."}, {"group": "model.path"}, {"group": "compute.cluster"},
    {"group": "preset", "config": "everything"}, {"charts": f"own:{HIDDEN_KEYS[0]}"},
)  # fmt: skip
"""Parameters of a shared page that show more of the configs, of the keys, or of both."""


@each_case("scope", list(Scope))
def test_share_link_shows_no_secret_of_a_config_a_series_or_a_text(
    scope: Scope, client: Client, ada: User, telling_runs: list[Run]
) -> None:
    uids = [run.uid for run in telling_runs]
    targets = {Scope.RUN: uids[:1], Scope.EXPERIMENT: [telling_runs[0].experiment_id], Scope.COMPARE: uids}
    text = link_text(ada, scope, targets[scope], "day")
    parts = [("shared", query) for query in SHOWN_IN if scope != Scope.RUN or "group" not in query]
    parts += [("shared-chart", {"name": n, **form}) for n in ("reward", "reward/mean") for form in ({}, {"as": "csv"})]
    parts += [("shared-section", {"section": name}) for name in ("system", "eval", "es", "other")]
    for route, query in parts:
        response = client.get(reverse(route, args=[text]), query)
        assert response.status_code < 500
        if response.status_code == 200:
            shown = response.content.decode()
            # The reader's own address is no secret to the reader.
            for value in query.values():
                shown = shown.replace(value, "").replace(quote(value, safe=""), "")
            assert SECRET not in shown, (route, query, shown[max(0, shown.find(SECRET) - 200) :][:300])
    for name in (*HIDDEN_KEYS, *(f"own:{key}" for key in HIDDEN_KEYS)):
        assert client.get(reverse("shared-chart", args=[text]), {"name": name}).status_code == 404
