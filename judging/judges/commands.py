"""Create judges and change them. The settings that decide a judge's verdicts never change after its first call: a
change creates a new judge."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from judging.judges.adapters import allowed_hosts
from judging.model_judge import HostNotAllowed, Sampling, find_allowed_host, rules
from judging.models import Judge, JudgeKey
from runs.access import Role, may_make, role_of
from runs.models.experiment import Person

DIGEST_FIELDS = ("base_url", "model", "sampling", "max_tokens", "structured", "limited_by")
RESERVED = ("model", "messages", "response_format", "max_tokens", "max_completion_tokens", "stream", "n")
MAX_ANSWER_SECONDS = 120
MAX_CONCURRENT_REQUESTS = 64


class CannotSaveJudge(ValueError):
    """Error for a judge that would not work. `field` is the invalid field; the message gives the reason and a
    remedy."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Draft:
    """A judge that is not stored yet; the fields are those of `Judge`."""

    name: str
    base_url: str
    model: str
    family: str = ""
    key: JudgeKey | None = None
    sampling: dict[str, Any] = field(default_factory=lambda: {"temperature": 0})
    max_tokens: int = 2048
    structured: bool = True
    limited_by: str = "max_tokens"
    answer_seconds: int = 60
    price_in: Decimal = Decimal(0)
    price_out: Decimal = Decimal(0)
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    at_once: int = 4
    is_private: bool = False

    @property
    def digest(self) -> str:
        """Return the sha256 of the fields that decide the judge's verdicts."""
        values = {name: getattr(self, name) for name in DIGEST_FIELDS}
        return sha256(json.dumps(values, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the row."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "digest": self.digest}


def may_ask(person: Person, judge: Judge) -> bool:
    """Return whether the user may start the judge, which costs its owner: its owner and admins may; rules cost
    nobody."""
    is_own = judge.owner_id == person.pk or role_of(person) == Role.ADMIN
    return may_make(person) and (is_own or judge.kind == Judge.Kind.RULES)


def create_judge(owner: User, draft: Draft) -> Judge:
    """Create a judge. Raise CannotSaveJudge."""
    _check(owner, draft, None)
    return Judge.objects.create(owner=owner, kind=Judge.Kind.OPENAI, **draft.fields)


def change_judge(judge: Judge, draft: Draft) -> Judge:
    """Change the judge and return it. If the change decides its verdicts and it has made calls, create a new judge; the
    old one keeps its verdicts, and retires.

    Raise CannotSaveJudge.
    """
    assert judge.owner is not None  # noqa: S101  (only rules have none, and they have no form)
    _check(judge.owner, draft, judge)
    with transaction.atomic():
        if draft.digest != judge.digest and judge.calls.exists():
            retire(judge)
            return Judge.objects.create(owner=judge.owner, kind=judge.kind, **draft.fields)
        for name, value in draft.fields.items():
            setattr(judge, name, value)
        judge.save()
    return judge


def retire(judge: Judge) -> None:
    """Remove the judge from the list. Its verdicts stay, and its running assignments continue."""
    Judge.objects.filter(pk=judge.pk, retired_at=None).update(retired_at=timezone.now())


def unretire(judge: Judge) -> None:
    """Put a retired judge back on the list. Raise CannotSaveJudge if another judge has its name by now."""
    named = Judge.objects.filter(owner=judge.owner, kind=judge.kind, name=judge.name, retired_at=None)
    if named.exclude(pk=judge.pk).exists():
        message = gettext("You have another judge named %(name)s: rename or retire it first.")
        raise CannotSaveJudge("name", message % {"name": judge.name})
    Judge.objects.filter(pk=judge.pk).update(retired_at=None)


def rules_judge() -> Judge:
    """Return the judge by rules, which comes with the site."""
    defaults = {"name": rules.NAME, "model": "rules", "digest": sha256((rules.__doc__ or "").encode()).hexdigest()}
    return Judge.objects.get_or_create(kind=Judge.Kind.RULES, owner=None, retired_at=None, defaults=defaults)[0]


def _check(owner: User, draft: Draft, present: Judge | None) -> None:
    try:
        find_allowed_host(draft.base_url, allowed_hosts())
    except HostNotAllowed as error:
        message = gettext("%(why)s; the site's operator can add hosts to ESWEB_JUDGE_HOSTS") % {"why": error}
        raise CannotSaveJudge("base_url", message) from None
    if reserved := sorted(set(draft.sampling) & set(RESERVED)):
        message = gettext("%(names)s cannot be set here: these have their own fields, or are never sent")
        raise CannotSaveJudge("sampling", message % {"names": ", ".join(reserved)})
    if draft.key is not None and draft.key.owner_id != owner.pk:
        raise CannotSaveJudge("key", gettext("The key must belong to the judge's owner."))
    try:
        Sampling(max_tokens=draft.max_tokens, limited_by=draft.limited_by)
    except ValueError as error:
        raise CannotSaveJudge("max_tokens", str(error)) from None
    named = Judge.objects.filter(owner=owner, kind=Judge.Kind.OPENAI, name=draft.name, retired_at=None)
    if (named.exclude(pk=present.pk) if present else named).exists():
        raise CannotSaveJudge("name", gettext("You already have a judge named %(name)s.") % {"name": draft.name})
