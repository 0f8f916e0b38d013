"""Encrypt secrets for the database with keys that are derived from SECRET_KEY, one key for each purpose.

A copy of the database alone gives no secret away. Nothing else reveals them: no page, log, message or export contains a
secret.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

HINT_LETTERS = 4
MIN_LENGTH_FOR_HINT = 20


class CannotUnseal(Exception):
    """Error for a secret that was encrypted with another SECRET_KEY, or for another purpose."""


def seal(purpose: bytes, text: str) -> bytes:
    """Return the text encrypted for this purpose."""
    return _box(purpose).encrypt(text.encode())


def unseal(purpose: bytes, sealed: bytes) -> str:
    """Return the text that was sealed for this purpose. Raise CannotUnseal."""
    try:
        return _box(purpose).decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise CannotUnseal from None


def hint(text: str) -> str:
    """Return the last letters of a long secret, to recognise it by; an empty text for a short one, which they would
    reveal."""
    return text[-HINT_LETTERS:] if len(text) >= MIN_LENGTH_FOR_HINT else ""


def _box(purpose: bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
