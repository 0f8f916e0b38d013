"""Asking a real server that misbehaves: every end is told apart, nothing waits for ever, no message tells the key."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from judging.model_judge import (
    Busy,
    Denied,
    Ended,
    Pair,
    Rejected,
    Rubric,
    Sampling,
    Server,
    State,
    Unwell,
    ended,
    hosts,
    request,
)
from judging.model_judge.client import Client
from judging.stats.votes import Outcome
from tests.fakes.judge_server import KEY, Act, JudgeServer, verdict
from tests.waiting import PATIENCE_SECONDS

RUBRIC = Rubric("helpfulness", "Which helps more.")
ASKED = request("gpt", RUBRIC, Pair("What is red?", "A colour.", "Red."), Sampling())
HERE = hosts(["127.0.0.1"])


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: JudgeServer) -> Iterator[Client]:
    with Client(Server(server.url, KEY, HERE, seconds=PATIENCE_SECONDS)) as made:
        yield made


def answered(server: JudgeServer, client: Client, act: Act) -> Ended:
    server.act = lambda _: act
    return ended(client.ask(ASKED), RUBRIC)


def test_the_server_is_sent_exactly_what_the_key_is_of(server: JudgeServer, client: Client) -> None:
    assert answered(server, client, Act(verdict(8, 3))).outcome is Outcome.A
    newest = server.asked[-1]
    assert newest.body == ASKED.body and newest.headers["authorization"] == f"Bearer {KEY}"
    assert newest.answers == ("A colour.", "Red.")


@pytest.mark.parametrize(
    ("act", "state", "outcome", "why"),
    [
        (Act("", refusal="I will not read that."), State.REFUSED, Outcome.REFUSED, "I will not read that."),
        (Act(None, finish_reason="content_filter"), State.REFUSED, Outcome.REFUSED, "filter"),
        (Act("I'm sorry, but I can't help with that."), State.REFUSED, Outcome.REFUSED, "declined"),
        (Act("I cannot judge these."), State.REFUSED, Outcome.REFUSED, "declined"),
        (Act(verdict(8, 3), finish_reason="length"), State.FAILED, Outcome.ERROR, "longer than it may be"),
        (Act(""), State.FAILED, Outcome.ERROR, "empty"),
        (Act(None), State.FAILED, Outcome.ERROR, "empty"),
        (Act("[[8,8]] … [[3,9]]"), State.UNPARSED, Outcome.UNPARSED, "2 different verdicts"),
        (Act('{"score_a": 8'), State.UNPARSED, Outcome.UNPARSED, "neither"),
        (Act("I'm sorry to say so: [[8, 3]]"), State.DONE, Outcome.A, ""),
    ],
)
def test_an_answer_that_is_no_verdict_ends_in_a_way_of_its_own(
    server: JudgeServer, client: Client, act: Act, state: State, outcome: Outcome, why: str
) -> None:
    end = answered(server, client, act)
    assert (end.state, end.outcome) == (state, outcome) and why in end.why


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (Act(status=401), Denied, "401"),
        (Act(status=403), Denied, "403"),
        (Act(status=400), Rejected, "400"),
        (Act(status=404), Rejected, "404"),
        (Act(status=302, headers={"location": "http://127.0.0.1:1/v1"}), Rejected, "302"),
        (Act(status=500), Unwell, "500"),
        (Act(status=503), Unwell, "503"),
        (Act(status=0), Unwell, "disconnected"),
        (Act(body=b"<html>"), Unwell, ""),
        (Act(body=b'{"choices": []}'), Unwell, "no chat completion"),
        (Act(body=b"[]"), Unwell, "no chat completion"),
        (Act(body=b" " * (2 << 20)), Unwell, "larger than 1 MiB"),
        (Act(status=418, body=b'{"error": {"message": "key %s"}}' % KEY.encode()), Rejected, "key •••"),
    ],
)
def test_errors_are_told_apart_and_asked_once(
    server: JudgeServer, client: Client, act: Act, error: type[Exception], words: str
) -> None:
    server.act, before = lambda _: act, len(server.asked)
    with pytest.raises(error) as raised:
        client.ask(ASKED)
    assert words in str(raised.value) and KEY not in repr(raised.value)
    assert len(server.asked) == before + 1


def test_an_answer_that_does_not_come_in_time_is_given_up(server: JudgeServer) -> None:
    server.act = lambda _: Act(seconds=PATIENCE_SECONDS)
    with Client(Server(server.url, KEY, HERE, seconds=0.5)) as hasty, pytest.raises(Unwell, match="timed out"):
        hasty.ask(ASKED)


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7.0), ("0.5", 0.5), ("1e9", 3600.0), ("nan", None), ("-1", None), ("soon", None)]
)
def test_a_busy_server_says_how_long_to_wait(
    server: JudgeServer, client: Client, said: str, seconds: float | None
) -> None:
    server.act = lambda _: Act(status=429, headers={"retry-after": said})
    with pytest.raises(Busy) as raised:
        client.ask(ASKED)
    assert raised.value.seconds == seconds


def test_an_answer_that_drips_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    is_late, is_over = threading.Event(), threading.Event()
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + 2 * PATIENCE_SECONDS * is_late.is_set())
    monkeypatch.setattr("judging.model_judge.transport.time", clock)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection = listening.accept()[0]
            with connection:
                connection.recv(1)
                is_late.set()
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n ")
                is_over.wait(PATIENCE_SECONDS)

        threading.Thread(target=drip, daemon=True).start()
        slow = Server(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", KEY, HERE, seconds=PATIENCE_SECONDS)
        with Client(slow) as client, pytest.raises(Unwell, match="did not end in time"):
            client.ask(ASKED)
        is_over.set()


def test_nobody_there_costs_nothing_and_a_lost_answer_may() -> None:
    with JudgeServer(lambda _: Act(status=0)) as server, Client(Server(server.url, KEY, HERE)) as client:
        with pytest.raises(Unwell) as lost:
            client.ask(ASKED)
        server.die()
        with pytest.raises(Unwell) as away:
            client.ask(ASKED)
    assert lost.value.may_cost and not away.value.may_cost


def test_a_server_is_shown_without_its_key() -> None:
    assert KEY not in repr(Server("http://127.0.0.1/v1", KEY, HERE))
