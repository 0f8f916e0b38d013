"""Settings pages: a user's own tokens and password, and the users page, which is for admins only."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.access import give_role, issue, role_of
from runs.models import ApiToken
from tests.cases import each_case
from tests.runs.full_runs import make_run

TOKENS, PEOPLE = "/settings/tokens/", "/settings/people/"


@pytest.fixture
def root(db):
    return User.objects.create_superuser("root")


@pytest.fixture
def root_client(root):
    client = Client()
    client.force_login(root)
    return client


def make(client, **fields):
    return client.post(TOKENS, {"name": "notebook", "scope": "read", "days": "30", "run": ""} | fields)


def change(client, person, do, **fields):
    return client.post(f"{PEOPLE}{person.pk}/", {"do": do} | fields, follow=True)


def test_a_token_is_shown_once_and_works(ada_client, client):
    page = make(ada_client)
    text = re.search(r"esw_[\w-]+", page.content.decode()).group()
    assert "no-store" in page["Cache-Control"]
    assert client.get("/api/v1/me", headers={"authorization": f"Bearer {text}"}).json()["scope"] == "read"
    listed = ada_client.get(TOKENS).content.decode()
    assert "notebook" in listed and text not in listed


def test_invalid_token_shows_an_error_at_its_field(ada_client, bo_client, experiment):
    run = make_run(experiment)
    for fields, message in (
        ({"scope": "ingest"}, "needs a run"),
        ({"scope": "ingest", "run": "zzzzzzzzzz"}, "There is no run zzzzzzzzzz"),
        ({"days": "0"}, "greater than or equal to 1"),
        ({"scope": "root"}, "Select a valid choice"),
    ):
        page = make(ada_client, **fields)
        assert page.status_code == 400 and message in page.content.decode()
    assert "does not belong to bo" in make(bo_client, scope="ingest", run=run.uid).content.decode()
    assert not ApiToken.objects.exists()
    assert make(ada_client, scope="ingest", run=run.uid).status_code == 200


def test_a_token_is_revoked_by_its_owner_alone(ada, ada_client, bo_client):
    token, _ = issue(ada, "read", name="nightly")
    address = reverse("settings-token-revoke", args=[token.pk])
    assert bo_client.post(address).status_code == 404
    assert "nightly" not in bo_client.get(TOKENS).content.decode()
    assert "Revoked nightly" in ada_client.post(address, follow=True).content.decode()
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("tokens", [1, 60])
def test_the_number_of_queries_does_not_depend_on_the_number_of_tokens(
    ada, ada_client, experiment, tokens, django_assert_num_queries
):
    run = make_run(experiment)
    for _ in range(tokens):
        issue(ada, "ingest", run=run)
    with django_assert_num_queries(3):
        ada_client.get(TOKENS)


def test_users_page_is_for_admins_only(ada, ada_client, bo):
    assert ada_client.get(PEOPLE).status_code == 403
    for do in ("role", "shut-out", "let-in", "link"):
        assert change(ada_client, ada, do, role="admin").status_code == 403
    assert PEOPLE not in ada_client.get(TOKENS).content.decode()


def test_invited_user_chooses_a_password_once_and_has_the_role(root_client):
    page = root_client.post(PEOPLE, {"username": "dee", "role": "viewer"}).content.decode()
    link = re.search(r"http://testserver(/invitation/[^<]+/)", page).group(1)
    assert role_of(User.objects.get(username="dee")) == "viewer"
    guest = Client()
    choose = guest.get(link, follow=True)
    assert "You will sign in as <strong>dee</strong>" in choose.content.decode()
    weak = guest.post(choose.request["PATH_INFO"], {"new_password1": "password12", "new_password2": "password12"})
    assert weak.status_code == 200
    new = "correct horse battery"
    done = guest.post(choose.request["PATH_INFO"], {"new_password1": new, "new_password2": new})
    assert done["Location"] == "/login/"
    assert guest.login(username="dee", password=new)
    assert "no longer valid" in Client().get(link, follow=True).content.decode()


@each_case("link", ["/invitation/MQ/x-y/", "/invitation/!/x/", "/invitation/MQ/yours/"])
def test_a_made_up_invitation_is_no_way_in(root, client, link):
    assert "no longer valid" in client.get(link, follow=True).content.decode()
    assert client.post(link, {"new_password1": "a" * 12, "new_password2": "a" * 12}, follow=True).status_code == 200
    assert not User.objects.get().has_usable_password()


def test_duplicate_username_shows_an_error_at_its_field(root_client, ada):
    page = root_client.post(PEOPLE, {"username": "ada", "role": "member"})
    assert page.status_code == 400 and "already exists" in page.content.decode()


def test_an_admin_gives_roles_and_the_last_stays_one(root, root_client, ada):
    assert "ada is now viewer" in change(root_client, ada, "role", role="viewer").content.decode()
    assert role_of(User.objects.get(pk=ada.pk)) == "viewer"
    assert "must be one of viewer, member, admin" in change(root_client, ada, "role", role="boss").content.decode()
    for do in ("role", "shut-out"):
        assert "last active admin" in change(root_client, root, do, role="member").content.decode()
    assert change(root_client, ada, "delete").status_code == 404


def test_deactivated_user_is_signed_out_and_can_be_reactivated(root_client, ada, ada_client, client):
    _, text = issue(ada, "read")
    script = {"authorization": f"Bearer {text}"}
    assert "sessions and tokens no longer work" in change(root_client, ada, "shut-out").content.decode()
    assert ada_client.get("/").status_code == 302
    assert client.get("/api/v1/me", headers=script).status_code == 401
    assert "Reactivated ada." in change(root_client, ada, "let-in").content.decode()
    assert client.get("/api/v1/me", headers=script).status_code == 200


@pytest.mark.parametrize("people", [1, 40])
def test_number_of_queries_is_independent_of_the_number_of_users(root_client, people, django_assert_num_queries):
    User.objects.bulk_create(User(username=f"p{n}") for n in range(people))
    with django_assert_num_queries(5):
        root_client.get(PEOPLE)


def test_a_password_is_changed_by_who_knows_the_old_one(db):
    dee = User.objects.create_user("dee", password="correct horse battery")
    browser = Client()
    browser.force_login(dee)
    new = {"new_password1": "staple correct horse", "new_password2": "staple correct horse"}
    assert browser.post("/settings/password/", {"old_password": "wrong"} | new).status_code == 200
    assert browser.post("/settings/password/", {"old_password": "correct horse battery"} | new).status_code == 302
    assert Client().login(username="dee", password="staple correct horse")


def test_a_viewer_has_tokens_that_read(ada, ada_client):
    give_role(ada, "viewer")
    assert make(ada_client).status_code == 200


def test_audit_log_names_actor_and_user(root, root_client, ada, ada_client):
    change(root_client, ada, "role", role="viewer")
    change(root_client, ada, "link")
    change(root_client, ada, "shut-out")
    change(root_client, ada, "let-in")
    root_client.post(PEOPLE, {"username": "dee", "role": "member"})
    ada_client.force_login(ada)
    make(ada_client)
    ada_client.post(f"{TOKENS}{ApiToken.objects.get().pk}/revoke/")
    log_entries = [(entry.user, entry.object_repr, entry.change_message) for entry in LogEntry.objects.order_by("pk")]
    assert log_entries == [
        (root, "ada", "Changed role to viewer"),
        (root, "ada", "Created a password link"),
        (root, "ada", "Deactivated"),
        (root, "ada", "Reactivated"),
        (root, "dee", "Invited as member"),
        (ada, "notebook", "Created a token of scope read, valid for 30 days"),
        (ada, "notebook", "Revoked a token of scope read"),
    ]
