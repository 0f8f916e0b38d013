"""Keys of judges' servers: encrypted in the database (`runs.access.encryption`), and decrypted only to be sent."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext

from judging.models import JudgeKey
from runs.access.encryption import CannotUnseal, hint, seal, unseal

PURPOSE = b"esweb keys of judges' servers"


class KeyLost(Exception):
    """Error for a key that cannot be decrypted any more. The message may be shown."""


def save_key(owner: User, name: str, secret: str) -> JudgeKey:
    """Save a key under a name, in place of the owner's earlier key of that name."""
    values = {"secret": seal(PURPOSE, secret), "hint": hint(secret)}
    return JudgeKey.objects.update_or_create(owner=owner, name=name, defaults=values)[0]


def key_of(row: JudgeKey | None) -> str:
    """Return the key itself; empty for None. Raise KeyLost if it cannot be decrypted."""
    if row is None:
        return ""
    try:
        return unseal(PURPOSE, bytes(row.secret))
    except CannotUnseal:
        message = gettext("The key %(name)s was encrypted with another SECRET_KEY: enter it again.")
        raise KeyLost(message % {"name": row.name}) from None
