"""Keys of judges' servers: sealed in the database (`runs.access.sealing`), and opened only to be sent."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext

from judging.models import JudgeKey
from runs.access.sealing import CannotUnseal, hint, seal, unseal

PURPOSE = b"esweb keys of judges' servers"


class KeyLost(Exception):
    """A key that cannot be opened any more, in words that may be shown."""


def keep_key(owner: User, name: str, secret: str) -> JudgeKey:
    """Save a key under a name, in place of the one that the owner had under it."""
    values = {"secret": seal(PURPOSE, secret), "hint": hint(secret)}
    return JudgeKey.objects.update_or_create(owner=owner, name=name, defaults=values)[0]


def key_of(row: JudgeKey | None) -> str:
    """Return the key itself; empty for none. Raise KeyLost."""
    if row is None:
        return ""
    try:
        return unseal(PURPOSE, bytes(row.secret))
    except CannotUnseal:
        said = gettext("The key %(name)s was encrypted with another SECRET_KEY: enter it again.")
        raise KeyLost(said % {"name": row.name}) from None
