"""Fields of forms that users type long texts into. Each has the same maximum length as its field of the API.

Without a limit, a text as long as the largest request would be stored, and then read by every page that shows it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.core.validators import MaxLengthValidator

from runs.http.fields import MAX_NOTE_LENGTH, MAX_TEXT_LENGTH


class TextField(forms.CharField):
    """A text of some sentences."""

    limit: ClassVar[int] = MAX_TEXT_LENGTH

    def __init__(self, *, max_length: int | None = None, **options: Any) -> None:
        # The form of a model gives None for a column without a limit.
        super().__init__(max_length=max_length or self.limit, **options)


class NoteField(TextField):
    """A text of several pages, such as a note, or a list with an entry per line."""

    limit = MAX_NOTE_LENGTH


class JsonField(forms.JSONField):
    """JSON that a user types. Its text is limited: Django would compare the limit with the number of its keys."""

    def __init__(self, *, max_length: int = MAX_TEXT_LENGTH, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = max_length
        self.widget.attrs |= self.widget_attrs(self.widget)

    def to_python(self, value: Any) -> Any:
        """Return the value. Raise ValidationError if the text is no JSON or too long."""
        parsed = super().to_python(value)
        if isinstance(value, str):
            MaxLengthValidator(self.max_length)(value)
        return parsed
