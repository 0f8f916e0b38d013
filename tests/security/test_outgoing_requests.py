"""Requests of the site to scorers and judges: only to hosts that an admin allowed, and no message repeats a token.

The class is server-side request forgery. Servers are real; the resolver is the only fake, at the program's boundary.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client as Browser
from pytest_django.fixtures import Settings

from judging.judges import CannotSaveJudge, create_judge, save_key
from judging.model_judge import (
    AccessDenied,
    HostNotAllowed,
    Pair,
    RequestRejected,
    Rubric,
    Sampling,
    Server,
    ServerUnavailable,
    parse_hosts,
    request,
)
from judging.model_judge.client import Client
from judging.models import Call, Judge, JudgeKey
from runs import access
from runs.models import Experiment, Run, Scoring
from runs.responses import scoring
from runs.responses.scoring import tasks
from runs.responses.scoring.scorers import refusal_reason
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.cases import each_case
from tests.fakes.dns import Dns, fake_dns
from tests.fakes.judge_server import JudgeServer, Reply
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs.stored_services import store_service
from tests.runs.viewer_responses import make_response, model
from tests.security.launch_attacks import INSIDE
from tests.workers.scorer.scripted_scorer import ScorerRequest, ScriptedReply, lengths, scripted_scorer
from workers.scorer.client import ScorerClient, ScorerFailed

pytestmark = pytest.mark.django_db
TOKEN = "tok-3f9a1c77e2d04b58"
NAME = "inside.example"
QUESTION = request("gpt", Rubric("x", "y"), Pair("p", "one", "other"), Sampling())
# All are ways to write 127.0.0.1 or localhost; an admin allowed none of these spellings.
SPELLINGS = [
    "http://2130706433:{port}", "http://0x7f000001:{port}", "http://0x7f.1:{port}", "http://0177.0.0.1:{port}",
    "http://127.1:{port}", "http://[::ffff:127.0.0.1]:{port}", "http://[::ffff:7f00:1]:{port}",
    "http://127.0.0.1.evil.example:{port}", "http://127.0.0.1%2eevil.example:{port}", "http://0.0.0.0:{port}",
    "http://127.0.0.2:{port}", "http://[::127.0.0.1]:{port}", "http://localhost.localdomain:{port}",
]  # fmt: skip
UNUSABLE = ["http://127.0.0.1@evil.example:{port}", "http://a:b@127.0.0.1:{port}", "http://127.0.0.1\\@evil:{port}"]
SAME = ["http://127.0.0.1:{port}", "http://LOCALHOST:{port}", "http://localhost.:{port}", "HTTP://LocalHost:{port}"]


@pytest.fixture
def dns_answers(monkeypatch: pytest.MonkeyPatch) -> Dns:
    """Return replies of DNS by name, in turn, the last one repeatedly."""
    return fake_dns(monkeypatch, {})


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    return model(experiment, "es", [make_response(n, f"answer {n}", 0.5, 1.0) for n in range(2)])


def score_run(run: Run, url: str, token: str = "") -> Scoring:
    """Return a scoring by the scorer at a URL, which its member saved a secret for, or registered when hosts were not
    checked, after one job."""
    if token:
        access.save_secret(run.created_by, "beaver", token, address=url)
    else:
        store_service(run.created_by, url)
    run_scoring = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by, total=2)
    tasks.score_answers()
    run_scoring.refresh_from_db()
    return run_scoring


# Scorers ------------------------------------------------------------------------------------------------------------


@each_case("spelling", SPELLINGS)
def test_scorer_with_disguised_host_is_not_called(run: Run, spelling: str) -> None:
    with scripted_scorer(lengths) as server:
        scored = score_run(run, spelling.format(port=urlsplit(server.url).port))
    assert scored.state == "failed" and "is not an allowed scorer host" in scored.reason
    assert server.requests == []


@each_case("address", UNUSABLE)
def test_scorer_address_with_user_is_refused(ada: User, address: str) -> None:
    with pytest.raises(commands.InvalidRegistration, match="address"):
        commands.register(ada, Registration("scorer", "beaver", "0123456789", address.format(port=9)))


@each_case("spelling", SAME)
def test_scorer_host_spelling_is_normalised(run: Run, spelling: str) -> None:
    with scripted_scorer(lengths) as server:
        assert score_run(run, spelling.format(port=urlsplit(server.url).port)).state == "done"


def test_scorer_is_not_called_after_dns_change(run: Run, settings: Settings, dns_answers: Dns) -> None:
    """DNS rebinding: the first reply is an allowed address, all later ones are another server's."""
    settings.SCORER_HOSTS = [f"{NAME}=127.0.0.1/32"]
    with scripted_scorer(lengths) as server:
        port = urlsplit(server.url).port
        with socket.create_server(("127.0.0.2", port)) as other:  # type: ignore[arg-type]
            other.settimeout(0.2)
            dns_answers[NAME] = ["127.0.0.1", "127.0.0.2"]
            assert score_run(run, f"http://{NAME}:{port}").state == "done"
            assert server.requests[0].headers["Host"] == f"{NAME}:{port}"
            Scoring.objects.all().delete()
            other_run = model(run.experiment, "grpo", [make_response(1, "more", 0.5, 1.0)])
            scored = score_run(other_run, f"http://{NAME}:{port}")
            assert scored.state == "failed" and f"{NAME} has the address 127.0.0.2" in scored.reason
            assert f"{NAME}=NETWORK" in scored.reason
            with pytest.raises(TimeoutError):
                other.accept()
    assert len(server.requests) == 1


@each_case("address", INSIDE)
def test_scorer_name_for_local_address_is_not_called(
    run: Run, settings: Settings, dns_answers: Dns, address: str
) -> None:
    settings.SCORER_HOSTS = [NAME]
    dns_answers[NAME] = [address]
    scored = score_run(run, f"http://{NAME}:9")
    assert scored.state == "failed" and f"{NAME} has the address {address}" in scored.reason


def test_scorer_is_called_at_allowed_port_only(run: Run, settings: Settings) -> None:
    with scripted_scorer(lengths) as server, scripted_scorer(lengths) as other:
        settings.SCORER_HOSTS = [urlsplit(other.url).netloc]
        assert score_run(run, server.url).state == "failed"
        Scoring.objects.all().delete()
        assert score_run(run, other.url).state == "done"
    assert server.requests == []


def test_scorer_call_ignores_proxy_variables(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy resolves the name itself, so the check of the address would prove nothing."""
    with scripted_scorer(lengths) as server, scripted_scorer(lengths) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert score_run(run, server.url).state == "done"
    assert proxy.requests == [] and len(server.requests) == 1


def redirect(status: int, url: str) -> ScriptedReply:
    """Return a reply that redirects the request to another scorer."""
    return ScriptedReply("", status, {"Location": f"{url}/score_batch"})


@each_case("status", [301, 302, 303, 307, 308])
def test_scorer_redirect_is_not_followed(run: Run, status: int) -> None:
    with scripted_scorer(lengths) as elsewhere, scripted_scorer(redirect(status, elsewhere.url)) as server:
        assert score_run(run, server.url, TOKEN).state == "failed"
    assert elsewhere.requests == [] and len(server.requests) == 1


def echo(status: int, wrap: Callable[[dict[str, str]], str]) -> Callable[[ScorerRequest], ScriptedReply]:
    """Return a scorer that repeats the headers of the request in its reply."""
    return lambda request_received: ScriptedReply(wrap(request_received.headers), status)


ECHOES: dict[str, Callable[[dict[str, str]], str]] = {
    "json": lambda headers: json.dumps({"detail": headers}),
    "repr": lambda headers: f"{headers!r}",
    "cut": lambda headers: "x" * (1000 - len(TOKEN) // 2) + headers["Authorization"].removeprefix("Bearer "),
    "scores": lambda headers: json.dumps({"rewards": [headers["Authorization"]] * 2, "costs": [1, 2]}),
    "padded": lambda headers: json.dumps({"rewards": ["x" * 35 + headers["Authorization"]] * 2, "costs": [1, 2]}),
}


@each_case("status", [200, 401, 422, 500, 503])
@each_case("echo_style", ECHOES)
def test_scorer_error_does_not_contain_echoed_token(
    run: Run, ada_client: Browser, status: int, echo_style: str
) -> None:
    with scripted_scorer(echo(status, ECHOES[echo_style])) as server:
        scored = score_run(run, server.url, TOKEN)
    assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert scored.reason and TOKEN[:6] not in scored.reason
    assert TOKEN[:6] not in ada_client.get(f"/runs/{run.uid}/scores/").content.decode()


@each_case("wrong", ["tok-3f9a\nX-Admin: 1", "tok-3f9a\r\nHost: evil", "tok-3f9a\x00", "tok-3f9aé"])
def test_invalid_token_is_refused_without_repeating_it(tmp_path: Path, wrong: str) -> None:
    """http.client would refuse it with a message that quotes the header."""
    file = tmp_path / "token"
    file.write_bytes(wrong.encode())
    with (
        scripted_scorer(lengths) as server,
        pytest.raises(ScorerFailed, match="contains no token") as failed,
    ):
        ScorerClient(server.url, token_file=file, tries=1).score(["a"], ["b"])
    assert "3f9a" not in str(failed.value) and server.requests == []


def test_scorer_refusal_names_allowed_hosts(ada: User, run: Run, settings: Settings) -> None:
    settings.SCORER_HOSTS = ["gpu7.lab=10.0.0.0/8", "nonsense/with/path"]
    service = store_service(ada, "http://nonsense:1")
    assert "gpu7.lab=10.0.0.0/8" in refusal_reason(service)
    assert scoring.choices(ada, run) == []


# Judges -------------------------------------------------------------------------------------------------------------


@each_case("spelling", SPELLINGS + UNUSABLE)
def test_judge_with_disguised_host_is_not_saved(ada: User, spelling: str) -> None:
    with pytest.raises(CannotSaveJudge, match="ESWEB_JUDGE_HOSTS"):
        create_judge(ada, Judge(name="j", base_url=spelling.format(port=9), model="m"))


@each_case("spelling", SPELLINGS + UNUSABLE)
def test_stored_judge_with_disguised_host_is_not_called(spelling: str) -> None:
    with JudgeServer() as server:
        url = f"{spelling.format(port=server.port)}/v1"
        with (
            pytest.raises(HostNotAllowed),
            Client(Server(url, TOKEN, parse_hosts(["localhost", "127.0.0.1"]))) as client,
        ):
            client.ask(QUESTION)
    assert server.requests == []


def test_judge_is_not_called_after_dns_change(dns_answers: Dns) -> None:
    with JudgeServer() as server, socket.create_server(("127.0.0.2", server.port)) as other:
        other.settimeout(0.2)
        dns_answers[NAME] = ["127.0.0.1", "127.0.0.2"]
        allowed = parse_hosts([f"{NAME}=127.0.0.1/32"])
        with Client(Server(f"http://{NAME}:{server.port}/v1", TOKEN, allowed)) as client:
            client.ask(QUESTION)
            server.reply_to = lambda judge_request: Reply(status=0)
            with pytest.raises(HostNotAllowed, match=r"127\.0\.0\.2"):
                client.ask(QUESTION)
        with pytest.raises(TimeoutError):
            other.accept()
    assert len(server.requests) == 1


@each_case("address", [*INSIDE[::4], "10.0.0.1", "fd00::1", "64:ff9b::a00:1", "2002:a00:1::"])
def test_judge_name_for_inside_address_is_not_called(dns_answers: Dns, address: str) -> None:
    dns_answers[NAME] = [address]
    with Client(Server(f"http://{NAME}:9/v1", TOKEN, parse_hosts([NAME]))) as client, pytest.raises(HostNotAllowed):
        client.ask(QUESTION)


@each_case("status", [301, 302, 303, 307, 308])
def test_judge_redirect_is_not_followed(status: int) -> None:
    with JudgeServer() as elsewhere, JudgeServer() as server:
        server.reply_to = lambda judge_request: Reply(
            status=status, headers={"location": f"{elsewhere.url}/chat/completions"}
        )
        with (
            Client(Server(server.url, TOKEN, parse_hosts(["127.0.0.1"]))) as client,
            pytest.raises((RequestRejected, ServerUnavailable)),
        ):
            client.ask(QUESTION)
    assert elsewhere.requests == [] and len(server.requests) == 1


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


@each_case("status", [200, 400, 401, 500])
def test_judge_response_with_echoed_key_is_not_stored(
    ada: User, ada_client: Browser, experiment: Experiment, judge_server: JudgeServer, status: int
) -> None:
    def echo_headers(judge_request: Any) -> Reply:
        echoed_key = judge_request.headers["authorization"]
        error = json.dumps({"error": {"message": echoed_key, "headers": judge_request.headers}}).encode()
        return Reply(
            echoed_key, status, finish_reason=echoed_key, refusal=echoed_key, body=None if status == 200 else error
        )

    judge_server.reply_to = echo_headers
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    judge = make_judge(judge_server, ada, key=save_key(ada, "secret", TOKEN))
    assignment = work_until_done(assign(judge, tournament, [rubric("helpfulness")]))
    assert judge_server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    rows = str(list(Call.objects.values())) + str(type(assignment).objects.filter(pk=assignment.pk).values())
    assert TOKEN not in rows
    for page in (f"/judging/judges/{judge.pk}/", f"/judging/{tournament.pk}/judges/", f"/judging/{tournament.pk}/"):
        response = ada_client.get(page)
        assert response.status_code == 200 and TOKEN not in response.content.decode()
    response = ada_client.post(f"/judging/judges/{judge.pk}/change/", {"do": "test"}, follow=True)
    assert TOKEN not in response.content.decode()


@each_case("wrong", ["sk-3f9a\nX-Admin: 1", "sk-3f9a\r\nHost: evil", "sk-3f9aé"])
def test_invalid_judge_key_is_refused_by_form(ada: User, ada_client: Browser, wrong: str) -> None:
    fields = {
        "name": "j", "base_url": "http://127.0.0.1:9/v1", "model": "m", "secret": wrong, "sampling": "{}",
        "max_tokens": 512, "limited_by": "max_tokens", "answer_seconds": 5, "price_in": 0, "price_out": 0,
        "requests_per_minute": 0, "tokens_per_minute": 0, "at_once": 1,
    }  # fmt: skip
    response = ada_client.post("/judging/judges/new/", fields)
    assert response.status_code == 400 and "printable ASCII" in response.content.decode()
    assert "3f9a" not in response.content.decode() and not JudgeKey.objects.exists()


@each_case("wrong", ["sk-3f9a\nX-Admin: 1", "sk-3f9aé", "sk-3f9a\x07"])
def test_unsendable_judge_key_is_not_repeated(judge_server: JudgeServer, wrong: str) -> None:
    """A key of an earlier version of the site, which took any."""
    with (
        pytest.raises(AccessDenied) as denied,
        Client(Server(judge_server.url, wrong, parse_hosts(["127.0.0.1"]))) as client,
    ):
        client.ask(QUESTION)
    assert "3f9a" not in str(denied.value) and "printable ASCII" in str(denied.value)
    assert judge_server.requests == []
