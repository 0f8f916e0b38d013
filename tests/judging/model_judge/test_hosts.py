"""Hosts of judges: those that an admin allowed, at addresses that were checked."""

from __future__ import annotations

from typing import Any

import pytest

from judging.model_judge import HostNotAllowed, Pair, Rubric, Sampling, Server, find_allowed_host, parse_hosts, request
from judging.model_judge.client import Client
from judging.model_judge.hosts import addresses
from tests.cases import each_case
from tests.fakes.judge_server import KEY, JudgeServer

ALLOWED = parse_hosts(["api.example.com", "gpu7.lab=10.0.0.0/8", "localhost:8001", "127.0.0.1", "[::1]"])


def dns(*ips: str) -> Any:
    return lambda name, port, type: [(2, 1, 6, "", (address, port)) for address in ips]


@each_case(
    "url",
    ["https://api.example.com/v1", "https://API.example.com.:8443/v1", "http://gpu7.lab:8000/v1",
     "http://localhost:8001/v1", "http://127.0.0.1:9/v1", "http://[::1]:9/v1"],
)  # fmt: skip
def test_an_allowed_host_is_let_through(url: str) -> None:
    assert find_allowed_host(url, ALLOWED) in ALLOWED


@each_case(
    ("url", "words"),
    [
        ("http://evil.example/v1", "evil.example:80 is not one of the allowed judge hosts: api.example.com"),
        ("http://localhost:8265/v1", "localhost:8265 is not one"),
        ("http://127.0.0.2/v1", "127.0.0.2:80 is not one"),
        ("http://api.example.com@evil.example/v1", "without a name"),
        ("http://evil.example\\@api.example.com/v1", "must be a URL"),
        ("http://api.example.com/v1?x=1", "without a name, a password, ? or #"),
        ("file:///etc/passwd", "must be a URL"),
        ("ftp://api.example.com", "must be a URL"),
        ("http://api.example.com:99999/", "must be a URL"),
        ("http://api.example.com/\n", "must be a URL"),
        ("", "must be a URL"),
    ],
)
def test_unlisted_host_is_refused_with_choices(url: str, words: str) -> None:
    with pytest.raises(HostNotAllowed, match=words.replace("?", r"\?")):
        find_allowed_host(url, ALLOWED)


@each_case("entry", ["", "http://x", "a b", "x=banana", "x:port", "user@x", "x/y"])
def test_invalid_host_entry_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="is not a host; write a name"):
        parse_hosts([entry])


@each_case(
    ("entry", "address"),
    [("api.example.com", "127.0.0.1"), ("api.example.com", "10.1.2.3"), ("api.example.com", "169.254.169.254"),
     ("api.example.com", "::1"), ("api.example.com", "::ffff:10.0.0.1"), ("gpu7.lab=10.0.0.0/8", "127.0.0.1"),
     ("localhost", "10.0.0.1")],
)  # fmt: skip
def test_host_name_resolving_to_disallowed_address_is_refused(entry: str, address: str) -> None:
    (host,) = parse_hosts([entry])
    with pytest.raises(HostNotAllowed, match="which ESWEB_JUDGE_HOSTS does not allow"):
        addresses(host, 443, dns("93.184.216.34" if "=" not in entry and entry != "localhost" else address, address))


@each_case(
    ("entry", "address"),
    [("api.example.com", "93.184.216.34"), ("gpu7.lab=10.0.0.0/8", "10.1.2.3"), ("localhost", "127.0.0.1"),
     ("localhost", "::1"), ("10.0.0.5", "10.0.0.5"), ("gpu7.lab=10.0.0.0/8", "::ffff:10.1.2.3")],
)  # fmt: skip
def test_host_name_resolving_to_allowed_address_is_accepted(entry: str, address: str) -> None:
    (host,) = parse_hosts([entry])
    assert addresses(host, 443, dns(address, address)) == [address]


def test_host_name_is_resolved_once_per_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def look_up(name: str, port: int, type: int) -> Any:
        looked.append(name)
        # A second lookup returns another address, which must not be used.
        return dns("127.0.0.1" if len(looked) == 1 else "10.0.0.1")(name, port, type)

    with JudgeServer() as server:
        allowed = parse_hosts(["judge.lab=127.0.0.0/8"])
        monkeypatch.setattr(addresses, "__defaults__", (look_up,))
        with Client(Server(f"http://judge.lab:{server.port}/v1", KEY, allowed)) as client:
            client.ask(request("gpt", Rubric("x", "y"), Pair("p", "one", "other"), Sampling()))
            assert server.requests[0].headers["host"] == f"judge.lab:{server.port}" and looked == ["judge.lab"]
            with pytest.raises(HostNotAllowed, match=r"10\.0\.0\.1"):
                client.ask(request("gpt", Rubric("x", "y"), Pair("p", "one", "other"), Sampling()))
    assert len(server.requests) == 1
