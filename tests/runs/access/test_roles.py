"""Viewer, member, admin: what each may do, and that somebody always remains to look after the site."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import Client
from django.urls import reverse

from runs import access
from runs.access import CannotChangeRole, Role, give_role, role_of
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run


@pytest.fixture
def root(db):
    return User.objects.create_superuser("root")


def test_user_is_a_member_by_default(ada, root):
    assert (role_of(ada), role_of(root), role_of(AnonymousUser())) == (Role.MEMBER, Role.ADMIN, Role.VIEWER)


@each_case("role", Role.values)
def test_role_can_be_changed(ada, root, role):
    for new_role in (Role.VIEWER, role, role):
        give_role(ada, new_role)
        assert role_of(ada) == role_of(User.objects.get(pk=ada.pk)) == new_role
    assert ada.is_staff == ada.is_superuser == (role == "admin")


def test_an_unknown_role_names_the_roles(ada):
    with pytest.raises(CannotChangeRole, match="one of viewer, member, admin, not 'boss'"):
        give_role(ada, "boss")


def test_last_admin_cannot_lose_the_role(ada, root):
    with pytest.raises(CannotChangeRole, match="root is the last active admin"):
        give_role(root, "member")
    give_role(ada, "admin")
    give_role(root, "member")
    assert role_of(root) == Role.MEMBER


def test_viewer_cannot_change_own_runs_or_experiments(ada, experiment):
    run = make_run(experiment)
    rights = [access.may_launch, access.may_change]
    of_a_run = [access.may_cancel, access.may_resume, access.may_rebuild, access.may_change_run]
    assert all(may(ada, experiment) for may in rights) and all(may(ada, run) for may in of_a_run)
    give_role(ada, "viewer")
    assert not any(may(ada, experiment) for may in rights) and not any(may(ada, run) for may in of_a_run)
    assert not access.may_make(ada)


def test_access_checks_share_one_query(ada, experiment, django_assert_num_queries):
    person = User.objects.get(pk=ada.pk)
    with django_assert_num_queries(1):
        assert all(access.may_change(person, experiment) for _ in range(5))


def test_a_viewer_reads_pages_and_changes_none(ada, experiment):
    run = make_run(experiment)
    give_role(ada, "viewer")
    browser = Client()
    browser.force_login(ada)
    assert browser.get(run.get_absolute_url()).status_code == 200
    assert browser.get(reverse("launch", args=[experiment.pk])).status_code == 403
    assert browser.post(reverse("experiments"), {"name": "mine"}).status_code == 403
    for name in ("run-cancel", "run-resume"):
        assert browser.post(reverse(name, args=[run.uid])).status_code == 403


def test_viewer_token_reads_but_cannot_launch(ada, experiment):
    script = calls(ada, "admin")
    give_role(ada, "viewer")
    assert script.get("/api/v1/experiments").status_code == 200
    refused = script.post("/api/v1/experiments", {"name": "x"}, content_type="application/json")
    assert (refused.status_code, "Your role is viewer" in refused.json()["detail"]) == (403, True)


def test_records_of_a_viewers_run_are_still_accepted(ada, experiment):
    run = make_run(experiment)
    script = calls(ada, "ingest", run=run)
    give_role(ada, "viewer")
    pushed = script.post(f"/api/v1/attempts/esweb-{run.uid}-a1/records", "", content_type="application/jsonl")
    assert pushed.status_code == 200


def test_member_cannot_write_records_of_a_foreign_run(bo, experiment):
    run = make_run(experiment)
    pushed = calls(bo, "admin").post(
        f"/api/v1/attempts/esweb-{run.uid}-a1/records", "", content_type="application/jsonl"
    )
    assert pushed.status_code == 404
