"""Keys of judges' servers: encrypted in the database by a key that is derived from SECRET_KEY, and opened to be sent.

Nothing else opens them: no page, log, message or export holds one. A copy of the database alone gives none away.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext

from judging.models import JudgeKey

PURPOSE = b"esweb keys of judges' servers"
HINT_LETTERS = 4
LONG_ENOUGH_FOR_A_HINT = 20


class KeyLost(Exception):
    """A key that cannot be opened any more, in words that may be shown."""


def keep_key(owner: User, name: str, secret: str) -> JudgeKey:
    """Keeps a key under a name, in place of the one that the owner had under it."""
    # Of a short one, the last letters would tell too much.
    hint = secret[-HINT_LETTERS:] if len(secret) >= LONG_ENOUGH_FOR_A_HINT else ""
    sealed = {"secret": _box().encrypt(secret.encode()), "hint": hint}
    return JudgeKey.objects.update_or_create(owner=owner, name=name, defaults=sealed)[0]


def key_of(row: JudgeKey | None) -> str:
    """The key itself; empty for none. Raises KeyLost."""
    if row is None:
        return ""
    try:
        return _box().decrypt(bytes(row.secret)).decode()
    except InvalidToken:
        said = gettext("The key %(name)s was encrypted with another SECRET_KEY: enter it again.")
        raise KeyLost(said % {"name": row.name}) from None


def _box() -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
