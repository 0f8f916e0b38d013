"""Makes judges and changes them. What decides a judge's verdicts is never changed under them: that is a new judge."""

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
from judging.model_judge import NotAllowed, Sampling, permitted, rules
from judging.models import Judge, JudgeKey
from runs.access import Role, may_make, role_of
from runs.models.experiment import Person

DECIDING = ("base_url", "model", "sampling", "max_tokens", "structured", "limited_by")
RESERVED = ("model", "messages", "response_format", "max_tokens", "max_completion_tokens", "stream", "n")
ANSWER_SECONDS_AT_MOST = 120
AT_ONCE_AT_MOST = 64


class CannotKeep(ValueError):
    """A judge that would not work. `field` is what is wrong, the message why, and what would do."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


@dataclass(frozen=True)
class Draft:
    """A judge to be; the fields are those of `Judge`."""

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
        """Of what decides its verdicts."""
        said = {name: getattr(self, name) for name in DECIDING}
        return sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def fields(self) -> dict[str, Any]:
        """As the row has them."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "digest": self.digest}


def may_ask(person: Person, judge: Judge) -> bool:
    """True where the person may have a judge asked, which costs its owner: the owner, and admins; rules cost nobody."""
    is_own = judge.owner_id == person.pk or role_of(person) == Role.ADMIN
    return may_make(person) and (is_own or judge.kind == Judge.Kind.RULES)


def make(owner: User, draft: Draft) -> Judge:
    """A new judge. Raises CannotKeep."""
    _check(owner, draft, None)
    return Judge.objects.create(owner=owner, kind=Judge.Kind.OPENAI, **draft.fields)


def change(judge: Judge, draft: Draft) -> Judge:
    """The judge as it is to be. Where that decides its verdicts, a new one; the old one keeps its own, and retires.
    Raises CannotKeep."""
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
    """Takes it from the list. What it said stays, and what it still does goes on."""
    Judge.objects.filter(pk=judge.pk, retired_at=None).update(retired_at=timezone.now())


def bring_back(judge: Judge) -> None:
    """Puts one that has retired on the list again. Raises CannotKeep where its name is another's by now."""
    named = Judge.objects.filter(owner=judge.owner, kind=judge.kind, name=judge.name, retired_at=None)
    if named.exclude(pk=judge.pk).exists():
        words = gettext("You have another judge of the name %(name)s by now: rename or retire that one first.")
        raise CannotKeep("name", words % {"name": judge.name})
    Judge.objects.filter(pk=judge.pk).update(retired_at=None)


def rules_judge() -> Judge:
    """The judge that is no model, which comes with the site."""
    made = {"name": rules.NAME, "model": "rules", "digest": sha256((rules.__doc__ or "").encode()).hexdigest()}
    return Judge.objects.get_or_create(kind=Judge.Kind.RULES, owner=None, retired_at=None, defaults=made)[0]


def _check(owner: User, draft: Draft, present: Judge | None) -> None:
    try:
        permitted(draft.base_url, allowed_hosts())
    except NotAllowed as error:
        words = gettext("%(why)s; whoever runs this site adds hosts to ESWEB_JUDGE_HOSTS") % {"why": error}
        raise CannotKeep("base_url", words) from None
    if taken := sorted(set(draft.sampling) & set(RESERVED)):
        words = gettext("%(names)s cannot stand here: they are fields of their own, or never sent")
        raise CannotKeep("sampling", words % {"names": ", ".join(taken)})
    if draft.key is not None and draft.key.owner_id != owner.pk:
        raise CannotKeep("key", gettext("The key must be one of the judge's owner."))
    try:
        Sampling(max_tokens=draft.max_tokens, limited_by=draft.limited_by)
    except ValueError as error:
        raise CannotKeep("max_tokens", str(error)) from None
    named = Judge.objects.filter(owner=owner, kind=Judge.Kind.OPENAI, name=draft.name, retired_at=None)
    if (named.exclude(pk=present.pk) if present else named).exists():
        raise CannotKeep("name", gettext("You have a judge of the name %(name)s already.") % {"name": draft.name})
