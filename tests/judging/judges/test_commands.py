"""Judges and their keys: encrypted, called only at allowed hosts, and never changed under their verdicts."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from judging.judges import (
    CannotSaveJudge,
    KeyLost,
    change_judge,
    create_judge,
    key_of,
    may_ask,
    rules_judge,
    save_key,
    server_of,
)
from judging.models import Call, Judge, JudgeKey
from tests.cases import each_case
from tests.fakes.judge_server import KEY
from tests.judging.tournament_factory import rubric

pytestmark = pytest.mark.django_db
HERE = "http://127.0.0.1:8001/v1"


def draft(**changes: object) -> Judge:
    return Judge(**({"name": "local", "base_url": HERE, "model": "qwen", "sampling": {"temperature": 0}} | changes))


def test_judge_key_is_stored_encrypted(ada: User) -> None:
    key = save_key(ada, "fake", KEY)
    row = JudgeKey.objects.get()
    assert KEY.encode() not in bytes(row.secret) and KEY not in repr(row.__dict__) and row.hint == ""
    judge = create_judge(ada, draft(key=key))
    assert key_of(row) == KEY == server_of(judge).key and KEY not in repr(server_of(judge))
    assert save_key(ada, "fake", "another-key-of-thirty-letters-x9z8").hint == "x9z8"
    assert JudgeKey.objects.count() == 1


def test_key_encrypted_with_another_secret_key_is_reported_lost(ada: User, settings: Settings) -> None:
    key = save_key(ada, "fake", KEY)
    settings.SECRET_KEY = "another"
    with pytest.raises(KeyLost, match="The key fake was encrypted with another SECRET_KEY: enter it again"):
        key_of(key)


@each_case(
    ("changes", "field", "message"),
    [
        ({"base_url": "https://evil.example/v1"}, "base_url", "evil.example:443 is not one of the allowed judge hosts"),
        ({"base_url": "http://127.0.0.1:8001/v1?key=x"}, "base_url", "without a name, a password"),
        ({"sampling": {"temperature": 0, "messages": []}}, "sampling", "messages cannot be set here"),
        ({"max_tokens": 10}, "max_tokens", "at least 1024 tokens"),
        ({"limited_by": "tokens"}, "max_tokens", "max_tokens or max_completion_tokens"),
    ],
)
def test_invalid_judge_is_refused_at_its_field(ada: User, changes: dict[str, object], field: str, message: str) -> None:
    with pytest.raises(CannotSaveJudge, match=message) as raised:
        create_judge(ada, draft(**changes))
    assert raised.value.field == field and not Judge.objects.exists()


def test_key_of_another_user_cannot_be_used(ada: User, bo: User) -> None:
    with pytest.raises(CannotSaveJudge, match="belong to the judge's owner"):
        create_judge(bo, draft(key=save_key(ada, "fake", KEY)))


def test_changed_model_creates_new_judge_after_first_call(ada: User) -> None:
    judge = create_judge(ada, draft())
    assert change_judge(judge, draft(model="llama")).pk == judge.pk
    Call.objects.create(judge=judge, rubric=rubric("helpfulness"), key="k", sent={})
    assert change_judge(judge, draft(model="llama", price_in=Decimal(2))).pk == judge.pk
    new = change_judge(judge, draft(model="gemma"))
    judge.refresh_from_db()
    assert new.pk != judge.pk and judge.retired_at is not None and judge.model == "llama" and judge.calls.count() == 1
    with pytest.raises(CannotSaveJudge, match="You already have a judge named local"):
        create_judge(ada, draft())


def test_only_owner_and_admins_may_start_model_judge(ada: User, bo: User) -> None:
    judge = create_judge(ada, draft())
    assert may_ask(ada, judge) and not may_ask(bo, judge) and may_ask(bo, rules_judge())
    assert may_ask(User.objects.create_superuser("root"), judge)
