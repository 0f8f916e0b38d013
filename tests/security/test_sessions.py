"""Session fixation and sessions that outlive their end: the key changes with every right that a session gains.

The class is CWE-384 and CWE-613. An attacker who has planted a session in a victim's browser, or copied the victim's,
cannot use it after the victim has signed in, signed out or changed the password.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from websockets.exceptions import ConnectionClosed

from judging.models import Tournament
from judging.voting import create_invitations
from runs.access import Scope, link_text
from runs.accounts.sign_in_links import link_for
from runs.metrics.live import consumer, publish_changed
from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament
from tests.runs.full_runs import make_run
from tests.runs.live_server import serving
from tests.security.test_sockets_are_closed import open_socket
from tests.waiting import PATIENCE_SECONDS

PASSWORD, NEW = "a-long-word-of-hers", "another-long-word-of-hers"
COOKIE = settings.SESSION_COOKIE_NAME


@pytest.fixture
def planted_key(ada: User, experiment: Experiment) -> str:
    """Return the key of an attacker's session, which they got by an invitation of their own."""
    return session_key(
        open_invitation(Client(), make_tournament(ada, experiment, prompts=1, contestants=2, name="theirs"), "Mallory")
    )


def session_key(browser: Client) -> str:
    """Return the key of the browser's session."""
    return browser.cookies[COOKIE].value


def browser_with_session(key: str) -> Client:
    """Return a browser with this session key."""
    browser = Client()
    browser.cookies[COOKIE] = key
    return browser


def open_invitation(browser: Client, tournament: Tournament, name: str) -> Client:
    """Return the browser after it has opened a new invitation to the tournament."""
    ((_, text),) = create_invitations(tournament, tournament.owner, [name])
    assert browser.get(f"/vote/link/{text}/").status_code == 302
    return browser


def by_password(browser: Client, ada: User) -> None:
    browser.post("/login/", {"username": ada.username, "password": PASSWORD})


def by_link(browser: Client, ada: User) -> None:
    browser.get(link_for(ada))


def by_admin(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    browser.post("/admin/login/", {"username": ada.username, "password": PASSWORD})
    by_password(browser, ada)


@pytest.mark.django_db
@pytest.mark.parametrize("sign_in", [by_password, by_link, by_admin])
def test_session_key_changes_at_sign_in(ada: User, planted_key: str, sign_in: Callable[[Client, User], None]) -> None:
    ada.set_password(PASSWORD)
    ada.save()
    victim = browser_with_session(planted_key)
    sign_in(victim, ada)
    assert victim.get("/settings/tokens/").status_code == 200
    assert session_key(victim) != planted_key
    assert browser_with_session(planted_key).get("/settings/tokens/").status_code == 302


@pytest.mark.django_db
def test_session_key_changes_when_invitation_is_opened(ada: User, experiment: Experiment, planted_key: str) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    victim = open_invitation(browser_with_session(planted_key), tournament, "Dee")
    assert victim.get(f"/vote/{tournament.pk}/").status_code == 200
    assert session_key(victim) != planted_key
    assert browser_with_session(planted_key).get(f"/vote/{tournament.pk}/").status_code == 302


@pytest.mark.django_db
def test_invited_voter_gets_new_session_at_sign_in(ada: User, experiment: Experiment) -> None:
    voter = open_invitation(Client(), make_tournament(ada, experiment, prompts=1, contestants=2), "Dee")
    before = session_key(voter)
    by_link(voter, ada)
    assert session_key(voter) != before and browser_with_session(before).get("/settings/tokens/").status_code == 302


@pytest.mark.django_db
@pytest.mark.usefixtures("runs_dir")
def test_shared_link_creates_no_session(ada: User, experiment: Experiment) -> None:
    stranger = Client()
    for scope, target in ((Scope.EXPERIMENT, experiment.pk), (Scope.RUN, make_run(experiment).uid)):
        assert stranger.get(f"/shared/{link_text(ada, scope, [target], 'day')}/").status_code == 200
    assert not stranger.cookies


@pytest.mark.django_db
def test_session_is_gone_after_signing_out(ada: User) -> None:
    browser = Client()
    by_link(browser, ada)
    copy = browser_with_session(session_key(browser))
    assert copy.get("/settings/tokens/").status_code == 200
    assert browser.post("/logout/").status_code == 302
    assert copy.get("/settings/tokens/").status_code == 302


def change_password(browser: Client, ada: User) -> None:
    passwords = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert browser.post(reverse("settings-password"), passwords).status_code == 302


def reset_password(browser: Client, ada: User) -> None:
    ada.refresh_from_db()
    arguments = [urlsafe_base64_encode(force_bytes(ada.pk)), default_token_generator.make_token(ada)]
    page = Client().get(reverse("invitation", args=arguments), follow=True)
    assert page.client.post(page.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW}).status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("renew", [change_password, reset_password])
def test_new_password_ends_sessions_and_links(ada: User, renew: Callable[[Client, User], None]) -> None:
    ada.set_password(PASSWORD)
    ada.save()
    browser, other, link = Client(), Client(), link_for(ada)
    for device in (browser, other):
        by_password(device, ada)
    before = session_key(browser)
    renew(browser, ada)
    assert User.objects.get(pk=ada.pk).check_password(NEW)
    assert browser.get("/settings/tokens/").status_code == (200 if renew is change_password else 302)
    for stale in (other, browser_with_session(before)):
        assert stale.get("/settings/tokens/").status_code == 302
    stranger = Client()
    stranger.get(link)
    assert stranger.get("/settings/tokens/").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("https", [False, True])
def test_cookies_have_security_attributes(ada: User, settings: object, https: bool) -> None:
    ada.set_password(PASSWORD)
    ada.save()
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = https  # type: ignore[attr-defined]
    browser = Client()
    browser.get("/login/")
    by_password(browser, ada)
    assert {COOKIE, "csrftoken"} <= browser.cookies.keys()
    for name in (COOKIE, "csrftoken"):
        cookie = browser.cookies[name]
        assert (bool(cookie["httponly"]), cookie["samesite"], bool(cookie["secure"])) == (True, "Lax", https), name
        assert not cookie["domain"]


def test_https_makes_cookies_secure() -> None:
    """The settings are read in a separate process."""
    script = "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)"
    for flag, expected in (("1", "True True"), ("0", "False False")):
        env = {**os.environ, "ESWEB_HTTPS": flag, "DJANGO_SETTINGS_MODULE": "esweb.settings"}
        result = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
        assert result.stdout.strip() == expected


# Open sockets -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the port of a real server."""
    with django_db_blocker.unblock(), serving() as server_port:  # type: ignore[attr-defined]
        yield server_port


def sign_out(browser: Client, ada: User) -> None:
    browser.post("/logout/")


def set_new_password(browser: Client, ada: User) -> None:
    ada.set_password(NEW)
    ada.save()


def deactivate(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [sign_out, set_new_password, deactivate])
@pytest.mark.parametrize("sends", [True, False], ids=["sends", "listens"])
def test_socket_closes_when_session_ends(
    port: int, ada: User, experiment: Experiment, runs_dir: object, monkeypatch: pytest.MonkeyPatch,
    end: Callable[[Client, User], None], sends: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(consumer, "RIGHTS_CHECK_SECONDS", -1.0)
    run, browser = make_run(experiment), Client()
    by_link(browser, ada)
    with open_socket(port, "ws/live", Cookie=f"{COOKIE}={session_key(browser)}") as socket:
        socket.send(f'{{"watch": {{"{run.uid}": 0}}}}')
        assert "watching" in socket.recv(timeout=PATIENCE_SECONDS)
        end(browser, ada)
        # The server may have noticed the end before the message.
        with pytest.raises(ConnectionClosed) as closed:
            if sends:
                socket.send(f'{{"watch": {{"{run.uid}": 0}}}}')
            else:
                run.attempts.update(reason="changed")
                publish_changed(run.uid, "state")
            while True:
                assert "watching" not in str(socket.recv(timeout=PATIENCE_SECONDS))
        assert closed.value.rcvd is not None and closed.value.rcvd.code == consumer.SESSION_ENDED
