"""A guesser gets the same few tries, however they spell what they send: only valid credentials tell callers apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from itertools import islice, product
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from esweb.middleware.client_address import client_address
from esweb.middleware.rate_limits import push_limit, sign_in_name
from esweb.supervisor.web import server_config
from judging.voting import create_invitations
from runs import access
from runs.models import Experiment
from tests.cases import each_case
from tests.judging.tournament_factory import make_tournament

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("frozen_time")]
WIDE = {ord(letter): ord(letter) + 0xFEE0 for letter in "abcdefghijklmnopqrstuvwxyz0123456789"}
"""Letters of full width, which NFKC turns into those of ASCII."""


def spellings(name: str) -> Iterator[str]:
    """Yield spellings that the sign-in form takes for this name: with spaces, and with some letters of full width."""
    for start, end in product(("", " ", "\t", "\u3000"), repeat=2):
        for n in range(1, len(name) + 1):
            yield f"{start}{name[:n].translate(WIDE)}{name[n:]}{end}"


def passed(statuses: list[int]) -> int:
    """Return how many of the answers are no 429."""
    return sum(status != 429 for status in statuses)


def test_all_spellings_of_a_name_count_as_one_name(ada: User, settings: Settings) -> None:
    settings.SIGN_INS_PER_MINUTE = 2
    name = uuid4().hex
    User.objects.filter(pk=ada.pk).update(username=name)
    tries = [
        Client(REMOTE_ADDR=uuid4().hex).post("/login/", {"username": spelling, "password": "guess"}).status_code
        for spelling in islice(spellings(name), 0, 480, 24)
    ]
    assert passed(tries) == 6


def test_one_address_cannot_use_up_the_tries_of_a_name(settings: Settings) -> None:
    settings.SIGN_INS_PER_MINUTE = 2
    name, guesser, owner = uuid4().hex, Client(REMOTE_ADDR=uuid4().hex), Client(REMOTE_ADDR=uuid4().hex)
    tries = [guesser.post("/login/", {"username": name, "password": "x"}).status_code for _ in range(20)]
    assert passed(tries) == 2
    assert owner.post("/login/", {"username": name, "password": "x"}).status_code == 200


def test_name_is_counted_as_the_form_cleans_it() -> None:
    assert {sign_in_name(spelling) for spelling in spellings("ada")} == {"ada"}
    # The form leaves a name as it is that is longer than any user's.
    assert sign_in_name("\uff41" * 151) == "\uff41" * 151


@pytest.mark.parametrize(
    "credentials",
    [
        lambda: {"authorization": f"Bearer esw_{uuid4().hex}"},
        lambda: {"authorization": uuid4().hex},
        lambda: {"cookie": f"sessionid={uuid4().hex}"},
        lambda: {"authorization": f"Bearer {uuid4().hex}", "cookie": f"sessionid={uuid4().hex}"},
    ],
    ids=["token", "no-scheme", "session", "both"],
)
@each_case("path", ["/api/v1/runs", "/api/v1/attempts/esweb-none-a1/records", "/api/v1/nosuch", "/vote/1/"])
def test_invalid_credentials_count_by_address(
    credentials: Callable[[], dict[str, str]], path: str, settings: Settings
) -> None:
    settings.STRANGERS_PER_MINUTE = 3
    address = uuid4().hex
    tries = [Client(REMOTE_ADDR=address, headers=credentials()).get(path).status_code for _ in range(6)]
    assert passed(tries) == 3


def test_all_spellings_of_a_token_count_as_one_token(ada: User, settings: Settings) -> None:
    settings.CALLS_PER_MINUTE = 4
    _, text = access.issue(ada, "read")
    schemes = ["".join(letters) for letters in product(*(c.lower() + c.upper() for c in "bearer"))]
    tries = [Client(headers={"authorization": f"{s} {text}"}).get("/api/v1/me").status_code for s in schemes[::6]]
    assert (tries.count(200), passed(tries)) == (4, 4)


def test_pushes_count_by_token_on_both_paths(ada: User, settings: Settings) -> None:
    settings.PUSHES_PER_MINUTE = 3
    _, text = access.issue(ada, "admin")
    tries = [
        Client(headers={"authorization": f"{scheme} {text}"})
        .post("/api/v1/attempts/esweb-none-a1/records", "", content_type="a/b")
        .status_code
        for scheme in ("Bearer", "bearer", "BEARER", "beareR", "bEARER")
    ]
    assert passed(tries) == 3
    # The fast path counts by the text of the token, before Django.
    assert push_limit(access.digest(text)).wait_seconds() > 0


def test_valid_token_is_looked_up_once(ada: User) -> None:
    _, text = access.issue(ada, "read")
    client = Client(headers={"authorization": f"Bearer {text}"})
    client.get("/api/v1/me")
    with CaptureQueriesContext(connection) as captured:
        assert client.get("/api/v1/me").status_code == 200
    assert [query["sql"] for query in captured if "runs_apitoken" in query["sql"]][1:] == []


def test_opening_a_voters_link_again_and_again_is_limited(
    ada: User, experiment: Experiment, runs_dir: object, settings: Settings
) -> None:
    settings.STRANGERS_PER_MINUTE = 3
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    ((_, text),) = create_invitations(tournament, ada, ["Dee"])
    browser = Client(REMOTE_ADDR=uuid4().hex)
    assert passed([browser.get(f"/vote/link/{text}/").status_code for _ in range(6)]) == 3


def test_present_password_cannot_be_guessed_within_a_session(ada_client: Client, settings: Settings) -> None:
    settings.SIGN_INS_PER_MINUTE = 1
    guesses = [{"old_password": str(n), "new_password1": "x", "new_password2": "x"} for n in range(6)]
    assert passed([ada_client.post("/settings/password/", guess).status_code for guess in guesses]) == 3


ADDRESSES: list[tuple[str, str, str, str]] = [
    # proxies, peer, X-Forwarded-For, client
    ("", "192.0.2.7", "198.51.100.1", "192.0.2.7"),
    ("10.0.0.0/8", "192.0.2.7", "198.51.100.1", "192.0.2.7"),
    ("10.0.0.0/8", "10.1.1.1", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.0/8", "10.1.1.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
    ("10.0.0.0/8", "10.1.1.1", "198.51.100.1, 10.2.2.2", "198.51.100.1"),
    ("10.0.0.0/8", "10.1.1.1", "10.3.3.3,10.2.2.2", "10.3.3.3"),
    ("10.0.0.0/8", "10.1.1.1", "", "10.1.1.1"),
    ("10.0.0.0/8", "10.1.1.1", "unknown", "10.1.1.1"),
    ("10.0.0.0/8", "10.1.1.1", "198.51.100.1, ' OR 1=1", "10.1.1.1"),
    ("10.0.0.0/8", "10.1.1.1", "198.51.100.1:4711", "198.51.100.1"),
    ("10.0.0.0/8", "::ffff:10.1.1.1", "198.51.100.1", "198.51.100.1"),
    ("fd00::/8", "fd00::1", "[2001:db8:1:2:3::4]:80", "2001:db8:1:2::/64"),
    ("", "2001:db8:1:2:aaaa:bbbb:cccc:dddd", "", "2001:db8:1:2::/64"),
    ("", "2001:db8:1:2::9%eth0", "", "2001:db8:1:2::/64"),
    ("10.0.0.0/8", "", "198.51.100.1", ""),
]


@each_case(("proxies", "peer", "forwarded", "client"), ADDRESSES)
def test_address_is_believed_from_named_proxies_only(
    proxies: str, peer: str, forwarded: str, client: str, settings: Settings
) -> None:
    settings.PROXIES = [ip_network(proxies)] if proxies else []
    request = RequestFactory().get("/", headers={"x-forwarded-for": forwarded}, REMOTE_ADDR=peer)
    assert client_address(request) == client


def test_server_believes_no_header_of_a_proxy() -> None:
    config = server_config()
    assert config.proxy_headers is False


def test_people_behind_a_named_proxy_are_counted_apart(settings: Settings) -> None:
    settings.STRANGERS_PER_MINUTE, settings.PROXIES = 2, [ip_network("10.0.0.0/8")]
    own, other = "198.51.100.11", "198.51.100.12"

    def calls_of(address: str, forged: str = "") -> list[int]:
        forwarded = f"{forged}{address}"
        proxy = Client(REMOTE_ADDR="10.0.0.9", headers={"x-forwarded-for": forwarded})
        return [proxy.get("/api/v1/runs").status_code for _ in range(2)]

    assert calls_of(own) == [401, 401]
    assert calls_of(own, "203.0.113.1, ") == [429, 429]
    assert calls_of(other) == [401, 401]


def test_ipv6_network_counts_as_one_address(settings: Settings) -> None:
    settings.STRANGERS_PER_MINUTE = 3
    network = f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}"
    tries = [Client(REMOTE_ADDR=f"{network}::{n:x}").get("/api/v1/runs").status_code for n in range(6)]
    assert passed(tries) == 3
