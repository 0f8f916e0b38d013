"""What a password must be beyond long and uncommon: twelve spaces are both, and anybody tries them."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import ngettext

DIFFERENT = 5


class Varied:
    """At least so many different characters, spaces not counted."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raises ValidationError."""
        if len(set(password) - {" "}) < DIFFERENT:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        """What the form says beside the field, and of a password that is refused."""
        said = ngettext(
            "Your password must contain at least %(n)s different character besides spaces.",
            "Your password must contain at least %(n)s different characters besides spaces.",
            DIFFERENT,
        )
        return said % {"n": DIFFERENT}
