"""The migrations create the tables that the models describe, and Django's own checks find no mistake."""

from __future__ import annotations

import pytest
from django.core.management import call_command

# It registers the models of the admin, which the checks look at.
import esweb.urls  # noqa: F401


@pytest.mark.django_db
def test_no_model_has_changed_without_a_migration() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_system_checks_find_no_mistake() -> None:
    call_command("check", fail_level="WARNING")
