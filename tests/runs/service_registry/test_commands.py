"""Services hold their names while they send heartbeats, by the database's clock, and are found by permitted users."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from runs import service_registry
from runs.models import Service
from runs.service_registry import commands
from runs.service_registry.commands import InvalidRegistration, NameTaken, NotRegistered, Registration
from tests.cases import each_case

pytestmark = pytest.mark.django_db


def registration(**changes):
    return Registration(
        **{"kind": "scorer", "name": "safety", "instance": "one", "address": "http://node7:8000", **changes}
    )


def pass_seconds(seconds):
    """Move all stored times back by these seconds."""
    back = timedelta(seconds=seconds)
    Service.objects.update(**{f: F(f) - back for f in ("registered_at", "beat_at", "expires_at")})


@pytest.fixture(autouse=True)
def node_hosts(settings):
    """Allow the nodes on which members' services of these tests run."""
    settings.SCORER_HOSTS = ["node7", "node8", "localhost"]


@pytest.fixture
def root(db):
    return User.objects.create(username="root", is_superuser=True)


def test_service_is_returned_by_kind_until_its_lease_expires(ada):
    registered, is_new = commands.register(ada, registration())
    assert is_new and registered.expires_at - registered.beat_at == timedelta(seconds=60)
    assert service_registry.find_service(ada, "scorer") == registered
    assert (
        service_registry.find_service(ada, "vllm") is None
        and service_registry.find_service(ada, "scorer", "other") is None
    )
    pass_seconds(61)
    assert service_registry.find_service(ada, "scorer") is None
    assert not Service.objects.get().is_alive()


def test_a_beat_prolongs_the_lease_also_of_one_that_fell_silent(ada):
    commands.register(ada, registration(lease_seconds=20))
    pass_seconds(15)
    commands.beat(ada, "scorer", "safety", "one")
    pass_seconds(15)
    assert service_registry.find_service(ada, "scorer")
    pass_seconds(100)
    assert commands.beat(ada, "scorer", "safety", "one").is_alive()


def test_registration_under_a_taken_name_replaces_it(ada):
    commands.register(ada, registration())
    _, is_new = commands.register(ada, registration(instance="two", address="http://node8:8000"))
    assert not is_new and service_registry.find_service(ada, "scorer").address == "http://node8:8000"
    with pytest.raises(NameTaken, match="Another process has registered as scorer safety"):
        commands.beat(ada, "scorer", "safety", "one")
    with pytest.raises(NameTaken):
        commands.withdraw(ada, "scorer", "safety", "one")
    commands.withdraw(ada, "scorer", "safety", "two")
    with pytest.raises(NotRegistered, match="register it again"):
        commands.beat(ada, "scorer", "safety", "two")


def test_members_service_is_private_and_admins_is_shared(ada, bo, root):
    own, _ = commands.register(ada, registration())
    assert service_registry.find_service(bo, "scorer") is None
    for_all, _ = commands.register(root, registration(name="shared"))
    assert service_registry.find_service(bo, "scorer") == for_all
    assert service_registry.find_service(ada, "scorer") == own
    assert service_registry.find_service(ada, "scorer", "shared") == for_all
    assert set(Service.objects.visible_to(root)) == {own, for_all}
    root.is_active = False
    root.save()
    assert service_registry.find_service(bo, "scorer") is None


def test_two_users_may_use_the_same_name(ada, bo):
    first, second = commands.register(ada, registration())[0], commands.register(bo, registration(instance="two"))[0]
    assert (service_registry.find_service(ada, "scorer"), service_registry.find_service(bo, "scorer")) == (
        first,
        second,
    )
    with pytest.raises(NameTaken):
        commands.beat(bo, "scorer", "safety", "one")


def test_no_member_takes_an_admins_place_where_another_admin_looks(ada, root):
    for_all, _ = commands.register(root, registration())
    commands.register(ada, registration(instance="two", address="http://localhost:8000"))
    other = User.objects.create(username="other", is_superuser=True)
    assert (
        service_registry.find_service(other, "scorer", "safety")
        == service_registry.find_service(other, "scorer")
        == for_all
    )


def test_one_that_has_been_silent_for_a_month_is_forgotten(ada):
    commands.register(ada, registration())
    pass_seconds(31 * 86_400)
    commands.register(ada, registration(name="other"))
    assert [service.name for service in Service.objects.all()] == ["other"]


@each_case(
    ("changes", "words"),
    [
        ({"address": "node7:8000"}, "begin with http:// or https://, not 'node7'"),
        ({"address": "file:///etc/passwd"}, "begin with http:// or https://"),
        (
            {"address": "http://ada:secret@node7:8000"},
            "contain no name and no password; set token_file to the file",
        ),
        ({"address": "http://@node7"}, "contain no name and no password"),
        ({"address": "http://"}, "contain a host"),
        ({"address": "http://node7:0"}, "a port from 1 to 65535"),
        ({"address": "http://node7:99999"}, "Port out of range"),
        ({"address": "http://[::1"}, "Invalid IPv6"),
        ({"address": "http://node7/?key=secret"}, "contain no ?"),
        ({"address": "http://node7/#"}, "contain no ?"),
        ({"address": "http://node7\\@evil"}, "ASCII characters and no spaces"),
        ({"address": "http://node 7"}, "ASCII characters and no spaces"),
        ({"address": "http://node7\n"}, "ASCII characters and no spaces"),
        ({"address": "http://n" + "7" * 500}, "at most 500"),
        ({"health_path": "health"}, "must be a path such as /health"),
        ({"token_file": "secret"}, "must be an absolute path such as"),
    ],
)
def test_invalid_service_is_reported(ada, changes, words):
    with pytest.raises(InvalidRegistration, match=words.replace("?", r"\?")):
        commands.register(ada, registration(**changes))
    assert not Service.objects.exists()


def test_addresses_of_all_usual_kinds_are_taken(root):
    for n, address in enumerate(("http://10.0.0.7:8000", "https://scorer.example/v1", "http://[::1]:80", "http://n7/")):
        commands.register(root, registration(name=f"s{n}", address=address))
    assert Service.objects.count() == 4
