"""Calls to a real server that misbehaves: every failure is classified, times out, and never exposes the key."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from judging.model_judge import (
    AccessDenied,
    CallResult,
    Pair,
    RequestRejected,
    Rubric,
    Sampling,
    Server,
    ServerBusy,
    ServerUnavailable,
    State,
    interpret_reply,
    parse_hosts,
    request,
)
from judging.model_judge.client import Client
from judging.stats.votes import Outcome
from tests.cases import each_case
from tests.fakes.judge_server import KEY, JudgeServer, Reply, verdict
from tests.waiting import PATIENCE_SECONDS

RUBRIC = Rubric("helpfulness", "Which helps more.")
REQUEST = request("gpt", RUBRIC, Pair("What is red?", "A colour.", "Red."), Sampling())
HERE = parse_hosts(["127.0.0.1"])


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: JudgeServer) -> Iterator[Client]:
    with Client(Server(server.url, KEY, HERE, seconds=PATIENCE_SECONDS)) as client:
        yield client


def ask(server: JudgeServer, client: Client, act: Reply) -> CallResult:
    server.reply_to = lambda _: act
    return interpret_reply(client.ask(REQUEST), RUBRIC)


def test_server_receives_exact_request(server: JudgeServer, client: Client) -> None:
    assert ask(server, client, Reply(verdict(8, 3))).outcome is Outcome.A
    newest = server.requests[-1]
    assert newest.body == REQUEST.body and newest.headers["authorization"] == f"Bearer {KEY}"
    assert newest.answers == ("A colour.", "Red.")


@each_case(
    ("act", "state", "outcome", "reason"),
    [
        (Reply("", refusal="I will not read that."), State.REFUSED, Outcome.REFUSED, "I will not read that."),
        (Reply(None, finish_reason="content_filter"), State.REFUSED, Outcome.REFUSED, "filter"),
        (Reply("I'm sorry, but I can't help with that."), State.REFUSED, Outcome.REFUSED, "declined"),
        (Reply("I cannot judge these."), State.REFUSED, Outcome.REFUSED, "declined"),
        (Reply(verdict(8, 3), finish_reason="length"), State.FAILED, Outcome.ERROR, "too long"),
        (Reply(""), State.FAILED, Outcome.ERROR, "empty"),
        (Reply(None), State.FAILED, Outcome.ERROR, "empty"),
        (Reply("[[8,8]] … [[3,9]]"), State.UNPARSED, Outcome.UNPARSED, "2 different verdicts"),
        (Reply('{"score_a": 8'), State.UNPARSED, Outcome.UNPARSED, "neither"),
        (Reply("I'm sorry to say so: [[8, 3]]"), State.DONE, Outcome.A, ""),
        (Reply("<think>[[A]]?</think>I cannot judge these."), State.REFUSED, Outcome.REFUSED, "declined"),
        (Reply("<think>I'm sorry.</think>Both are fine."), State.UNPARSED, Outcome.UNPARSED, "neither"),
        (Reply("<think>[[A]]"), State.UNPARSED, Outcome.UNPARSED, "its thinking does not end"),
    ],
)
def test_reply_without_verdict_has_matching_state(
    server: JudgeServer, client: Client, act: Reply, state: State, outcome: Outcome, reason: str
) -> None:
    end = ask(server, client, act)
    assert (end.state, end.outcome) == (state, outcome) and reason in end.reason


@each_case(
    ("content", "state", "outcome"),
    [
        ([{"type": "text", "text": '{"verdict": '}, {"type": "text", "text": '"A"}'}], State.DONE, Outcome.A),
        ([{"type": "thinking", "thinking": "[[B]]"}, {"type": "text", "text": "[[A]]"}], State.DONE, Outcome.A),
        ([{"type": "reasoning", "text": "[[B]]"}], State.FAILED, Outcome.ERROR),
        ([], State.FAILED, Outcome.ERROR),
    ],
)
def test_parts_of_a_reply_are_joined_without_drafts(
    server: JudgeServer, client: Client, content: object, state: State, outcome: Outcome
) -> None:
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
    end = ask(server, client, Reply(body=body))
    assert (end.state, end.outcome) == (state, outcome)


@each_case(
    ("act", "error", "words"),
    [
        (Reply(status=401), AccessDenied, "401"),
        (Reply(status=403), AccessDenied, "403"),
        (Reply(status=400), RequestRejected, "400"),
        (Reply(status=404), RequestRejected, "404"),
        (Reply(status=302, headers={"location": "http://127.0.0.1:1/v1"}), RequestRejected, "302"),
        (Reply(status=500), ServerUnavailable, "500"),
        (Reply(status=503), ServerUnavailable, "503"),
        (Reply(status=0), ServerUnavailable, "disconnected"),
        (Reply(body=b"<html>"), ServerUnavailable, ""),
        (Reply(body=b'{"choices": []}'), ServerUnavailable, "not a chat completion"),
        (Reply(body=b"[]"), ServerUnavailable, "not a chat completion"),
        (Reply(body=b'{"choices": [{"message": {"content": 7}}]}'), ServerUnavailable, "not a chat completion"),
        (Reply(body=b'{"choices": [{"message": {"content": ["A"]}}]}'), ServerUnavailable, "not a chat completion"),
        (Reply(body=b" " * (2 << 20)), ServerUnavailable, "larger than 1 MiB"),
        (
            Reply(status=418, body=b'{"error": {"message": "key %s"}}' % KEY.encode()),
            RequestRejected,
            "418 I'm a Teapot",
        ),
    ],
)
def test_server_error_is_classified_without_retry(
    server: JudgeServer, client: Client, act: Reply, error: type[Exception], words: str
) -> None:
    server.reply_to, before = lambda _: act, len(server.requests)
    with pytest.raises(error) as raised:
        client.ask(REQUEST)
    assert words in str(raised.value) and KEY not in repr(raised.value)
    assert len(server.requests) == before + 1


def test_late_reply_times_out(server: JudgeServer) -> None:
    server.reply_to = lambda _: Reply(seconds=PATIENCE_SECONDS)
    with (
        Client(Server(server.url, KEY, HERE, seconds=0.5)) as hasty,
        pytest.raises(ServerUnavailable, match="timed out"),
    ):
        hasty.ask(REQUEST)


@each_case(
    ("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("1e9", 3600.0), ("nan", None), ("-1", None), ("soon", None)]
)
def test_retry_after_header_sets_wait(server: JudgeServer, client: Client, header: str, seconds: float | None) -> None:
    server.reply_to = lambda _: Reply(status=429, headers={"retry-after": header})
    with pytest.raises(ServerBusy) as raised:
        client.ask(REQUEST)
    assert raised.value.seconds == seconds


def test_slow_reply_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
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
        with Client(slow) as client, pytest.raises(ServerUnavailable, match="did not finish in time"):
            client.ask(REQUEST)
        is_over.set()


def test_only_lost_reply_may_cost() -> None:
    with JudgeServer(lambda _: Reply(status=0)) as server, Client(Server(server.url, KEY, HERE)) as client:
        with pytest.raises(ServerUnavailable) as lost:
            client.ask(REQUEST)
        server.stop()
        with pytest.raises(ServerUnavailable) as away:
            client.ask(REQUEST)
    assert lost.value.may_cost and not away.value.may_cost


def test_server_repr_hides_key() -> None:
    assert KEY not in repr(Server("http://127.0.0.1/v1", KEY, HERE))
