"""Services hold their names for as long as they beat, by the database's clock, and are found by who may use them."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from runs import service_registry
from runs.models import Service
from runs.service_registry import commands
from runs.service_registry.commands import NotRegistered, Registration, TakenOver, Unusable

pytestmark = pytest.mark.django_db


def said(**changes):
    return Registration(
        **{"kind": "scorer", "name": "safety", "instance": "one", "address": "http://node7:8000", **changes}
    )


def pass_seconds(seconds):
    """As if so much time had passed since all that was written."""
    back = timedelta(seconds=seconds)
    Service.objects.update(**{f: F(f) - back for f in ("registered_at", "beat_at", "expires_at")})


@pytest.fixture
def root(db):
    return User.objects.create(username="root", is_superuser=True)


def test_a_service_is_found_by_its_kind_until_its_lease_runs_out(ada):
    made, is_new = commands.register(ada, said())
    assert is_new and made.expires_at - made.beat_at == timedelta(seconds=60)
    assert service_registry.find(ada, "scorer") == made
    assert service_registry.find(ada, "vllm") is None and service_registry.find(ada, "scorer", "other") is None
    pass_seconds(61)
    assert service_registry.find(ada, "scorer") is None
    assert not Service.objects.get().is_alive()


def test_a_beat_prolongs_the_lease_also_of_one_that_fell_silent(ada):
    commands.register(ada, said(lease_seconds=20))
    pass_seconds(15)
    commands.beat(ada, "scorer", "safety", "one")
    pass_seconds(15)
    assert service_registry.find(ada, "scorer")
    pass_seconds(100)
    assert commands.beat(ada, "scorer", "safety", "one").is_alive()


def test_who_registers_under_a_name_takes_it_over(ada):
    commands.register(ada, said())
    _, is_new = commands.register(ada, said(instance="two", address="http://node8:8000"))
    assert not is_new and service_registry.find(ada, "scorer").address == "http://node8:8000"
    with pytest.raises(TakenOver, match="Another process has registered as scorer safety"):
        commands.beat(ada, "scorer", "safety", "one")
    with pytest.raises(TakenOver):
        commands.withdraw(ada, "scorer", "safety", "one")
    commands.withdraw(ada, "scorer", "safety", "two")
    with pytest.raises(NotRegistered, match="register it again"):
        commands.beat(ada, "scorer", "safety", "two")


def test_a_members_service_is_found_by_them_alone_and_an_admins_by_all(ada, bo, root):
    mine, _ = commands.register(ada, said())
    assert service_registry.find(bo, "scorer") is None
    for_all, _ = commands.register(root, said(name="shared"))
    assert service_registry.find(bo, "scorer") == for_all
    assert service_registry.find(ada, "scorer") == mine
    assert service_registry.find(ada, "scorer", "shared") == for_all
    assert set(Service.objects.visible_to(root)) == {mine, for_all}
    root.is_active = False
    root.save()
    assert service_registry.find(bo, "scorer") is None


def test_two_people_hold_the_same_name_each_for_themselves(ada, bo):
    first, second = commands.register(ada, said())[0], commands.register(bo, said(instance="two"))[0]
    assert (service_registry.find(ada, "scorer"), service_registry.find(bo, "scorer")) == (first, second)
    with pytest.raises(TakenOver):
        commands.beat(bo, "scorer", "safety", "one")


def test_no_member_takes_an_admins_place_where_another_admin_looks(ada, root):
    for_all, _ = commands.register(root, said())
    commands.register(ada, said(instance="two", address="http://localhost:8000"))
    other = User.objects.create(username="other", is_superuser=True)
    assert service_registry.find(other, "scorer", "safety") == service_registry.find(other, "scorer") == for_all


def test_one_that_has_been_silent_for_a_month_is_forgotten(ada):
    commands.register(ada, said())
    pass_seconds(31 * 86_400)
    commands.register(ada, said(name="other"))
    assert [service.name for service in Service.objects.all()] == ["other"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"address": "node7:8000"}, "begins with http:// or https://, not 'node7'"),
        ({"address": "file:///etc/passwd"}, "begins with http:// or https://"),
        (
            {"address": "http://ada:secret@node7:8000"},
            "holds no name and no password; name the file of the token in token_file",
        ),
        ({"address": "http://@node7"}, "holds no name and no password"),
        ({"address": "http://"}, "names a host"),
        ({"address": "http://node7:0"}, "a port from 1 to 65535"),
        ({"address": "http://node7:99999"}, "Port out of range"),
        ({"address": "http://[::1"}, "Invalid IPv6"),
        ({"address": "http://node7/?key=secret"}, "it has no ?"),
        ({"address": "http://node7/#"}, "it has no ?"),
        ({"address": "http://node7\\@evil"}, "all of ASCII, none of them a space"),
        ({"address": "http://node 7"}, "none of them a space"),
        ({"address": "http://node7\n"}, "none of them a space"),
        ({"address": "http://n" + "7" * 500}, "at most 500"),
        ({"health_path": "health"}, "must be a path such as /health"),
        ({"token_file": "secret"}, "must be an absolute path such as"),
    ],
)
def test_what_a_service_cannot_be_is_said_in_words(ada, changes, words):
    with pytest.raises(Unusable, match=words.replace("?", r"\?")):
        commands.register(ada, said(**changes))
    assert not Service.objects.exists()


def test_addresses_of_all_usual_kinds_are_taken(ada):
    for n, address in enumerate(("http://10.0.0.7:8000", "https://scorer.example/v1", "http://[::1]:80", "http://n7/")):
        commands.register(ada, said(name=f"s{n}", address=address))
    assert Service.objects.count() == 4
