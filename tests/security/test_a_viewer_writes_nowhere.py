"""A viewer changes nothing that is everybody's, at any address, not even what was theirs when they could."""

from __future__ import annotations

from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from runs.access import give_role
from tests.esweb.test_every_address_is_closed import METHODS, routes
from tests.security.write_endpoints import WRITES, Things, everything, things_of

ROUTES = sorted(routes())
OWN = {
    "settings", "settings-tokens", "settings-token-revoke", "settings-secret-delete", "settings-password", "share",
    "login",
    "logout", "viewer-cover",
}  # fmt: skip
"""Where everybody changes what is theirs alone, or nothing."""
VOTES = {"vote-choices", "vote-reveal"}
"""What they take is no form: tests/judging/test_pages_voting."""
HARMLESS = {"launch-check", "invitation", "script-words"}
FOR_ADMINS = ("settings-", "limit-")
IMPORTS = {"import", "import-undo"}
"""What they do for whoever may is tested with them."""
PAGES = [(name, address) for name, address in ROUTES if ":" not in name]
OTHERS = [(name, address) for name, address in ROUTES if ":" in name]
UNSAFE = [method for method in METHODS if method not in ("get", "head")]
ON_WHAT_THEY_MAY = {"experiment-resume", "experiment-bulk", "experiment-undo"}
"""These do what they are told to those runs that the caller may change, which here are none."""

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture(scope="module")
def made(shared_rows: DjangoDbBlocker, runs_dir_of_module: None) -> Things:
    """What somebody made, on a site that somebody else looks after."""
    with shared_rows.unblock():
        give_role(User.objects.create(username="keeper"), "admin")
        return things_of(User.objects.create(username="caller"))


@pytest.fixture
def things(made: Things) -> Things:
    """The same for one test, which may change the objects."""
    return deepcopy(made)


def browser_of(person: User) -> Client:
    """Their browser, signed in."""
    browser = Client()
    browser.force_login(person)
    return browser


def sent(things: Things, name: str, role: str) -> tuple[int, bool]:
    """(status, whether anything has changed) of what the caller sends in that role to what they made before."""
    write = WRITES[name](things)
    give_role(things.caller, role)
    browser = browser_of(things.caller)
    session = browser.session
    session.update(write.session)
    session.save()
    before = everything()
    status = browser.post(write.address(name), write.form).status_code
    return status, everything() != before


@pytest.mark.parametrize("name", WRITES)
def test_who_may_changes_something_there(things: Things, name: str) -> None:
    """Else the next test would prove nothing."""
    assert sent(things, name, "admin" if name.startswith(FOR_ADMINS) else "member")[1]


@pytest.mark.parametrize("name", WRITES)
def test_a_viewer_changes_nothing_there(things: Things, name: str) -> None:
    status, has_changed = sent(things, name, "viewer")
    assert not has_changed
    assert status in (403, 404) or name in ON_WHAT_THEY_MAY


def test_every_other_page_takes_no_form_from_anybody(things: Things) -> None:
    give_role(things.caller, "admin")
    browser = browser_of(things.caller)
    for name, address in PAGES:
        if name not in WRITES.keys() | OWN | VOTES | HARMLESS | IMPORTS:
            statuses = {getattr(browser, method)(address).status_code for method in UNSAFE}
            assert statuses == {405}, f"{name}: try it above, or say why not"


def test_a_viewer_is_refused_by_every_method_of_the_api_and_the_admin(things: Things) -> None:
    give_role(things.caller, "viewer")
    browser, before = browser_of(things.caller), everything()
    for name, address in OTHERS:
        for method in UNSAFE if name.startswith("api:") else METHODS:
            answer = getattr(browser, method)(address)
            # Where the admin sends whom it does not let in, they are told 403 in the end.
            away = answer.status_code == 302 and answer["Location"].startswith("/admin/")
            # Records are pushed with a token and by nobody's browser: 401.
            refused = answer.status_code in (401, 403, 404, 405)
            assert away or refused, f"{method} {address} answered {answer.status_code}"
    assert everything() == before


def test_a_viewer_imports_nothing_and_takes_no_import_back(things: Things) -> None:
    give_role(things.caller, "viewer")
    browser, before = browser_of(things.caller), everything()
    for name in IMPORTS:
        browser.post(reverse(name), {"files": [SimpleUploadedFile("a.jsonl", b"{}")], "experiment_name": "x"})
    assert everything() == before


def test_a_viewer_makes_no_link_for_people_outside(things: Things) -> None:
    give_role(things.caller, "viewer")
    answer = browser_of(things.caller).post(f"/share/?page=run&run={things.going.uid}", {"lifetime": "day"})
    assert (answer.status_code, "Viewers cannot share" in answer.content.decode()) == (400, True)
