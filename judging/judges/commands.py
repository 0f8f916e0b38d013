"""Create judges and change them. The settings that decide a judge's verdicts never change after its first call: a
change creates a new judge."""

from __future__ import annotations

import json
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from judging.judges.adapters import allowed_hosts
from judging.model_judge import HostNotAllowed, Sampling, find_allowed_host, rules
from judging.models import Judge
from judging.models.judge import JUDGE_SETTINGS
from runs.access import Role, may_make, role_of
from runs.models.experiment import Person

DIGEST_FIELDS = ("base_url", "model", "sampling", "max_tokens", "structured", "limited_by")
RESERVED = ("model", "messages", "response_format", "max_tokens", "max_completion_tokens", "stream", "n")


class CannotSaveJudge(ValueError):
    """Error for a judge that would not work. `field` is the invalid field; the message gives the reason and a
    remedy."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def may_ask(person: Person, judge: Judge) -> bool:
    """Return whether the user may start the judge, which costs its owner: its owner and admins may; rules cost
    nobody."""
    is_own = judge.owner_id == person.pk or role_of(person) == Role.ADMIN
    return may_make(person) and (is_own or judge.kind == Judge.Kind.RULES)


def create_judge(owner: User, judge: Judge) -> Judge:
    """Save a new judge, of which only the settings are set. Raise CannotSaveJudge."""
    _check(owner, judge, None)
    return _insert(judge, owner, Judge.Kind.OPENAI)


def change_judge(judge: Judge, new: Judge) -> Judge:
    """Change the judge's settings to those of `new`, and return it. If the change decides its verdicts and it has made
    calls, save `new` and return that; the old one keeps its verdicts, and retires.

    Raise CannotSaveJudge.
    """
    assert judge.owner is not None  # noqa: S101  (only rules have none, and they have no form)
    _check(judge.owner, new, judge)
    with transaction.atomic():
        if _digest(new) != judge.digest and judge.calls.exists():
            retire(judge)
            return _insert(new, judge.owner, judge.kind)
        for name in JUDGE_SETTINGS:
            setattr(judge, name, getattr(new, name))
        judge.digest = _digest(judge)
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


def _digest(judge: Judge) -> str:
    """Return the sha256 of the settings that decide the judge's verdicts."""
    values = {name: getattr(judge, name) for name in DIGEST_FIELDS}
    return sha256(json.dumps(values, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _insert(judge: Judge, owner: User, kind: str) -> Judge:
    judge.owner, judge.kind, judge.digest = owner, kind, _digest(judge)
    judge.save(force_insert=True)
    return judge


def _check(owner: User, new: Judge, present: Judge | None) -> None:
    try:
        find_allowed_host(new.base_url, allowed_hosts())
    except HostNotAllowed as error:
        message = gettext("%(why)s; the site's operator can add hosts to ESWEB_JUDGE_HOSTS") % {"why": error}
        raise CannotSaveJudge("base_url", message) from None
    if reserved := sorted(set(new.sampling) & set(RESERVED)):
        message = gettext("%(names)s cannot be set here: these have their own fields, or are never sent")
        raise CannotSaveJudge("sampling", message % {"names": ", ".join(reserved)})
    if new.key is not None and new.key.owner_id != owner.pk:
        raise CannotSaveJudge("key", gettext("The key must belong to the judge's owner."))
    try:
        Sampling(max_tokens=new.max_tokens, limited_by=new.limited_by)
    except ValueError as error:
        raise CannotSaveJudge("max_tokens", str(error)) from None
    named = Judge.objects.filter(owner=owner, kind=Judge.Kind.OPENAI, name=new.name, retired_at=None)
    if (named.exclude(pk=present.pk) if present else named).exists():
        raise CannotSaveJudge("name", gettext("You already have a judge named %(name)s.") % {"name": new.name})
