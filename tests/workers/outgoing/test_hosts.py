"""Lists of allowed hosts: what an entry allows, and which addresses its host may have."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from tests.cases import each_case
from tests.fakes.dns import fake_dns
from tests.fakes.raw_server import http_reply, raw_server
from tests.security.launch_attacks import INSIDE
from workers.outgoing import JUDGES, SCORERS, HostNotAllowed, check_address, connect_to, is_allowed, parse_host

ENTRIES = ("localhost", "127.0.0.1", "::1", "node7:8000", "gpu7.lab=10.0.0.0/8", ".cluster=10.0.0.0/8")


@each_case(
    ("url", "allowed"),
    [
        ("http://localhost:9", True),
        ("HTTP://LOCALHOST.:9/v1", True),
        ("http://[::1]", True),
        ("http://[0:0:0:0:0:0:0:1]", False),
        ("http://127.1", False),
        ("http://2130706433", False),
        ("http://0x7f.1", False),
        ("http://0177.0.0.1", False),
        ("http://127.0.0.1%2eeve.example", False),
        ("http://[::1%25lo]", False),
        ("http://localhost..", False),
        ("http://node7:8000", True),
        ("http://node7", False),
        ("http://node7:0", False),
        ("http://a.cluster", True),
        ("https://a.b.cluster:8443", True),
        ("http://cluster", False),
        ("http://acluster", False),
        ("http://a.cluster.eve.example", False),
        ("http://eve@localhost", False),
        ("http://@localhost", False),
        ("http://localhost\\@eve.example", False),
        ("http://local\thost", False),
        ("http://localhost/?x", False),
        ("http://localhost/#x", False),
        ("http://ⓛocalhost", False),
        ("http://[::1", False),
        ("http://localhost:x", False),
        ("file://localhost/etc/passwd", False),
        ("//localhost", False),
        ("", False),
    ],
)
def test_url_is_allowed_as_an_entry_spells_it(url: str, allowed: bool) -> None:
    assert is_allowed(url, ENTRIES) is allowed


@each_case("entry", ["", " ", "http://x", "a b", "x=banana", "x:port", "user@x", "x/y", ".lab", "*", "10.0.0.0/8"])
def test_invalid_entry_allows_nothing(entry: str) -> None:
    for url in ("http://x", "http://a.lab", "http://10.0.0.1", "http://localhost", "http://eve.example"):
        assert not is_allowed(url, [entry])


def test_no_list_allows_any_address() -> None:
    assert check_address("http://169.254.169.254", None) is None
    with pytest.raises(HostNotAllowed, match="allowed scorer hosts: none; an admin can add a host to ESWEB_SCORER"):
        check_address("http://169.254.169.254", [])


@each_case(
    ("entry", "address", "permitted"),
    [
        ("node7", "10.0.0.1", True),
        ("node7", "fd00::1", True),
        ("node7", "64:ff9b::a00:1", True),
        ("node7", "64:ff9b::7f00:1", False),
        ("node7=10.0.0.0/8", "10.0.0.1", True),
        ("node7=10.0.0.0/8", "::ffff:10.0.0.1", True),
        ("node7=10.0.0.0/8", "64:ff9b::a00:1", True),
        ("node7=10.0.0.0/8", "2002:a00:1::", True),
        ("node7=10.0.0.0/8", "64:ff9b::7f00:1", False),
        ("node7=10.0.0.0/8", "2001:0:a00:1::", False),
        ("node7=::/0", "2a00::1", True),
        ("node7=::/0", "::ffff:127.0.0.1", False),
        ("node7=::/0", "64:ff9b::7f00:1", False),
        ("node7=64:ff9b::/96", "64:ff9b::a00:1", True),
        ("node7=64:ff9b:1::/96", "64:ff9b:1::a00:1", True),
        ("node7=fe80::/10", "fe80::1", True),
        ("node7=127.0.0.1/32", "127.0.0.1", True),
        ("node7=127.0.0.1/32", "127.0.0.2", False),
        ("localhost", "127.0.0.2", True),
        ("localhost", "10.0.0.1", False),
        ("127.0.0.1", "127.0.0.2", False),
    ],
)
def test_host_has_an_address_that_its_entry_permits(entry: str, address: str, permitted: bool) -> None:
    assert parse_host(entry).permits(ip_address(address)) is permitted


@each_case(
    ("address", "permitted"),
    [
        ("93.184.216.34", True),
        ("2606:4700::1", True),
        ("64:ff9b::5db8:d822", True),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("10.0.0.1", False),
        ("100.64.0.1", False),
        ("fd00::1", False),
        ("fec0::1", False),
    ],
)
def test_name_of_a_judge_has_a_public_address(address: str, permitted: bool) -> None:
    assert parse_host("judge.example", JUDGES).permits(ip_address(address)) is permitted


@each_case("address", INSIDE)
def test_no_name_has_an_inside_address(address: str) -> None:
    for policy in (SCORERS, JUDGES):
        assert not parse_host("service.example", policy).permits(ip_address(address))


def test_connection_goes_to_the_first_checked_address_that_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` has two addresses on most machines, and a server listens at one."""
    with raw_server(http_reply("200 OK", ""), "127.0.0.1") as server:
        answers = [(2, 1, 6, "", (text, server.port)) for text in ("127.0.0.3", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: list(answers))
        monkeypatch.setattr(socket, "create_connection", _connect_directly)
        with connect_to(f"http://localhost:{server.port}", ["localhost"], 5.0) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"


def _connect_directly(address: tuple[str, int], timeout: float) -> object:
    """Connect without a lookup, which the test replaces."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def test_one_address_that_is_not_permitted_refuses_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dns(monkeypatch, {"gpu7.lab": ["127.0.0.1"]})
    with pytest.raises(HostNotAllowed, match=r"gpu7\.lab has the address 127\.0\.0\.1, which ESWEB_SCORER_HOSTS does"):
        connect_to("http://gpu7.lab:9", ENTRIES, 5.0)
