"""Requests of the site to scorers and judges: only where an admin allowed, and no message repeats a token.

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

from judging.judges import CannotKeep, Draft, keep_key, make
from judging.model_judge import Denied, NotAllowed, Pair, Rejected, Rubric, Sampling, Server, Unwell, hosts, request
from judging.model_judge.client import Client
from judging.model_judge.hosts import addresses as judge_addresses
from judging.models import Call, JudgeKey
from runs import access
from runs.models import Experiment, Run, Scoring
from runs.responses import scoring
from runs.responses.scoring import tasks
from runs.responses.scoring.scorers import why_not
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.fakes.judge_server import Act, JudgeServer
from tests.judging.judge_factory import judge_at, on, worked
from tests.judging.tournament_factory import held, rubric
from tests.runs.viewer_responses import model, said
from tests.workers.scorer.scripted_scorer import Asked, Said, lengths, talking
from workers.scorer.client import ScorerClient, ScorerFailed

pytestmark = pytest.mark.django_db
TOKEN = "tok-3f9a1c77e2d04b58"
NAME = "inside.example"
INSIDE = ["127.0.0.1", "127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1", "::"]
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
LookUps = dict[str, list[str]]


@pytest.fixture
def look_ups(monkeypatch: pytest.MonkeyPatch) -> LookUps:
    """Answers of DNS by name, in turn; the last one again and again. Other names are looked up as ever."""
    answers: LookUps = {}
    real = socket.getaddrinfo

    def look_up(name: str, port: int, *options: Any, **more: Any) -> Any:
        if name not in answers:
            return real(name, port, *options, **more)
        left = answers[name]
        address = left.pop(0) if len(left) > 1 else left[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(judge_addresses, "__defaults__", (look_up,))
    return answers


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    return model(experiment, "es", [said(n, f"answer {n}", 0.5, 1.0) for n in range(2)])


def scored(run: Run, url: str, token: str = "") -> Scoring:
    """Return a scoring by the scorer at a URL, which its member registered or saved a secret for, after one job."""
    if token:
        access.save_secret(run.created_by, "beaver", token, address=url)
    else:
        commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", url))
    scoring_of_run = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by, total=2)
    tasks.score_answers()
    scoring_of_run.refresh_from_db()
    return scoring_of_run


# Scorers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_scorer_is_not_called_when_its_host_is_spelled_otherwise(run: Run, spelling: str) -> None:
    with talking(lengths) as server:
        after = scored(run, spelling.format(port=urlsplit(server.url).port))
    assert after.state == "failed" and "is none of the hosts that scorers are called at" in after.reason
    assert server.asked == []


@pytest.mark.parametrize("address", UNUSABLE)
def test_scorer_is_not_registered_when_its_address_holds_a_user(ada: User, address: str) -> None:
    with pytest.raises(commands.Unusable, match="address"):
        commands.register(ada, Registration("scorer", "beaver", "0123456789", address.format(port=9)))


@pytest.mark.parametrize("spelling", SAME)
def test_scorer_is_called_when_upper_case_or_a_dot_says_the_same_host(run: Run, spelling: str) -> None:
    with talking(lengths) as server:
        assert scored(run, spelling.format(port=urlsplit(server.url).port)).state == "done"


def test_scorer_gets_no_request_when_its_name_changes_between_check_and_call(
    run: Run, settings: Settings, look_ups: LookUps
) -> None:
    """DNS rebinding: the first answer is an allowed address, all later ones are another server's."""
    settings.SCORER_HOSTS = [f"{NAME}=127.0.0.1/32"]
    with talking(lengths) as server:
        port = urlsplit(server.url).port
        with socket.create_server(("127.0.0.2", port)) as other:  # type: ignore[arg-type]
            other.settimeout(0.2)
            look_ups[NAME] = ["127.0.0.1", "127.0.0.2"]
            assert scored(run, f"http://{NAME}:{port}").state == "done"
            assert server.asked[0].headers["Host"] == f"{NAME}:{port}"
            Scoring.objects.all().delete()
            more = model(run.experiment, "grpo", [said(1, "more", 0.5, 1.0)])
            after = scored(more, f"http://{NAME}:{port}")
            assert after.state == "failed" and f"{NAME} has the address 127.0.0.2" in after.reason
            assert f"{NAME}=NETWORK" in after.reason
            with pytest.raises(TimeoutError):
                other.accept()
    assert len(server.asked) == 1


@pytest.mark.parametrize("address", [one for one in INSIDE if one != "10.0.0.1"])
def test_scorer_is_not_called_when_its_name_leads_to_this_machine_or_its_link(
    run: Run, settings: Settings, look_ups: LookUps, address: str
) -> None:
    settings.SCORER_HOSTS = [NAME]
    look_ups[NAME] = [address]
    after = scored(run, f"http://{NAME}:9")
    assert after.state == "failed" and f"{NAME} has the address {address}" in after.reason


def test_scorer_is_called_at_the_allowed_port_alone(run: Run, settings: Settings) -> None:
    with talking(lengths) as server, talking(lengths) as other:
        settings.SCORER_HOSTS = [urlsplit(other.url).netloc]
        assert scored(run, server.url).state == "failed"
        Scoring.objects.all().delete()
        assert scored(run, other.url).state == "done"
    assert server.asked == []


def test_scorers_call_goes_through_no_proxy_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy looks the name up for itself, so the check of its address would say nothing."""
    with talking(lengths) as server, talking(lengths) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert scored(run, server.url).state == "done"
    assert proxy.asked == [] and len(server.asked) == 1


def redirect(status: int, url: str) -> Said:
    """Return an answer that sends the request to another scorer."""
    return Said("", status, {"Location": f"{url}/score_batch"})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_scorers_redirect_is_not_followed(run: Run, status: int) -> None:
    with talking(lengths) as elsewhere, talking(redirect(status, elsewhere.url)) as server:
        assert scored(run, server.url, TOKEN).state == "failed"
    assert elsewhere.asked == [] and len(server.asked) == 1


def echo(status: int, wrap: Callable[[dict[str, str]], str]) -> Callable[[Asked], Said]:
    """A scorer that says back which headers it was sent."""
    return lambda asked: Said(wrap(asked.headers), status)


ECHOES: dict[str, Callable[[dict[str, str]], str]] = {
    "json": lambda headers: json.dumps({"detail": headers}),
    "repr": lambda headers: f"{headers!r}",
    "cut": lambda headers: "x" * (1000 - len(TOKEN) // 2) + headers["Authorization"].removeprefix("Bearer "),
    "scores": lambda headers: json.dumps({"rewards": [headers["Authorization"]] * 2, "costs": [1, 2]}),
    "padded": lambda headers: json.dumps({"rewards": ["x" * 35 + headers["Authorization"]] * 2, "costs": [1, 2]}),
}


@pytest.mark.parametrize("status", [200, 401, 422, 500, 503])
@pytest.mark.parametrize("how", ECHOES)
def test_scorers_error_does_not_repeat_the_token_that_it_echoes(
    run: Run, ada_client: Browser, status: int, how: str
) -> None:
    with talking(echo(status, ECHOES[how])) as server:
        after = scored(run, server.url, TOKEN)
    assert server.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert after.reason and TOKEN[:6] not in after.reason
    assert TOKEN[:6] not in ada_client.get(f"/runs/{run.uid}/scores/").content.decode()


@pytest.mark.parametrize("wrong", ["tok-3f9a\nX-Admin: 1", "tok-3f9a\r\nHost: evil", "tok-3f9a\x00", "tok-3f9aé"])
def test_token_that_is_no_line_of_ascii_is_refused_and_not_repeated(tmp_path: Path, wrong: str) -> None:
    """http.client would refuse it with a message that quotes the header."""
    file = tmp_path / "token"
    file.write_bytes(wrong.encode())
    with (
        talking(lengths) as server,
        pytest.raises(ScorerFailed, match="holds no token") as failed,
    ):
        ScorerClient(server.url, token_file=file, tries=1).score(["a"], ["b"])
    assert "3f9a" not in str(failed.value) and server.asked == []


def test_refusal_of_a_scorer_names_the_allowed_hosts(ada: User, run: Run, settings: Settings) -> None:
    settings.SCORER_HOSTS = ["gpu7.lab=10.0.0.0/8", "nonsense/with/path"]
    service, _ = commands.register(ada, Registration("scorer", "b", "0123456789", "http://nonsense:1"))
    assert "gpu7.lab=10.0.0.0/8" in why_not(service)
    assert scoring.choices(ada, run) == []


# Judges -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", SPELLINGS + UNUSABLE)
def test_judge_is_not_saved_when_its_host_is_spelled_otherwise(ada: User, spelling: str) -> None:
    with pytest.raises(CannotKeep, match="ESWEB_JUDGE_HOSTS"):
        make(ada, Draft("j", spelling.format(port=9), "m"))


@pytest.mark.parametrize("spelling", SPELLINGS + UNUSABLE)
def test_judge_is_not_called_when_its_row_names_another_host(spelling: str) -> None:
    with JudgeServer() as server:
        url = f"{spelling.format(port=server.port)}/v1"
        with pytest.raises(NotAllowed), Client(Server(url, TOKEN, hosts(["localhost", "127.0.0.1"]))) as client:
            client.ask(QUESTION)
    assert server.asked == []


def test_judge_gets_no_request_when_its_name_changes_between_check_and_call(look_ups: LookUps) -> None:
    with JudgeServer() as server, socket.create_server(("127.0.0.2", server.port)) as other:
        other.settimeout(0.2)
        look_ups[NAME] = ["127.0.0.1", "127.0.0.2"]
        allowed = hosts([f"{NAME}=127.0.0.1/32"])
        with Client(Server(f"http://{NAME}:{server.port}/v1", TOKEN, allowed)) as client:
            client.ask(QUESTION)
            server.act = lambda asked: Act(status=0)
            with pytest.raises(NotAllowed, match=r"127\.0\.0\.2"):
                client.ask(QUESTION)
        with pytest.raises(TimeoutError):
            other.accept()
    assert len(server.asked) == 1


@pytest.mark.parametrize("address", INSIDE)
def test_judge_is_not_called_when_its_public_name_leads_inside(look_ups: LookUps, address: str) -> None:
    look_ups[NAME] = [address]
    with Client(Server(f"http://{NAME}:9/v1", TOKEN, hosts([NAME]))) as client, pytest.raises(NotAllowed):
        client.ask(QUESTION)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_judges_redirect_is_not_followed(status: int) -> None:
    with JudgeServer() as elsewhere, JudgeServer() as server:
        server.act = lambda asked: Act(status=status, headers={"location": f"{elsewhere.url}/chat/completions"})
        with Client(Server(server.url, TOKEN, hosts(["127.0.0.1"]))) as client, pytest.raises((Rejected, Unwell)):
            client.ask(QUESTION)
    assert elsewhere.asked == [] and len(server.asked) == 1


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_judges_answer_does_not_repeat_the_key_that_it_echoes(
    ada: User, ada_client: Browser, experiment: Experiment, judge_server: JudgeServer, status: int
) -> None:
    def echo_headers(asked: Any) -> Act:
        key = asked.headers["authorization"]
        error = json.dumps({"error": {"message": key, "headers": asked.headers}}).encode()
        return Act(key, status, finish_reason=key, refusal=key, body=None if status == 200 else error)

    judge_server.act = echo_headers
    tournament = held(ada, experiment, prompts=1, contestants=2)
    judge = judge_at(judge_server, ada, key=keep_key(ada, "secret", TOKEN))
    done = worked(on(judge, tournament, [rubric("helpfulness")]))
    assert judge_server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    rows = str(list(Call.objects.values())) + str(type(done).objects.filter(pk=done.pk).values())
    assert TOKEN not in rows
    for page in (f"/judging/judges/{judge.pk}/", f"/judging/{tournament.pk}/judges/", f"/judging/{tournament.pk}/"):
        answer = ada_client.get(page)
        assert answer.status_code == 200 and TOKEN not in answer.content.decode()
    tried = ada_client.post(f"/judging/judges/{judge.pk}/change/", {"do": "test"}, follow=True)
    assert TOKEN not in tried.content.decode()


@pytest.mark.parametrize("wrong", ["sk-3f9a\nX-Admin: 1", "sk-3f9a\r\nHost: evil", "sk-3f9aé"])
def test_key_that_is_no_line_of_ascii_is_refused_by_the_form(ada: User, ada_client: Browser, wrong: str) -> None:
    fields = {
        "name": "j", "base_url": "http://127.0.0.1:9/v1", "model": "m", "secret": wrong, "sampling": "{}",
        "max_tokens": 512, "limited_by": "max_tokens", "answer_seconds": 5, "price_in": 0, "price_out": 0,
        "requests_per_minute": 0, "tokens_per_minute": 0, "at_once": 1,
    }  # fmt: skip
    answer = ada_client.post("/judging/judges/new/", fields)
    assert answer.status_code == 400 and "printable ASCII" in answer.content.decode()
    assert "3f9a" not in answer.content.decode() and not JudgeKey.objects.exists()


@pytest.mark.parametrize("wrong", ["sk-3f9a\nX-Admin: 1", "sk-3f9aé", "sk-3f9a\x07"])
def test_key_that_cannot_be_sent_is_not_repeated(judge_server: JudgeServer, wrong: str) -> None:
    """A key of an earlier version of the site, which took any."""
    with pytest.raises(Denied) as denied, Client(Server(judge_server.url, wrong, hosts(["127.0.0.1"]))) as client:
        client.ask(QUESTION)
    assert "3f9a" not in str(denied.value) and "printable ASCII" in str(denied.value)
    assert judge_server.asked == []
