"""Rule for passwords in addition to Django's: several different characters. Twelve spaces are long and uncommon, yet
easily guessed."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import ngettext

MIN_DISTINCT_CHARACTERS = 5


class DistinctCharactersValidator:
    """Validator that requires at least MIN_DISTINCT_CHARACTERS different characters, not counting spaces."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError if the password has too few different characters."""
        if len(set(password) - {" "}) < MIN_DISTINCT_CHARACTERS:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        """Return the text that the form shows next to the field, and as the error for a refused password."""
        message = ngettext(
            "Your password must contain at least %(n)s different character, not counting spaces.",
            "Your password must contain at least %(n)s different characters, not counting spaces.",
            MIN_DISTINCT_CHARACTERS,
        )
        return message % {"n": MIN_DISTINCT_CHARACTERS}
