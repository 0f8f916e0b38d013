"""Judges and their keys: encrypted, asked only where it is allowed, and never changed under their verdicts."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from judging.judges import CannotKeep, Draft, KeyLost, change, keep_key, key_of, make, may_ask, rules_judge, server_of
from judging.models import Call, Judge, JudgeKey
from tests.fakes.judge_server import KEY
from tests.judging.tournament_factory import rubric

pytestmark = pytest.mark.django_db
HERE = "http://127.0.0.1:8001/v1"


def draft(**changes: object) -> Draft:
    return Draft(**({"name": "local", "base_url": HERE, "model": "qwen"} | changes))  # type: ignore[arg-type]


def test_a_key_is_kept_encrypted_and_opened_for_its_server_alone(ada: User) -> None:
    key = keep_key(ada, "fake", KEY)
    row = JudgeKey.objects.get()
    assert KEY.encode() not in bytes(row.secret) and KEY not in repr(row.__dict__) and row.hint == ""
    judge = make(ada, draft(key=key))
    assert key_of(row) == KEY == server_of(judge).key and KEY not in repr(server_of(judge))
    assert keep_key(ada, "fake", "another-key-of-thirty-letters-x9z8").hint == "x9z8"
    assert JudgeKey.objects.count() == 1


def test_a_key_of_another_secret_key_is_lost_and_said_so(ada: User, settings: Settings) -> None:
    key = keep_key(ada, "fake", KEY)
    settings.SECRET_KEY = "another"
    with pytest.raises(KeyLost, match="The key fake was encrypted with another SECRET_KEY: enter it again"):
        key_of(key)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"base_url": "https://evil.example/v1"}, "base_url", "evil.example:443 is none of the hosts"),
        ({"base_url": "http://127.0.0.1:8001/v1?key=x"}, "base_url", "without a name, a password"),
        ({"sampling": {"temperature": 0, "messages": []}}, "sampling", "messages cannot stand here"),
        ({"max_tokens": 10}, "max_tokens", "at least 1024 tokens"),
        ({"limited_by": "tokens"}, "max_tokens", "max_tokens or max_completion_tokens"),
    ],
)
def test_what_would_not_work_is_refused_at_its_field(
    ada: User, changes: dict[str, object], field: str, said: str
) -> None:
    with pytest.raises(CannotKeep, match=said) as raised:
        make(ada, draft(**changes))
    assert raised.value.field == field and not Judge.objects.exists()


def test_anothers_key_cannot_be_used(ada: User, bo: User) -> None:
    with pytest.raises(CannotKeep, match="one of the judge's owner"):
        make(bo, draft(key=keep_key(ada, "fake", KEY)))


def test_what_decides_verdicts_makes_a_new_judge_once_it_has_been_asked(ada: User) -> None:
    judge = make(ada, draft())
    assert change(judge, draft(model="llama")).pk == judge.pk
    Call.objects.create(judge=judge, rubric=rubric("helpfulness"), key="k", sent={})
    assert change(judge, draft(model="llama", price_in=Decimal(2))).pk == judge.pk
    new = change(judge, draft(model="gemma"))
    judge.refresh_from_db()
    assert new.pk != judge.pk and judge.retired_at is not None and judge.model == "llama" and judge.calls.count() == 1
    with pytest.raises(CannotKeep, match="You have a judge of the name local already"):
        make(ada, draft())


def test_only_the_owner_and_admins_have_a_judge_asked_but_rules_are_for_all(ada: User, bo: User) -> None:
    judge = make(ada, draft())
    assert may_ask(ada, judge) and not may_ask(bo, judge) and may_ask(bo, rules_judge())
    assert may_ask(User.objects.create_superuser("root"), judge)
