"""A viewer changes no shared row at any address, not even rows that they created as a member."""

from __future__ import annotations

from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from runs.access import give_role
from tests.cases import each_case
from tests.esweb.test_access_of_routes import METHODS, routes
from tests.security.write_endpoints import WRITES, WriteRequest, WriteSubjects, digest_tables, make_write_subjects

ROUTES = sorted(routes())
OWN = {
    "settings", "settings-tokens", "settings-token-revoke", "settings-secret-delete", "settings-password", "share",
    "login",
    "logout", "viewer-cover", "home-notes", "chart-layout",
}  # fmt: skip
"""Routes at which users change only their own rows, or nothing."""
VOTES = {"vote-choices", "vote-reveal"}
"""Routes that accept no form; they are tested in tests/judging/voting/test_pages.py."""
HARMLESS = {"launch-audit-line", "launch-check", "invitation", "script-words"}
FOR_ADMINS = ("settings-", "limit-", "import-folder")
IMPORTS = {"import", "import-undo", "experiment-import"}
"""Imports, whose effect for entitled users is tested elsewhere."""
PAGES = [(name, address) for name, address in ROUTES if ":" not in name]
API_AND_ADMIN = list({address: (name, address) for name, address in ROUTES if ":" in name}.values())
UNSAFE = [method for method in METHODS if method not in ("get", "head")]
LIMITED_TO_ALLOWED_RUNS = {"experiment-resume", "experiment-bulk", "experiment-undo"}
"""Routes that change only those runs that the caller may change, which here are none."""

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture(scope="module")
def module_subjects(shared_rows: DjangoDbBlocker, module_runs_dir: None) -> WriteSubjects:
    """Create a user's rows, on a site with another admin."""
    with shared_rows.unblock():
        give_role(User.objects.create(username="keeper"), "admin")
        return make_write_subjects(User.objects.create(username="caller"))


@pytest.fixture
def subjects(module_subjects: WriteSubjects) -> WriteSubjects:
    """Return a copy of the rows for one test, which may change the objects."""
    return deepcopy(module_subjects)


def browser_of(person: User) -> Client:
    """Return the user's browser, signed in."""
    browser = Client()
    browser.force_login(person)
    return browser


def send_write(subjects: WriteSubjects, write: WriteRequest, name: str, role: str) -> tuple[int, bool]:
    """Send a write to the caller's own rows in that role. Return (status, whether anything has changed)."""
    give_role(subjects.caller, role)
    browser = browser_of(subjects.caller)
    session = browser.session
    session.update(write.session)
    session.save()
    for value in write.form.values():
        if isinstance(value, SimpleUploadedFile):
            value.seek(0)
    before = digest_tables()
    status = browser.post(write.address(name), write.form).status_code
    return status, digest_tables() != before


@each_case("name", WRITES)
def test_viewer_changes_nothing_that_an_entitled_user_changes(module_subjects: WriteSubjects, name: str) -> None:
    """The same request is sent twice: the second one proves that the first one was valid."""
    subjects = deepcopy(module_subjects)
    write = WRITES[name](subjects)
    status, has_changed = send_write(subjects, write, name, "viewer")
    assert not has_changed
    assert status in (403, 404) or name in LIMITED_TO_ALLOWED_RUNS
    assert send_write(subjects, write, name, "admin" if name.startswith(FOR_ADMINS) else "member")[1]


def test_other_pages_accept_no_form(subjects: WriteSubjects) -> None:
    give_role(subjects.caller, "admin")
    browser = browser_of(subjects.caller)
    for name, address in PAGES:
        if name not in WRITES.keys() | OWN | VOTES | HARMLESS | IMPORTS:
            statuses = {getattr(browser, method)(address).status_code for method in UNSAFE}
            assert statuses == {405}, f"{name}: try it above, or say why not"


def test_viewer_is_refused_by_api_and_admin(subjects: WriteSubjects) -> None:
    give_role(subjects.caller, "viewer")
    browser, before = browser_of(subjects.caller), digest_tables()
    for name, address in API_AND_ADMIN:
        for method in UNSAFE if name.startswith("api:") else METHODS:
            response = getattr(browser, method)(address)
            # The admin redirects callers without access to a page that answers 403.
            is_redirected = response.status_code == 302 and response["Location"].startswith("/admin/")
            # Records are pushed with a token and never by a browser: 401.
            is_refused = response.status_code in (401, 403, 404, 405)
            assert is_redirected or is_refused, f"{method} {address} answered {response.status_code}"
    assert digest_tables() == before


def test_viewer_cannot_import_or_undo_imports(subjects: WriteSubjects) -> None:
    give_role(subjects.caller, "viewer")
    browser, before = browser_of(subjects.caller), digest_tables()
    for name in IMPORTS:
        browser.post(reverse(name), {"files": [SimpleUploadedFile("a.jsonl", b"{}")], "experiment_name": "x"})
    assert digest_tables() == before


def test_viewer_cannot_create_share_link(subjects: WriteSubjects) -> None:
    give_role(subjects.caller, "viewer")
    response = browser_of(subjects.caller).post(f"/share/?page=run&run={subjects.running.uid}", {"lifetime": "day"})
    assert (response.status_code, "Viewers cannot share" in response.content.decode()) == (400, True)
