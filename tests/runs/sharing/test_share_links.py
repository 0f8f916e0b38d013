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
    opened,
    take_back_all,
)
from runs.access.share_links import SALT
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
    share = opened(link_text(bo, Scope.COMPARE, [other.uid, run.uid], "day"))
    assert (share.scope, share.person, share.runs) == (Scope.COMPARE, bo, (other, run))
    assert opened(link_text(bo, Scope.EXPERIMENT, [experiment.pk], "day")).experiment == experiment


@pytest.mark.parametrize("lifetime", LIFETIMES)
def test_it_ends_with_its_time_and_not_before(monkeypatch, ada, run, lifetime):
    text = link_text(ada, Scope.RUN, [run.uid], lifetime)
    lasts = LIFETIMES[lifetime][1]
    at(monkeypatch, lasts - timedelta(minutes=1))
    assert opened(text).runs == (run,)
    at(monkeypatch, timedelta(minutes=2))
    with pytest.raises(LinkEnded):
        opened(text)


def test_a_letter_changed_makes_it_unknown(ada, run):
    text = link_text(ada, Scope.RUN, [run.uid], "day")
    for i in range(0, len(text), 7):
        changed = text[:i] + ("A" if text[i] != "A" else "B") + text[i + 1 :]
        with pytest.raises(UnknownLink):
            opened(changed)


def test_what_this_site_signed_for_something_else_is_no_link(ada, run):
    said = signing.loads(link_text(ada, Scope.RUN, [run.uid], "day"), salt=SALT)
    with pytest.raises(UnknownLink):
        opened(signing.dumps(said, salt="esweb.sign-in"))


def test_all_links_of_a_person_can_be_taken_back_at_once_and_new_ones_made(ada, bo, run):
    mine = [link_text(ada, Scope.RUN, [run.uid], lifetime) for lifetime in LIFETIMES]
    others = link_text(bo, Scope.RUN, [run.uid], "day")
    take_back_all(ada)
    for text in mine:
        with pytest.raises(LinkEnded):
            opened(text)
    assert opened(others).runs == (run,)
    assert opened(link_text(ada, Scope.RUN, [run.uid], "day")).runs == (run,)


def new_password(person):
    person.set_password("another long password")


def shut_out(person):
    person.is_active = False


@pytest.mark.parametrize("change", [new_password, shut_out])
def test_a_new_password_and_being_shut_out_end_them(bo, run, change):
    text = link_text(bo, Scope.RUN, [run.uid], "day")
    change(bo)
    bo.save()
    with pytest.raises(LinkEnded):
        opened(text)


def test_who_becomes_a_viewer_shares_no_more(bo, run):
    text = link_text(bo, Scope.RUN, [run.uid], "day")
    give_role(bo, Role.VIEWER)
    with pytest.raises(LinkEnded):
        opened(text)
    with pytest.raises(CannotShare, match="Viewers"):
        link_text(bo, Scope.RUN, [run.uid], "day")


@pytest.mark.parametrize("who", ["ada", "cy"])
def test_what_is_private_is_not_shared_not_even_by_its_owner(request, private_experiment, who):
    person, secret = request.getfixturevalue(who), make_run(private_experiment)
    for scope, what in (
        (Scope.RUN, secret.uid),
        (Scope.COMPARE, secret.uid),
        (Scope.EXPERIMENT, private_experiment.pk),
    ):
        with pytest.raises(CannotShare, match="private"):
            link_text(person, scope, [what], "day")


def test_what_becomes_private_is_shown_no_more(ada, run, experiment):
    texts = [
        link_text(ada, Scope.RUN, [run.uid], "day"), link_text(ada, Scope.COMPARE, [run.uid], "day"),
        link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day"),
    ]  # fmt: skip
    experiment.is_private = True
    experiment.save()
    for text in texts:
        with pytest.raises(LinkEnded):
            opened(text)


def test_what_lies_in_the_bin_is_shown_no_more(ada, run):
    text = link_text(ada, Scope.RUN, [run.uid], "day")
    type(run).objects.filter(pk=run.pk).update(deleted_at=timezone.now())
    with pytest.raises(LinkEnded):
        opened(text)


def test_of_a_comparison_what_is_left_is_shown(ada, run, private_experiment):
    other = make_run(run.experiment, seed=1)
    text = link_text(ada, Scope.COMPARE, [run.uid, other.uid], "day")
    type(other).objects.filter(pk=other.pk).update(experiment=private_experiment)
    assert opened(text).runs == (run,)


@pytest.mark.parametrize(
    ("what", "lifetime", "said"),
    [([], "day", "private"), (["nosuch"], "day", "private"), (["x"] * 51, "day", "at most 50"), ([], "year", "hour")],
)
def test_what_cannot_be_shared_is_refused_in_a_sentence(ada, what, lifetime, said):
    with pytest.raises(CannotShare, match=said):
        link_text(ada, Scope.COMPARE, what, lifetime)
