"""Who let whom do what: roles, invitations, accounts, tokens. Kept in Django's own log, for the admin's pages."""

from __future__ import annotations

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db.models import Model


def note(person: User, thing: Model, said: str) -> None:
    """Keeps that the person did this to the thing; in English, as a log is."""
    LogEntry.objects.log_actions(person.pk, [thing], CHANGE, change_message=said, single_object=True)
