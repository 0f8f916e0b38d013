"""Scorers' tokens as named secrets: stored encrypted, sent to their own address alone, and never shown again.

A run, and the site itself, names a secret; no path is read. Members use their own secrets, and those that an admin
shares with everybody.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from runs.access.encryption import CannotUnseal, hint, seal, unseal
from runs.access.rights import note
from runs.access.scorer_hosts import host_refusal, may_call
from runs.models import ScorerSecret
from runs.models.experiment import Person

PURPOSE = b"esweb tokens of scorers"


class CannotSaveSecret(ValueError):
    """Error for a secret that must not be created. The message names the valid choices."""


class SecretLost(Exception):
    """Error for a token that cannot be decrypted any more. The message may be shown."""


def save_secret(owner: User, name: str, token: str, *, address: str = "", is_shared: bool = False) -> ScorerSecret:
    """Create the secret, or replace the owner's secret of that name. Raise CannotSaveSecret if it is not allowed."""
    if is_shared and not owner.is_superuser:
        raise CannotSaveSecret(gettext("Only an admin can share a secret with all users."))
    if address and not may_call(owner, address):
        raise CannotSaveSecret(host_refusal(address))
    values = {"address": address, "is_shared": is_shared, "sealed": seal(PURPOSE, token), "hint": hint(token)}
    with transaction.atomic():
        secret, is_new = ScorerSecret.objects.update_or_create(owner=owner, name=name, defaults=values)
        audience = "everybody" if is_shared else "its owner"
        note(owner, secret, f"{'Created' if is_new else 'Replaced'} a scorer's secret, usable by {audience}")
    return secret


def delete_secret(secret: ScorerSecret) -> None:
    """Delete a secret. Runs that have started keep the token that they received."""
    note(secret.owner, secret, "Deleted a scorer's secret")
    secret.delete()


def find_secret(person: Person, name: str) -> ScorerSecret | None:
    """Return the secret of this name that the user may use, their own before a shared one; None if there is none."""
    return ScorerSecret.objects.usable_by(person).select_related("owner").filter(name=name).first()


def token_of(secret: ScorerSecret) -> str:
    """Return the token itself. Raise SecretLost if it cannot be decrypted."""
    try:
        return unseal(PURPOSE, bytes(secret.sealed))
    except CannotUnseal:
        message = gettext("The token of %(name)s was encrypted with another SECRET_KEY: enter it again.")
        raise SecretLost(message % {"name": secret.name}) from None
