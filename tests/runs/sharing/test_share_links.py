from datetime import timedelta

import pytest
from django.core import signing
from django.utils import timezone

from runs.access import (
    LIFETIMES,
    CannotShare,
    LinkEnded,
    Role,
    Scope,
    UnknownLink,
    give_role,
    link_text,
    open_link,
    revoke_all_links,
)
from runs.access.share_links import SALT
from tests.cases import each_case
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment):
    return make_run(experiment)


def at(monkeypatch, later):
    """Sets the clock of links forward."""
    now = timezone.now() + later
    monkeypatch.setattr("runs.access.share_links.timezone.now", lambda: now)


def test_a_link_shows_what_it_was_made_for(bo, run, experiment):
    other = make_run(experiment, seed=1)
    share = open_link(link_text(bo, Scope.COMPARE, [other.uid, run.uid], "day"))
    assert (share.scope, share.person, share.runs) == (Scope.COMPARE, bo, (other, run))
    assert open_link(link_text(bo, Scope.EXPERIMENT, [experiment.pk], "day")).experiment == experiment


@each_case("lifetime", LIFETIMES)
def test_link_expires_at_its_time(monkeypatch, ada, run, lifetime):
    text = link_text(ada, Scope.RUN, [run.uid], lifetime)
    lasts = LIFETIMES[lifetime][1]
    at(monkeypatch, lasts - timedelta(minutes=1))
    assert open_link(text).runs == (run,)
    at(monkeypatch, timedelta(minutes=2))
    with pytest.raises(LinkEnded):
        open_link(text)


def test_a_letter_changed_makes_it_unknown(ada, run):
    text = link_text(ada, Scope.RUN, [run.uid], "day")
    for i in range(0, len(text), 7):
        changed = text[:i] + ("A" if text[i] != "A" else "B") + text[i + 1 :]
        with pytest.raises(UnknownLink):
            open_link(changed)


def test_other_signed_text_is_no_link(ada, run):
    payload = signing.loads(link_text(ada, Scope.RUN, [run.uid], "day"), salt=SALT)
    with pytest.raises(UnknownLink):
        open_link(signing.dumps(payload, salt="esweb.sign-in"))


def test_all_links_of_a_user_can_be_revoked(ada, bo, run):
    links = [link_text(ada, Scope.RUN, [run.uid], lifetime) for lifetime in LIFETIMES]
    others = link_text(bo, Scope.RUN, [run.uid], "day")
    revoke_all_links(ada)
    for text in links:
        with pytest.raises(LinkEnded):
            open_link(text)
    assert open_link(others).runs == (run,)
    assert open_link(link_text(ada, Scope.RUN, [run.uid], "day")).runs == (run,)


def new_password(person):
    person.set_password("another long password")


def shut_out(person):
    person.is_active = False


@pytest.mark.parametrize("change", [new_password, shut_out])
def test_links_end_with_a_new_password_or_deactivation(bo, run, change):
    text = link_text(bo, Scope.RUN, [run.uid], "day")
    change(bo)
    bo.save()
    with pytest.raises(LinkEnded):
        open_link(text)


def test_viewer_cannot_share(bo, run):
    text = link_text(bo, Scope.RUN, [run.uid], "day")
    give_role(bo, Role.VIEWER)
    with pytest.raises(LinkEnded):
        open_link(text)
    with pytest.raises(CannotShare, match="Viewers"):
        link_text(bo, Scope.RUN, [run.uid], "day")


@pytest.mark.parametrize("who", ["ada", "cy"])
def test_private_run_is_not_shared_even_by_its_owner(request, private_experiment, who):
    person, secret = request.getfixturevalue(who), make_run(private_experiment)
    for scope, target in (
        (Scope.RUN, secret.uid),
        (Scope.COMPARE, secret.uid),
        (Scope.EXPERIMENT, private_experiment.pk),
    ):
        with pytest.raises(CannotShare, match="private"):
            link_text(person, scope, [target], "day")


def test_link_ends_when_the_experiment_becomes_private(ada, run, experiment):
    texts = [
        link_text(ada, Scope.RUN, [run.uid], "day"), link_text(ada, Scope.COMPARE, [run.uid], "day"),
        link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day"),
    ]  # fmt: skip
    experiment.is_private = True
    experiment.save()
    for text in texts:
        with pytest.raises(LinkEnded):
            open_link(text)


def test_deleted_run_is_not_shared(ada, run):
    text = link_text(ada, Scope.RUN, [run.uid], "day")
    type(run).objects.filter(pk=run.pk).update(deleted_at=timezone.now())
    with pytest.raises(LinkEnded):
        open_link(text)


def test_shared_comparison_shows_the_remaining_runs(ada, run, private_experiment):
    other = make_run(run.experiment, seed=1)
    text = link_text(ada, Scope.COMPARE, [run.uid, other.uid], "day")
    type(other).objects.filter(pk=other.pk).update(experiment=private_experiment)
    assert open_link(text).runs == (run,)


@each_case(
    ("targets", "lifetime", "message"),
    [([], "day", "private"), (["nosuch"], "day", "private"), (["x"] * 51, "day", "at most 50"), ([], "year", "hour")],
)
def test_invalid_link_is_refused_with_a_message(ada, targets, lifetime, message):
    with pytest.raises(CannotShare, match=message):
        link_text(ada, Scope.COMPARE, targets, lifetime)
