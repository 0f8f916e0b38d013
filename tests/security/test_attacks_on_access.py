"""Attacks that succeeded on other trackers: access without authentication, or beyond the caller's rights.

Each test names its class, and the published case that it repeats on our own addresses.
"""

from __future__ import annotations

import json
import logging

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path, reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from esweb.api import api
from runs import access
from runs.access import Scope, link_text
from runs.accounts.sign_in_links import link_for
from runs.models import ApiToken, Attempt, Experiment, RecordFile, Run
from tests.cases import each_case
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls
from tests.security.sample_rows import SECRET, make_hidden_experiment

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
EVIL = "evil.example"
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json")


def show_new_page(request: HttpRequest) -> HttpResponse:
    """Return a page whose author has not thought of access."""
    return HttpResponse(SECRET)


urlpatterns = [path("new/", show_new_page, name="new"), path("", include("esweb.urls"))]


def test_stranger_cannot_launch_or_stop_runs(experiment: Experiment) -> None:
    """Jobs without authentication, up to running code: CVE-2026-0545 (MLflow's job API outside its basic auth)."""
    run = full_runs.make_run(experiment, "es-micro")
    body = json.dumps({"experiment": experiment.pk, "preset": "es-micro"})
    before = (Run.objects.count(), Attempt.objects.count())
    stranger = Client(headers={"x-http-method-override": "POST", "x-forwarded-user": "ada", "x-remote-user": "ada"})
    for tail in ("", f"/{run.uid}/resume", f"/{run.uid}/clone", f"/{run.uid}/cancel", f"/{run.uid}/checkpoints/0"):
        for kind in (
            "application/json",
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ):
            assert stranger.post(f"/api/v1/runs{tail}", body, content_type=kind).status_code == 401
        assert stranger.get(f"/api/v1/runs{tail}?_method=POST").status_code in (401, 405)
    assert (Run.objects.count(), Attempt.objects.count()) == before
    assert not Attempt.objects.filter(cancel_requested_at__isnull=False).exists()


def test_every_operation_requires_authentication() -> None:
    """Authentication on only some routers: CVE-2026-2652 (MLflow)."""
    for _, router in api._routers:
        for operations in router.path_operations.values():
            assert all(operation.auth_callbacks for operation in operations.operations)


@pytest.mark.urls("tests.security.test_attacks_on_access")
def test_new_page_requires_sign_in_by_default(client: Client) -> None:
    """The same class, CVE-2026-2652, for pages that are added later."""
    response = client.get("/new/")
    assert (response.status_code, response["Location"]) == (302, "/login/?next=/new/")


@each_case("odd", ["//api/v1/runs", "/API/v1/runs", "/api//v1/runs", "/api/v1/runs/", "/api/v1/runs;a=b",
                                 "/healthz/../api/v1/runs", "/static/../api/v1/runs", "/login/%2e%2e/api/v1/runs",
                                 "/shared/x/../../api/v1/runs", "/api/v1/runs%00", "/api/v1/%72uns"])  # fmt: skip
def test_odd_address_does_not_bypass_sign_in(client: Client, experiment: Experiment, odd: str) -> None:
    """Access checks by the beginning of an address: CVE-2026-2652 again, and similar cases."""
    full_runs.make_run(experiment)
    Run.objects.update(name=SECRET)
    response = client.get(odd, follow=True)
    assert SECRET.encode() not in response.content
    assert response.status_code in (401, 404) or b"Sign in" in response.content


def test_records_are_accepted_for_own_runs_only(bo: User, experiment: Experiment) -> None:
    """Uploads without a check of their target: CVE-2026-2651 (MLflow's --serve-artifacts)."""
    run = full_runs.make_run(experiment)
    key = f"esweb-{run.uid}-a1"
    for scope in ("read", "launch", "admin"):
        response = calls(bo, scope).post(f"/api/v1/attempts/{key}/records", "", content_type="application/jsonl")
        assert response.status_code in (403, 404)
    assert not RecordFile.objects.exists()


def test_private_checkpoints_are_not_downloadable(ada: User, bo: User, bo_client: Client) -> None:
    """Artifacts for any user who knows their address: W&B Server 0.78.0 and 0.78.1."""
    run = make_hidden_experiment(ada).runs.get()
    checkpoint_files.save(run, 5)
    assert calls(bo, "admin").get(f"/api/v1/runs/{run.uid}/checkpoints/5/download").status_code == 404
    assert bo_client.get(reverse("run-checkpoint", args=[run.uid, 5])).status_code == 404
    text = link_text(bo, Scope.RUN, [full_runs.make_run(Experiment.objects.create(name="x", owner=bo)).uid], "day")
    assert bo_client.get(f"/shared/{text}/checkpoints/5/").status_code == 404


@each_case("weak", ["", "a", " " * 12, "aaaaaaaaaaaa", "abababababab", "password12", "1234567890"])
def test_weak_password_is_refused_everywhere(ada: User, ada_client: Client, client: Client, weak: str) -> None:
    """Passwords that are empty or of one letter: CVE-2025-11200 (MLflow)."""
    passwords = {"new_password1": weak, "new_password2": weak}
    ada.set_password("a-long-word-of-hers")
    ada.save()
    ada_client.force_login(ada)
    ada_client.post("/settings/password/", {"old_password": "a-long-word-of-hers", **passwords})
    arguments = [urlsafe_base64_encode(force_bytes(ada.pk)), default_token_generator.make_token(ada)]
    response = client.get(reverse("invitation", args=arguments), follow=True)
    client.post(response.redirect_chain[-1][0], passwords)
    assert User.objects.get(pk=ada.pk).check_password("a-long-word-of-hers")


@each_case("tried", ["", "admin", "password", "!", "None"])
def test_default_passwords_do_not_sign_in(client: Client, tried: str) -> None:
    """Default credentials (the admin of MLflow's basic auth): a user without a chosen password cannot sign in."""
    for name, stored_password in (("admin", ""), ("invited", "!unusable")):
        User.objects.create(username=name, password=stored_password, is_superuser=True)
        assert client.post("/login/", {"username": name, "password": tried}).status_code == 200
    assert "_auth_user_id" not in client.session


@each_case(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"]
)
def test_cross_site_form_changes_nothing(ada: User, kind: str) -> None:
    """Cross-site requests that ride on a session, which is how a page reaches a tracker on its reader's machine."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ada)
    options = {"content_type": kind, "headers": {"origin": f"https://{EVIL}", "referer": f"https://{EVIL}/"}}
    assert browser.post("/api/v1/experiments", '{"name": "x"}', **options).status_code == 403
    assert browser.post("/experiments/", "name=x", **options).status_code == 403
    assert not Experiment.objects.exists()


def test_cross_site_reading_is_refused(ada_client: Client) -> None:
    """DNS rebinding and open CORS, by which a page reads the tracker on a user's own machine."""
    assert ada_client.get("/api/v1/runs", headers={"host": EVIL}).status_code == 400
    assert ada_client.get("/api/v1/runs", headers={"host": "127.0.0.1.evil.example:8000"}).status_code == 400
    for method in ("get", "options"):
        headers = {"origin": f"https://{EVIL}", "access-control-request-method": "POST"}
        response = getattr(ada_client, method)("/api/v1/runs", headers=headers)
        assert not [name for name in response.headers if name.lower().startswith("access-control-")]
        assert response["X-Frame-Options"] == "DENY"


def test_sign_in_redirects_within_site(ada: User, client: Client) -> None:
    """Open redirects, by which a link to the tracker ends on a page that looks like it."""
    client.force_login(ada)
    for address in (f"//{EVIL}/", f"https://{EVIL}/", f"/\\{EVIL}/", "javascript:alert(1)"):
        assert EVIL not in client.get("/login/", {"next": address})["Location"]


def test_signed_texts_are_not_interchangeable(ada: User, experiment: Experiment, client: Client) -> None:
    """Tokens that are accepted as tokens of another kind, or unsigned (alg: none)."""
    shared = link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day")
    signing_in = link_for(ada).split("/")[2]
    client.get(f"/sign-in/{shared}/")
    assert "_auth_user_id" not in client.session
    assert client.get(f"/shared/{signing_in}/").status_code == 404
    unsigned = "eyJhbGciOiJub25lIn0.eyJ1c2VyIjoiYWRhIn0."
    for text in (shared, signing_in, unsigned, f"esw_{ada.pk}"):
        assert client.get("/api/v1/me", headers={"authorization": f"Bearer {text}"}).status_code == 401


def test_token_is_in_no_page_log_or_row(
    ada: User,
    ada_client: Client,
    client: Client,
    experiment: Experiment,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Secrets in shared data: trackio 0.25.1 wrote a token into public snapshots."""
    caplog.set_level(logging.DEBUG)
    token, text = access.issue(ada, "admin", name="cluster")
    run = full_runs.make_run(experiment)
    headers = {"authorization": f"Bearer {text}"}
    for address in ("me", "tokens", "runs", f"runs/{run.uid}", "nothing", "experiments?limit=0"):
        assert text not in client.get(f"/api/v1/{address}", headers=headers).content.decode()
    shared = f"/shared/{link_text(ada, Scope.RUN, [run.uid], 'day')}/"
    for address in ("/settings/tokens/", run.get_absolute_url(), shared):
        page = ada_client.get(address).content.decode()
        assert text not in page and token.digest not in page
    assert "csrfmiddlewaretoken" not in client.get(shared).content.decode()
    assert text not in caplog.text
    assert text not in str(list(ApiToken.objects.values()))
